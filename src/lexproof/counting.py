"""The question count: what share of a space flips, at once or for every number of swaps.

answer = count(victim, space, label)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from lexproof.answers import Share, ShareCurve, Unknown
from lexproof.engine import Limits, Outcome
from lexproof.evidence import Witness
from lexproof.goal import Goal
from lexproof.points import IntArray
from lexproof.search import Search, Seed
from lexproof.space import Space
from lexproof.statistics.by_swaps import count_by_swaps, shares_by_radius, shares_by_swaps
from lexproof.statistics.guarantee import Guarantee, Interval, check_counts
from lexproof.statistics.share import Tally, count_or_sample, exact_flips, share_of
from lexproof.victims.base import Victim

_NO_LIMITS = Limits()


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
