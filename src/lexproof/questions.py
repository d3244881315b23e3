"""The questions find, minimize and prove.  They run a method and check its evidence before they answer.

    answer = prove(victim, space, label)

Each question is a small frozen object (`Find`, `Prove`, `Minimize`; `Count` and `CountCurve` in `lexproof.counting`)
that makes a search for a space and turns the search's claim into a checked answer; `lexproof.asking` asks it about one
space or about many at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar, cast

import numpy as np

from lexproof.answers import Bracket, Broken, Cost, Minimum, Robust, Unknown
from lexproof.attacks.base import Adaptive, Attack
from lexproof.attacks.specs import from_spec
from lexproof.certify.bracket import Bracketed, BracketSearch
from lexproof.certify.cascade import PROVERS, UNDECIDED, Cascade, check_provers, settle_text
from lexproof.certify.ledger import Ledger
from lexproof.engine import Limits, Outcome
from lexproof.errors import EvidenceError, InputError
from lexproof.evidence import Witness, certify
from lexproof.goal import Goal
from lexproof.points import IntArray
from lexproof.search import Search, Seed, Spent
from lexproof.space import Space
from lexproof.victims.base import Victim

AttackLike = str | Attack | None
"""A registered name with settings (`pdp?beam=20`), an attack object, or None for the question's own choice."""

A = TypeVar("A", covariant=True)

_NO_LIMITS = Limits()
_TIED = "the flip found is a tie within rounding"


class Question(Protocol[A]):
    """Makes a search for a space, and a checked answer of the search's outcome."""

    @property
    def limits(self) -> Limits:
        """Budget of one search."""
        ...

    def search(self, victim: Victim, space: Space, goal: Goal) -> Search[Any]:
        """The search about this space."""
        ...

    def flip(self, outcome: Outcome) -> IntArray | None:
        """The point that is claimed to reach the goal, to be checked as text."""
        ...

    def answer(self, victim: Victim, space: Space, outcome: Outcome, witness: Witness | None) -> A:
        """The answer, given the flip as checked; EvidenceError if another claim is not borne out."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Find:
    """Is there a flip?  Broken with a witness, or Unknown: that an attack fails proves nothing."""

    attack: AttackLike = None
    seed: int = 0
    limits: Limits = _NO_LIMITS
    default: ClassVar[str] = "textfooler"

    def search(self, victim: Victim, space: Space, goal: Goal) -> Search[IntArray | None]:
        """The text itself first: a misclassified text needs no attack, and a space without swaps allows none."""
        attack = resolve_attack(self.attack, victim, self.default)
        scores = yield space.origin[None]
        if goal.reached(scores)[0]:
            return space.origin
        if not space.max_swaps:
            return None
        try:
            return (yield from attack(space, goal, Seed(self.seed, ("attack", space.original))))
        except InputError as error:  # such as a space too large to sample: this text's trouble, not the run's
            raise Spent(str(error)) from error

    def flip(self, outcome: Outcome) -> IntArray | None:
        """The claim, or the best flip seen on the way."""
        return fewest(outcome.claim, outcome.best)

    def answer(self, victim: Victim, space: Space, outcome: Outcome, witness: Witness | None) -> Broken | Unknown:
        """Broken if the flip fools the victim as text."""
        del space
        if witness is None:
            name = called(attack_used(self.attack, victim, self.default))
            reason = outcome.stopped or (f"{name} found no flip" if self.flip(outcome) is None else _TIED)
            return Unknown(reason=reason, cost=outcome.cost)
        return _broken(witness, outcome.cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prove:
    """Is there provably no flip?  Robust with a certificate, Broken with a witness, or Unknown.

    `provers` are tried from cheap to dear, see `lexproof.certify.cascade`; `record` keeps the trees of their proofs.
    """

    provers: tuple[str, ...] = PROVERS
    max_nodes: int | None = None
    record: bool = True
    limits: Limits = _NO_LIMITS

    def __post_init__(self) -> None:
        object.__setattr__(self, "provers", check_provers(self.provers))

    def search(self, victim: Victim, space: Space, goal: Goal) -> Search[Ledger]:
        """The text itself, then the provers up to as many swaps as the space allows."""
        ledger = Ledger()
        provers = Cascade(victim, self.provers, None, self.max_nodes, self.record)
        try:
            yield from settle_text(space, goal, ledger)
            if ledger.radius == 0 and space.max_swaps:
                yield from provers(space, goal, ledger, space.max_swaps)
        except Spent as spent:
            ledger.reason = spent.reason
        ledger.reason = provers.why(ledger.reason)
        return ledger

    def flip(self, outcome: Outcome) -> IntArray | None:
        """The flip that ended the proof."""
        return fewest(outcome.claim.flip, outcome.best)

    def answer(
        self, victim: Victim, space: Space, outcome: Outcome, witness: Witness | None
    ) -> Robust | Broken | Unknown:
        """Never Robust because a search failed: only if every text of the space was covered."""
        ledger: Ledger = outcome.claim
        certificate = certify(victim, space, outcome.goal, ledger)
        if witness is not None and len(witness.changed) <= ledger.radius:
            raise EvidenceError(_contradicted(witness, ledger.radius))
        if certificate is not None and certificate.radius == space.max_swaps:
            return Robust(radius=certificate.radius, certificate=certificate, cost=outcome.cost)
        if witness is None:
            settled = f"; proven up to {ledger.radius} swaps" if ledger.radius >= 0 else ""
            reason = ledger.reason or (_TIED if self.flip(outcome) is not None else UNDECIDED)
            return Unknown(reason=reason + settled, cost=outcome.cost)
        return _broken(witness, outcome.cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class Minimize:
    """How few swaps?  Minimum, or a Bracket: an attack from above, provers from below.

    At most `max_points` texts are scored for a proof (single swaps always are) and `max_nodes` nodes bounded.
    """

    attack: AttackLike = None
    provers: tuple[str, ...] = PROVERS
    max_points: int = 100_000
    max_nodes: int | None = 200_000
    record: bool = True
    seed: int = 0
    limits: Limits = _NO_LIMITS
    default: ClassVar[str] = "best"

    def search(self, victim: Victim, space: Space, goal: Goal) -> Search[Bracketed]:
        """Attack from above, enumeration from below."""
        attack = resolve_attack(self.attack, victim, self.default)
        provers = Cascade(victim, check_provers(self.provers), self.max_points, self.max_nodes, self.record)
        method = BracketSearch(attack=attack, provers=provers)
        return method(space, goal, Seed(self.seed, ("attack", space.original)))

    def flip(self, outcome: Outcome) -> IntArray | None:
        """The attack's flip, or a better one seen on the way."""
        return fewest(outcome.claim.ledger.flip, outcome.best)

    def answer(self, victim: Victim, space: Space, outcome: Outcome, witness: Witness | None) -> Minimum | Bracket:
        """The bracket, with the witness at its upper end and the certificate below its lower end."""
        ledger = outcome.claim.ledger
        certificate = certify(victim, space, outcome.goal, ledger)
        lower = ledger.radius + 1
        evidence: dict[str, Any] = {
            "witness": None if witness is None else witness.text,
            "changed": () if witness is None else witness.changed,
            "witness_predicted": None if witness is None else witness.predicted,
            "certificate": certificate,
            "cost": outcome.cost,
        }
        if witness is None:
            reason = ledger.reason or ("" if self.flip(outcome) is None else _TIED)
            return Bracket(lower=lower, upper=None, reason=reason, **evidence)
        upper = len(witness.changed)
        if upper < lower:
            raise EvidenceError(_contradicted(witness, ledger.radius))
        if upper == lower:
            return Minimum(**evidence)
        return Bracket(lower=lower, upper=upper, reason=ledger.reason, **evidence)


