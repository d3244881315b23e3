"""What attacks share: the contract, and putting swaps back.

An attack is an object with keyword-only settings; called with a space, a goal and a seed it returns a
search (see `lexproof.search`) whose claim is the point that fools the victim, or None.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from lexproof.goal import Goal
from lexproof.points import IntArray, Swaps
from lexproof.search import Search, Seed, flips
from lexproof.space import Space

Hunt = Search[IntArray | None]
"""A search for a flip."""


class Attack(Protocol):
    """One search for a flip.  `needs_gradients` says so before it starts."""

    @property
    def needs_gradients(self) -> bool:
        """Whether the search asks for gradients."""
        ...

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """The search itself."""
        ...


def put_back(space: Space, goal: Goal, point: IntArray) -> Search[IntArray]:
    """Undo swaps one at a time, the least needed first, while the text stays a flip.

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
        spare = rows[np.argmax(goal.progress(scores[rows]))]
        point = point.copy()
        point[swapped[spare]] = 0
