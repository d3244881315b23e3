"""Searches: generators that ask for scores and return a claim.  What all of them share.

    def search(space, goal, rng):
        scores = yield points        # points.Request in, scores of its points out
        ...
        return claim

Everything a search uses is passed in; it knows nothing of victims, batches, budgets, clocks or processes.
"""

from __future__ import annotations

import zlib
from collections.abc import Generator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from lexproof.goal import Goal
from lexproof.points import FloatArray, Points, Request, dense
from lexproof.space import Space

Claim = TypeVar("Claim")
Search = Generator[Request, FloatArray, Claim]


class Spent(Exception):
    """Thrown into a search whose budget is used up; it may catch it and return what it has, but not ask again."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def flips(space: Space, goal: Goal, points: Points, scores: FloatArray) -> NDArray[np.int64]:
    """Rows that reach the goal and that the space's predicate accepts; it is asked about flips only."""
    rows = np.flatnonzero(goal.reached(scores))
    if space.predicate is None or not len(rows):
        return rows
    return rows[space.accepts(dense(points[rows]))]


def generator_for(seed: int, *names: str) -> np.random.Generator:
    """A random generator that depends on the seed and these names alone, not on what ran before or beside it."""
    return np.random.default_rng([seed, *(zlib.crc32(name.encode("utf-8", "surrogatepass")) for name in names)])