def _contradicted(witness: Witness, radius: int) -> str:
    return f"a flip with {len(witness.changed)} swaps contradicts a proof for {radius}: {witness.text!r}"


def _broken(witness: Witness, cost: Cost) -> Broken:
    return Broken(witness=witness.text, changed=witness.changed, witness_predicted=witness.predicted, cost=cost)


def attack_used(attack: AttackLike, victim: Victim, default: str) -> str | Attack:
    """The attack asked for, else the question's own, or `decision` if the victim gives labels only."""
    if attack is not None:
        return attack
    return default if victim.has_scores else "decision"


def resolve_attack(attack: AttackLike, victim: Victim, default: str = "best") -> Attack:
    """The attack object, or an error before anything runs if the victim cannot serve it."""
    chosen = attack_used(attack, victim, default)
    method = from_spec(chosen) if isinstance(chosen, str) else chosen
    if isinstance(method, type) or not hasattr(method, "needs_scores"):
        raise InputError(f"expected the name of an attack or an attack object, got {chosen!r}")
    if hasattr(method, "adapted"):  # an isinstance check of a protocol takes longer than the rest of this function
        method = cast(Adaptive, method).adapted(gradients=victim.has_gradients, scores=victim.has_scores)
    if method.needs_gradients and not victim.has_gradients:
        raise InputError(f"attack {called(chosen)!r} needs gradients, which {victim.kind!r} victims do not have")
    if method.needs_scores and not victim.has_scores:
        raise InputError(f"attack {called(chosen)!r} needs scores, but the victim gives labels only; use 'decision'")
    return method


def called(attack: str | Attack) -> str:
    """What to call an attack."""
    return attack if isinstance(attack, str) else type(attack).__name__


def fewest(*points: IntArray | None) -> IntArray | None:
    """The point with the fewest swaps, the first of equals; None if there is none."""
    known = [point for point in points if point is not None]
    return min(known, key=lambda point: int(np.count_nonzero(point)), default=None)
