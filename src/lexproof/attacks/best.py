"""Our best upper bound: a beam over exact single swaps, then exchanges, then swaps put back.

1. All single swaps are scored exactly.  A flip among them is a minimum.
2. A beam of `width` texts grows by one swap a step.  The leading text is tried with every further swap, the others
   with the `breadth` swaps that did most harm when last tried.  The first flip ends the growth, or a few
   steps that do no more harm than earlier ones.
3. Exchange: two swaps of the flip are put back and one other is tried in their place, for the `exchanges` pairs whose
   loss costs least, as long as that gives a flip with fewer swaps.
4. Swaps that are not needed are put back.

The effects of swaps nearly add up in most classifiers, so that swaps which do harm alone are those worth combining;
what does not add up, the exact scores of the beam and the exchange correct.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lexproof.attacks.base import Hunt, accepted, best_flip, point_of, put_back
from lexproof.attacks.beam import distinct
from lexproof.errors import InputError
from lexproof.goal import Goal
from lexproof.points import FloatArray, IntArray, Swaps
from lexproof.search import Search, Seed
from lexproof.space import Space

_PATIENCE = 2  # steps that do no more harm than earlier ones before growth is given up


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """Beam of `width` texts, `breadth` swaps tried on each but the first, `exchanges` pairs exchanged."""

    width: int = 8
    breadth: int = 32
    exchanges: int = 8
    needs_gradients: ClassVar[bool] = False
    needs_scores: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.width < 1 or self.breadth < 1 or self.exchanges < 0:
            raise InputError(
                "expected width >= 1, breadth >= 1 and exchanges >= 0, "
                f"got {self.width}, {self.breadth} and {self.exchanges}"
            )

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """Deterministic: `seed` is not used."""
        del seed
        start = goal.progress((yield space.origin[None]))[0]
        singles = space.singles()
        scores = yield singles
        row = best_flip(space, goal, singles, scores)
        if row is not None:
            return point_of(singles, row)
        harm = goal.progress(scores)
        gains = harm - start
        flip = yield from self._grow(space, goal, singles, harm, gains)
        while flip is not None and np.count_nonzero(flip) > 2:  # no single swap flips, so two are a minimum
            fewer = None if not self.exchanges else (yield from self._exchange(space, goal, singles, gains, flip))
            if fewer is None:
                return (yield from put_back(space, goal, flip))
            flip = fewer
        return flip

    def _grow(self, space: Space, goal: Goal, singles: Swaps, harm: FloatArray, gains: FloatArray) -> Hunt:
        """The first flip of a beam; `gains`, what each swap added when last tried, is kept up to date."""
        top = accepted(space, singles, np.argsort(-harm, kind="stable"), self.width)
        texts, reached = singles[top].dense(), harm[top]
        most, idle = float(harm[top].max(initial=-np.inf)), 0
        for _ in range(1, space.max_swaps if len(top) else 1):
            request, which = self._further(texts, singles, gains)
            scores = yield request
            row = best_flip(space, goal, request, scores)
            if row is not None:
                return point_of(request, row)
            harm = goal.progress(scores)
            gains[which[::-1]] = (harm - reached[request.rows])[::-1]  # what the leading text saw counts
            top = accepted(space, request, np.argsort(-harm, kind="stable"), self.width)
            idle = 0 if len(top) and harm[top[0]] > most else idle + 1
            if not len(top) or idle > _PATIENCE:
                return None
            texts, reached = request[top].dense(), harm[top]
            most = max(most, float(reached[0]))
        return None

    def _further(self, texts: IntArray, singles: Swaps, gains: FloatArray) -> tuple[Swaps, NDArray[np.int64]]:
        """The leading text with every further swap, the others with the most promising; and which swap each is."""
        order = np.argsort(-gains, kind="stable")
        free = texts[:, singles.positions[order]] == 0
        free[1:] &= np.cumsum(free[1:], axis=1) <= self.breadth
        rows, columns = np.nonzero(free)
        which = order[columns]
        request = Swaps(texts, rows.astype(np.int32), singles.positions[which], singles.choices[which])
        first = distinct(request)
        return request[first], which[first]

    def _exchange(self, space: Space, goal: Goal, singles: Swaps, gains: FloatArray, flip: IntArray) -> Hunt:
        """A flip with one swap less: two of its swaps put back, one other in their place."""
        reduced = yield from self._without_two(goal, flip)
        request, _ = self._further(reduced, singles, gains)
        scores = yield request
        row = best_flip(space, goal, request, scores)
        return None if row is None else point_of(request, row)

    def _without_two(self, goal: Goal, flip: IntArray) -> Search[IntArray]:
        """The flip with two swaps put back, the pairs first whose loss costs least."""
        swapped = np.flatnonzero(flip).astype(np.int32)
        one = Swaps.of(flip, swapped, np.zeros_like(swapped)).dense()
        first, second = np.triu_indices(len(swapped), 1)
        both = Swaps(one, first.astype(np.int32), swapped[second], np.zeros(len(first), np.int32))
        harm = goal.progress((yield both))
        return both[np.argsort(-harm, kind="stable")[: self.exchanges]].dense()
