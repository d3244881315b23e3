"""The simple prover: score every text of the space, by number of swaps, most sensitive words first.

Guarantee: a `Sweep` without flip and tie says that every text with exactly k swaps was scored and kept its label by a
margin of more than the victim's rounding.  What lies within rounding is scored again through its text; a tie that
remains is no flip, but nothing is proven at that number of swaps.

Theorem 1 of Yang et al. 2022 (Quantifying Robustness to Adversarial Word Substitutions): for a fixed radius this takes
polynomially many queries, exactly `space.stratum(0) + … + space.stratum(r)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lexproof.goal import Goal, steady
from lexproof.points import AsText, FloatArray, Fresh, IntArray, Sensitivity, Swaps, dense
from lexproof.search import Search, flips
from lexproof.space import Space

_BATCH = 16_384  # points a request: large enough to hide the cost of asking
_REMEMBERED = 5_000  # points of a space whose scores are remembered for those who ask for them again


@dataclass(frozen=True, slots=True)
class Sweep:
    """What one number of swaps holds: the least margin, a flip if there is one, and whether a tie remains."""

    margin: float
    flip: IntArray | None
    tied: bool


def word_order(space: Space, goal: Goal, gradients: bool) -> Search[NDArray[np.int64]]:
    """The open positions, the most sensitive first.

    With `gradients`, by the L1 norm of the gradient of the label's score, as the paper does with access to the model;
    otherwise by the largest drop that a single swap causes, which the first stratum shows anyway.
    """
    if not space.max_swaps:
        return space.open
    if gradients:
        norms = yield Sensitivity(space.origin[None], goal.label)
        return space.open[np.argsort(-steady(norms[0, space.open]), kind="stable")]
    singles = space.singles()
    harm = goal.progress((yield singles))
    starts = np.cumsum(space.sizes[space.open]) - space.sizes[space.open]
    return space.open[np.argsort(-np.maximum.reduceat(harm, starts), kind="stable")]


def sweep_stratum(space: Space, goal: Goal, order: NDArray[np.int64], k: int) -> Search[Sweep]:
    """Score all points with exactly k swaps, up to the first batch with a flip."""
    least, tied = float("inf"), False
    small = space.is_within(_REMEMBERED)
    for request in stratum(space, order, k):
        # what attacks, counts and samples ask for as well is remembered, unless it is too much
        scores = yield request if k <= 1 or small else Fresh(request)
        sweep = yield from judge(space, goal, request, scores)
        least, tied = min(least, sweep.margin), tied or sweep.tied
        if sweep.flip is not None:
            return Sweep(least, sweep.flip, tied)
    return Sweep(least, None, tied)


def judge(space: Space, goal: Goal, request: Swaps | IntArray, scores: FloatArray) -> Search[Sweep]:
    """What these scored points hold; those within rounding are scored again through their text."""
    rows = flips(space, goal, request, scores)
    margins = goal.margin(scores)
    if len(rows):
        return Sweep(float(margins.min()), dense(request[rows[:1]])[0], False)
    near = margins <= goal.slack
    least = float(margins[~near].min(initial=np.inf))
    if not np.count_nonzero(near):
        return Sweep(least, None, False)
    flip, margin = yield from _settle(space, goal, dense(request[near]))
    return Sweep(min(least, margin), flip, flip is None and margin <= goal.slack)


def _settle(space: Space, goal: Goal, points: IntArray) -> Search[tuple[IntArray | None, float]]:
    """A flip among points that lie within rounding, judged by their texts, and the least margin of the texts.

    Points that the space's predicate rejects are not texts of the space: they neither flip nor bound the margin.
    """
    points = points[space.accepts(points)]
    if not len(points):
        return None, float("inf")
    scores = yield AsText(points)
    rows = np.flatnonzero(goal.strict.reached(scores))
    return (points[rows[0]] if len(rows) else None), float(goal.margin(scores).min())


def stratum(space: Space, order: NDArray[np.int64], k: int) -> Iterator[Swaps | IntArray]:
    """All points with exactly k swaps in batches, each as one last swap on a base with k - 1 swaps.

    The last swap comes after the others in `order`, so no point is asked for twice.
    """
    if k == 0:
        yield space.origin[None]
        return
    last = space.singles(positions=order)
    ends = np.cumsum(space.sizes[order])
    starts = (ends - space.sizes[order]).tolist()
    bases: list[IntArray] = []
    firsts: list[int] = []
    rows = 0
    for base, rank in _bases(space, order, k - 1, 0):
        if rank < len(starts):
            bases.append(base)
            firsts.append(starts[rank])
            rows += len(last) - starts[rank]
        if rows >= _BATCH:
            yield _extend(last, bases, firsts)
            bases, firsts, rows = [], [], 0
    if rows:
        yield _extend(last, bases, firsts)


def _bases(space: Space, order: NDArray[np.int64], k: int, first: int) -> Iterator[tuple[IntArray, int]]:
    """Points with exactly k swaps at ranks >= first of the order, each with the rank after its last swap."""
    if k == 0:
        yield space.origin, first
        return
    for rank in range(first, len(order) - k + 1):
        position = order[rank]
        for base, after in _bases(space, order, k - 1, rank + 1):
            for choice in range(1, int(space.sizes[position]) + 1):
                point = base.copy()
                point[position] = choice
                yield point, after


def _extend(last: Swaps, bases: list[IntArray], firsts: list[int]) -> Swaps:
    counts = np.array([len(last) - first for first in firsts])
    rows = np.repeat(np.arange(len(bases), dtype=np.int32), counts)
    picks = np.concatenate([np.arange(first, len(last)) for first in firsts])
    return Swaps(np.array(bases, np.int32), rows, last.positions[picks], last.choices[picks])
