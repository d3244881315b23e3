"""What attacks share: the contract, and putting swaps back.

An attack is an object with keyword-only settings; called with a space, a goal and a seed it returns a
search (see `lexproof.search`) whose claim is the point that fools the victim, or None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lexproof.goal import Goal
from lexproof.points import FloatArray, IntArray, Points, Swaps, dense
from lexproof.search import Search, Seed, flips
from lexproof.space import Space

Hunt = Search[IntArray | None]
"""A search for a flip."""


class Attack(Protocol):
    """One search for a flip, which says before it starts what it needs.

    A class may have `variants`: names (`paper`, `code`, `benchmark`) of settings that belong together.
    """

    @property
    def needs_gradients(self) -> bool:
        """Whether the search asks for gradients."""
        ...

    @property
    def needs_scores(self) -> bool:
        """Whether the search is guided by scores; if not, predicted labels are enough."""
        ...

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """The search itself."""
        ...


class Adaptive(Protocol):
    """An attack that makes the most of what a victim can give."""

    def adapted(self, *, gradients: bool, scores: bool) -> Attack:
        """The attack for victims that give these."""
        ...


_MANY = 32  # swaps that can be spared, of which to put back several at once: singly they would cost their square
_FIRST_BLOCK = 4  # texts shown to the predicate at first; each further block is twice as large


def accepted(space: Space, points: Points, order: Sequence[int] | NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The first `count` of these rows, best first, that the space's predicate accepts; it is not asked about the rest.

    Of a space without a predicate that is simply the first `count`.
    """
    ranked = np.asarray(order, np.int64)
    if space.predicate is None:
        return ranked[:count]
    found: list[int] = []
    at, size = 0, max(count, _FIRST_BLOCK)
    while at < len(ranked) and len(found) < count:
        block = ranked[at : at + size]
        found.extend(block[space.accepts(dense(points[block]))].tolist())
        at, size = at + size, 2 * size
    return np.array(found[:count], np.int64)


def first_accepted(space: Space, points: Points, order: Sequence[int] | NDArray[np.int64]) -> int | None:
    """The first of these rows, best first, that the space's predicate accepts."""
    found = accepted(space, points, order, 1)
    return int(found[0]) if len(found) else None


def point_of(points: Points, row: int) -> IntArray:
    """One of these points, written out."""
    point: IntArray = dense(points[row : row + 1])[0]
    return point


def best_flip(space: Space, goal: Goal, points: Points, scores: FloatArray) -> int | None:
    """The row of a flip in the space with the fewest swaps, the most harmful of them; None if there is none."""
    rows = goal.reached(scores).nonzero()[0]
    if not len(rows):
        return None
    swaps = np.count_nonzero(dense(points[rows]), axis=1)
    order = np.lexsort((-goal.progress(scores[rows]), swaps))
    return first_accepted(space, points, rows[order[swaps[order] <= space.max_swaps]])


def put_back(space: Space, goal: Goal, point: IntArray) -> Search[IntArray]:
    """Undo swaps one at a time (while very many can be spared, several), the least needed first, and stay a flip.

    Guarantee: the result is a flip if `point` is, has no more swaps, and needs each of them.
    """
    while True:
        swapped = np.flatnonzero(point).astype(np.int32)
        if len(swapped) <= 1:
            return point
        request = Swaps.of(point, swapped, np.zeros(len(swapped), np.int32))
        scores = yield request
        rows = flips(space, goal, request, scores)
        if not len(rows):
            return point
        spare = swapped[rows[np.argsort(-goal.progress(scores[rows]), kind="stable")]]
        fewer = (yield from _without_many(space, goal, point, spare)) if len(spare) > _MANY else None
        if fewer is None:
            fewer = point.copy()
            fewer[spare[0]] = 0
        point = fewer


def _without_many(space: Space, goal: Goal, point: IntArray, spare: IntArray) -> Hunt:
    """The flip without the first 2, 4, 8, … of these swaps, as many as it can do without; None if not even two."""
    counts = [2**power for power in range(1, len(spare).bit_length())]
    points = np.repeat(point[None], len(counts), axis=0)
    for fewer, count in zip(points, counts, strict=True):
        fewer[spare[:count]] = 0
    scores = yield points
    rows = flips(space, goal, points, scores)
    return points[rows[-1]] if len(rows) else None
