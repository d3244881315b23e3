"""Random search: uniform draws from the space, then swaps put back while the text stays fooled.

The baseline that any cleverer attack must beat, and the only one that finds every kind of flip with a probability that
can be stated: a space of which a share p flips is missed by N draws with probability (1 - p)^N.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lexproof.attacks.base import Hunt, put_back
from lexproof.errors import InputError
from lexproof.goal import Goal
from lexproof.search import Seed, flips
from lexproof.space import Space


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomSearch:
    """At most `draws` uniform draws, `batch` at a time."""

    draws: int = 1000
    batch: int = 100
    needs_gradients: ClassVar[bool] = False
    needs_scores: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.draws < 1 or self.batch < 1:
            raise InputError(f"expected draws >= 1 and batch >= 1, got {self.draws} and {self.batch}")

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """Draws until a flip is found; the claim has no swap that it does not need."""
        if not space.max_swaps:
            return None
        rng = seed.generator()
        for drawn in range(0, self.draws, self.batch):
            points = space.sample(rng, min(self.batch, self.draws - drawn))
            scores = yield points
            rows = flips(space, goal, points, scores)
            if len(rows):
                fewest = rows[np.argmin(np.count_nonzero(points[rows], axis=1))]
                return (yield from put_back(space, goal, points[fewest]))
        return None
