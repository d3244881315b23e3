"""Evidence: nothing a method claims is believed before it is checked here.

A witness is written out as text and scored afresh through the victim's text interface; a certificate is compared with
what it must cover when it is issued, and can be derived again from its JSON by anyone (`recheck`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lexproof.answers import Certificate, Step
from lexproof.certify.cascade import Cascade, check_provers, settle_text
from lexproof.certify.ledger import Ledger
from lexproof.engine import Engine, Task
from lexproof.errors import EvidenceError, InputError
from lexproof.goal import Goal
from lexproof.points import FloatArray, IntArray
from lexproof.search import Search
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


def certify(victim: Victim, space: Space, goal: Goal, ledger: Ledger) -> Certificate | None:
    """The certificate of steps that cover exactly what they have to; None if nothing is settled."""
    if ledger.radius < 0:
        return None
    _check_steps(space, ledger.steps, victim.rounding)
    return Certificate(
        label=goal.label,
        target=goal.target,
        radius=ledger.radius,
        rounding=victim.rounding,
        victim=victim.fingerprint,
        space=space.fingerprint,
        steps=tuple(ledger.steps),
    )


def _check_steps(space: Space, steps: Sequence[Step], rounding: float) -> None:
    """Raise EvidenceError unless the steps follow each other from 0 swaps on, each with its points and margin."""
    next_ = 0
    for step in steps:
        if step.first != next_ or step.last < step.first:
            raise EvidenceError(f"a proof goes from {step.first} to {step.last} swaps where {next_} come next")
        next_ = step.last + 1
        if step.method == "enumeration":
            needed = sum(space.stratum(k) for k in range(step.first, step.last + 1))
            if step.points != needed or not step.margin > rounding:
                raise EvidenceError(
                    f"an enumeration of {step.first} to {step.last} swaps covered {step.points} of {needed} points, "
                    f"margin {step.margin}"
                )
        elif not step.margin >= 2 * rounding:  # nor is what is not a number
            raise EvidenceError(f"a bound for {step.last} swaps is {step.margin}, within rounding")


def recheck(certificate: Certificate, victim: Victim, space: Space, label: int | None = None) -> None:
    """Return if the certificate holds; EvidenceError if it does not, InputError if it is about something else.

    Every step is derived again by its own method.  With a `label`, the certificate must be about that label.
    """
    for name, expected, got in (
        ("label", certificate.label, certificate.label if label is None else label),
        ("victim", certificate.victim, victim.fingerprint),
        ("space", certificate.space, space.fingerprint),
    ):
        if expected != got:
            raise InputError(f"expected {name} {got}, got a certificate about {expected}")
    goal = Goal(certificate.label, certificate.target, victim.rounding)
    goal.check(victim.classes)
    if not certificate.steps or certificate.steps[-1].last != certificate.radius:
        raise EvidenceError(f"the certificate for {certificate.radius} swaps has no proof that goes so far")
    _check_steps(space, certificate.steps, victim.rounding)
    outcome = next(Engine(victim).run([Task(0, space, goal, _derived(certificate, victim, space, goal))]))
    if outcome.error is not None:
        raise outcome.error
    if outcome.claim.radius < certificate.radius:
        reason = outcome.claim.reason or "a flip was found"
        raise EvidenceError(f"the certificate for {certificate.radius} swaps does not hold: {reason}")


def _derived(certificate: Certificate, victim: Victim, space: Space, goal: Goal) -> Search[Ledger]:
    """The steps of a certificate, derived again."""
    ledger = Ledger()
    yield from settle_text(space, goal, ledger)
    for step in certificate.steps:
        if ledger.radius == step.first - 1 or (step.first == 0 and ledger.radius == 0):
            provers = Cascade(victim, check_provers([step.method]), max_nodes=None, record=False)
            yield from provers(space, goal, ledger, step.last)
            ledger.reason = provers.why(ledger.reason)
    return ledger
