"""Evidence: nothing a method claims is believed before it is checked here.

A witness is written out as text and scored afresh through the victim's text interface; a certificate is compared with
what it must cover when it is issued, and can be derived again from its JSON by anyone (`recheck`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lexproof.answers import Certificate
from lexproof.certify.enumeration import Enumeration, Verdict
from lexproof.engine import Engine, Task
from lexproof.errors import EvidenceError, InputError
from lexproof.goal import Goal
from lexproof.points import FloatArray, IntArray
from lexproof.space import Change, Space
from lexproof.text import Input
from lexproof.victims.base import Victim


@dataclass(frozen=True, slots=True)
class Witness:
    """A flip as the victim sees it."""

    text: str
    changed: tuple[Change, ...]
    predicted: int


Claimed = tuple[Space, Goal, IntArray]
"""A point of a space that is claimed to reach a goal."""


def check_flips(victim: Victim, claims: Sequence[Claimed | None]) -> list[Witness | None]:
    """The witnesses, re-checked as texts in one call; None for no claim, or for a tie that rounding decides.

    Raises EvidenceError if a point is not in its space or is no flip.
    """
    inputs = [claim[0].render(claim[2][None])[0] for claim in claims if claim is not None]
    rows = iter(zip(inputs, victim.scores(inputs)[:, None], strict=True) if inputs else ())
    return [None if claim is None else _witness(*claim, *next(rows)) for claim in claims]


def _witness(space: Space, goal: Goal, point: IntArray, given: Input, scores: FloatArray) -> Witness | None:
    text = given if isinstance(given, str) else given[1]
    if not space.contains(point):
        raise EvidenceError(f"a claimed witness lies outside the space: {text!r}")
    if goal.strict.reached(scores)[0]:
        return Witness(text, space.changes(point), int(scores[0].argmax()))
    if goal.margin(scores)[0] <= goal.slack:
        return None
    raise EvidenceError(f"a claimed witness does not fool the victim: {text!r} has scores {scores[0].tolist()}")


def certify(victim: Victim, space: Space, goal: Goal, radius: int, points: int, margin: float) -> Certificate | None:
    """The certificate of an enumeration that covered exactly the points it had to; None if it settled nothing."""
    if radius < 0:
        return None
    needed = sum(space.stratum(k) for k in range(radius + 1))
    if points != needed or margin <= victim.rounding:
        raise EvidenceError(f"an enumeration to radius {radius} covered {points} of {needed} points, margin {margin}")
    return Certificate(
        method=Enumeration.method,
        label=goal.label,
        target=goal.target,
        radius=radius,
        points=points,
        margin=margin,
        rounding=victim.rounding,
        victim=victim.fingerprint,
        space=space.fingerprint,
    )


def recheck(certificate: Certificate, victim: Victim, space: Space, label: int | None = None) -> None:
    """Return if the certificate holds; EvidenceError if it does not, InputError if it is about something else.

    With a `label`, the certificate must be about that label.
    """
    for name, expected, got in (
        ("label", certificate.label, certificate.label if label is None else label),
        ("victim", certificate.victim, victim.fingerprint),
        ("space", certificate.space, space.fingerprint),
        ("method", certificate.method, Enumeration.method),
    ):
        if expected != got:
            raise InputError(f"expected {name} {got}, got a certificate about {expected}")
    inner = space.restrict(max_swaps=certificate.radius)
    goal = Goal(certificate.label, certificate.target, victim.rounding)
    goal.check(victim.classes)
    outcome = next(Engine(victim).run([Task(0, inner, goal, Enumeration()(inner, goal))]))
    if outcome.error is not None:
        raise outcome.error
    verdict: Verdict = outcome.claim
    if verdict.radius < certificate.radius or verdict.points != certificate.points:
        reason = verdict.reason or f"{verdict.points} points, not {certificate.points}"
        raise EvidenceError(f"the certificate for {certificate.radius} swaps does not hold: {reason}")
