"""The share that flips by number of swaps, and from it the share for every radius: a stratified count.

The points with exactly k swaps are stratum k, of e_k points.  A stratum is counted exactly if it is small, or if flips
are counted by bounds up to so many swaps, else drawn from uniformly, with an interval of its own at confidence
1 - alpha / m for m large strata: by the union bound all of them hold together with probability at least 1 - alpha.

For radius r the share is sum_k (e_k / sum_j e_j) share_k over k = 0 … r, an exact identity, and so are its ends: the
curve holds at every radius together, at the same confidence.  It estimates what a uniform sample of the space does.

Symbols: e_k as in `lexproof.strata`, alpha = 1 - confidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import accumulate

import numpy as np

from lexproof.answers import RadiusShare, Share
from lexproof.goal import Goal
from lexproof.search import Search, Seed, Spent
from lexproof.space import Space
from lexproof.statistics.guarantee import Drawn, Guarantee
from lexproof.statistics.share import Seen, Tally, draws, enumerate_stratum, sampled, share_of

Attempt = Callable[[int], Search[list[int] | None]]
"""A way to count the flips with 0, 1, … up to so many swaps exactly that may give up."""

_TOO_LARGE = "a space with a condition on whole texts is too large for its texts to be counted by number of swaps"


@dataclass(slots=True)
class _Stratum:
    """The points with exactly k swaps, and what was drawn from them."""

    k: int
    rng: np.random.Generator
    drawn: Drawn


def count_by_swaps(
    space: Space, goal: Goal, seed: Seed, samples: int | None, guarantee: Guarantee, attempt: Attempt | None = None
) -> Search[tuple[Tally, ...]]:
    """A tally for each number of swaps 0 … max_swaps; strata of at most `samples` points are enumerated.

    `samples` is also the most draws from a stratum; None: as many as the guarantee may take.  An anytime count that is
    cut short keeps what it has: of a stratum that was not reached nothing is known.
    """
    most = guarantee.most if samples is None else samples
    large = [k for k in range(space.max_swaps + 1) if space.stratum(k) > most]
    if large and space.predicate is not None:
        raise Spent(_TOO_LARGE)
    tallies = [Tally(0, 0, exact=False, unseen=space.stratum(k)) for k in range(space.max_swaps + 1)]
    own = guarantee.shared(len(large))
    strata = [_Stratum(k, seed.child(k).generator(), Drawn()) for k in large]
    draw = partial(_draw, space, goal, own.most if samples is None else samples, own, tallies)
    known = 0  # strata that are counted
    try:
        strata = yield from draw(strata)
        if attempt is not None:
            known = yield from _count(space, large, attempt, tallies)
        while strata := [one for one in strata if one.k >= known]:
            strata = yield from draw(strata)
        for k in range(known, space.max_swaps + 1):
            if k not in large:
                yield from _enumerate(space, goal, k, tallies)
    except Spent:
        if not guarantee.is_anytime or space.predicate is not None or not any(tally.n for tally in tallies):
            raise
    return tuple(tallies)


def _enumerate(space: Space, goal: Goal, k: int, tallies: list[Tally]) -> Search[None]:
    seen = Seen()
    yield from enumerate_stratum(space, goal, k, seen)
    tallies[k] = Tally(seen.flips, seen.n, exact=True)


def _count(space: Space, large: Sequence[int], attempt: Attempt, tallies: list[Tally]) -> Search[int]:
    """Count the large strata exactly as far as no flip was drawn from them; how many strata are known by that."""
    upto = space.max_swaps
    while within := [k for k in large if k <= upto]:
        flips = None if any(tallies[k].flips for k in within) else (yield from attempt(upto))
        if flips is not None:
            tallies[: len(flips)] = [Tally(own, space.stratum(k), exact=True) for k, own in enumerate(flips)]
            return len(flips)
        upto //= 2
    return 0


def _draw(
    space: Space, goal: Goal, most: int, guarantee: Guarantee, tallies: list[Tally], strata: list[_Stratum]
) -> Search[list[_Stratum]]:
    """Draw once more from each of these strata; those that need more draws.  By turns, each has an interval early."""
    if not strata:
        return []
    counts = [min(guarantee.next_batch(one.drawn.n), most - one.drawn.n) for one in strata]
    points = [draws(space, one.rng, count, one.k) for one, count in zip(strata, counts, strict=True)]
    reached = goal.strict.reached((yield np.concatenate(points)))
    unmet = []
    for one, flips in zip(strata, np.split(reached, np.cumsum(counts)[:-1]), strict=True):
        is_met = one.drawn.add(int(flips.sum()), len(flips), guarantee)
        tallies[one.k] = sampled(one.drawn, guarantee)
        if one.drawn.n < most and not is_met:
            unmet.append(one)
    return unmet


def shares_by_swaps(tallies: Sequence[Tally], guarantee: Guarantee, seed: int) -> tuple[Share, ...]:
    """The share of each stratum, with intervals that hold together."""
    own = guarantee.shared(sum(not tally.exact and not tally.unseen for tally in tallies))
    return tuple(share_of(tally, own, k, seed) for k, tally in enumerate(tallies))


def shares_by_radius(space: Space, strata: Sequence[Share]) -> tuple[RadiusShare, ...]:
    """The share of all points with at most 0, 1, … swaps, given those of each number of swaps."""
    sizes = [share.n if share.method == "exact" else space.stratum(k) for k, share in enumerate(strata)]
    ends = {
        name: [size * _fraction(share, name) for size, share in zip(sizes, strata, strict=True)]
        for name in ("value", "low", "high")
    }
    sums = {name: list(accumulate(parts)) for name, parts in ends.items()}
    return tuple(
        RadiusShare(radius=r, **{name: float(parts[r] / total) for name, parts in sums.items()})
        for r, total in enumerate(accumulate(sizes))
    )


def _fraction(share: Share, end: str) -> Fraction:
    """The value or an end of a share, without rounding where it was counted."""
    if share.method == "exact":
        return Fraction(share.flips, max(1, share.n))
    return Fraction(getattr(share, end))
