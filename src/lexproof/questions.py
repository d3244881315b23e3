"""The four questions: find, minimize, prove, count.  They run a method and check its evidence before they answer.

    answer = prove(victim, space, label)

Each question is a small frozen object (`Find`, `Prove`, `Minimize`, `Count`, `CountCurve`) that makes a search for a
space and turns the search's claim into a checked answer; `lexproof.asking` asks it about one space or about many at
once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeVar, cast

import numpy as np

from lexproof.answers import Bracket, Broken, Cost, Minimum, Robust, Share, ShareCurve, Unknown
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
from lexproof.statistics.by_swaps import count_by_swaps, shares_by_radius, shares_by_swaps
from lexproof.statistics.guarantee import Guarantee, Interval, check_counts
from lexproof.statistics.share import Tally, count_or_sample, exact_flips, share_of
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counting:
    """What both counts can be told.

    `samples` None: as many draws as the guarantee may take.  Flips are counted by bounds within `exact_points` texts
    scored and `exact_nodes` nodes bounded where no draw shows one (`lexproof.statistics.counted`; 0: not at all).
    """

    samples: int | None = None
    confidence: float = 0.995
    interval: Interval = "clopper-pearson"
    half_width: float = 0.025
    threshold: float | None = None
    exact_points: int = 0
    exact_nodes: int = 0
    seed: int = 0
    limits: Limits = _NO_LIMITS

    def __post_init__(self) -> None:
        _ = self.guarantee  # which checks itself
        check_counts(self.samples, self.exact_points, self.exact_nodes)

    @property
    def guarantee(self) -> Guarantee:
        """What intervals promise."""
        return Guarantee(
            interval=self.interval,
            confidence=self.confidence,
            half_width=self.half_width,
            threshold=self.threshold,
        )

    def flip(self, outcome: Outcome) -> IntArray | None:
        """A count claims no witness."""
        del outcome
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Count(_Counting):
    """What share flips?  Exact if the space has at most `samples` points, else from at most as many uniform draws."""

    def search(self, victim: Victim, space: Space, goal: Goal) -> Search[Tally]:
        """Enumeration, counting by bounds, or uniform sampling."""
        rng = Seed(self.seed, ("count", space.original)).generator()
        most = self.guarantee.most if self.samples is None else self.samples

        def attempt() -> Search[Tally | None]:
            flips = yield from exact_flips(victim, space, goal, self.exact_points, self.exact_nodes)
            return None if flips is None else Tally(sum(flips), space.size, exact=True)

        return count_or_sample(space, goal, rng, most, self.guarantee, attempt)

    def answer(self, victim: Victim, space: Space, outcome: Outcome, witness: Witness | None) -> Share | Unknown:
        """The share with the interval asked for."""
        del victim, witness
        if outcome.claim is None:
            return Unknown(reason=outcome.stopped, cost=outcome.cost)
        return replace(share_of(outcome.claim, self.guarantee, space.max_swaps, self.seed), cost=outcome.cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountCurve(_Counting):
    """What share flips at every radius?  Counted by number of swaps, see `lexproof.statistics.by_swaps`.

    `samples` is for each number of swaps; a `threshold` is settled for each of them.
    """

    def search(self, victim: Victim, space: Space, goal: Goal) -> Search[tuple[Tally, ...]]:
        """Stratum by stratum: exact where that is cheap, else drawn from."""

        def attempt(upto: int) -> Search[list[int] | None]:
            inner = space.restrict(max_swaps=upto)
            return (yield from exact_flips(victim, inner, goal, self.exact_points, self.exact_nodes))

        seed = Seed(self.seed, ("count by swaps", space.original))
        return count_by_swaps(space, goal, seed, self.samples, self.guarantee, attempt)

    def answer(self, victim: Victim, space: Space, outcome: Outcome, witness: Witness | None) -> ShareCurve | Unknown:
        """The shares of the strata and of the radii."""
        del victim, witness
        if outcome.claim is None:
            return Unknown(reason=outcome.stopped, cost=outcome.cost)
        strata = shares_by_swaps(outcome.claim, self.guarantee, self.seed)
        exact = all(share.method in ("exact", "partial") for share in strata)
        return ShareCurve(
            confidence=1.0 if exact else self.confidence,
            strata=strata,
            radii=shares_by_radius(space, strata),
            cost=outcome.cost,
        )


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
