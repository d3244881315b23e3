"""Beam search over single swaps: the best `width` texts with t swaps, each tried with every further swap.

All flips with t swaps that the beam can reach are seen before any with t + 1, so the first flip has the fewest swaps
that this beam leads to; with one swap it is a minimum, since all single swaps are tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lexproof.attacks.base import Hunt, accepted, best_flip, point_of
from lexproof.errors import InputError
from lexproof.goal import Goal
from lexproof.points import IntArray, Swaps, zobrist
from lexproof.search import Seed
from lexproof.space import Space


@dataclass(frozen=True, slots=True, kw_only=True)
class Beam:
    """Keep the `width` most harmful texts of each number of swaps."""

    width: int = 4
    needs_gradients: ClassVar[bool] = False
    needs_scores: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.width < 1:
            raise InputError(f"expected width >= 1, got {self.width}")

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """Deterministic: `seed` is not used."""
        del seed
        texts = space.origin[None]
        singles = space.singles()
        for _ in range(space.max_swaps):
            request = further(texts, singles)
            scores = yield request
            row = best_flip(space, goal, request, scores)
            if row is not None:
                return point_of(request, row)
            top = accepted(space, request, np.argsort(-goal.progress(scores), kind="stable"), self.width)
            if not len(top):
                return None
            texts = request[top].dense()
        return None


def further(texts: IntArray, singles: Swaps) -> Swaps:
    """Each text with each of these swaps at a position that it has not swapped yet, each new text once."""
    rows, columns = np.nonzero(texts[:, singles.positions] == 0)
    grown = Swaps(texts, rows.astype(np.int32), singles.positions[columns], singles.choices[columns])
    return grown[distinct(grown)]


def distinct(points: Swaps) -> NDArray[np.int64]:
    """Rows of distinct points, the first of equals: the same swaps made in another order are one text."""
    if len(points.bases) == 1:
        return np.arange(len(points))
    _, first = np.unique(zobrist(points), return_index=True)
    return np.sort(first)
