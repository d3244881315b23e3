"""Searches: generators that ask for scores and return a claim.  What all of them share.

    def search(space, goal, seed):
        scores = yield points        # points.Request in, scores of its points out
        ...
        return claim

Everything a search uses is passed in; it knows nothing of victims, batches, budgets, clocks or processes.
"""

from __future__ import annotations

import zlib
from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from lexproof.errors import InputError
from lexproof.goal import Goal
from lexproof.points import FloatArray, Points, Request, dense
from lexproof.space import Space

Claim = TypeVar("Claim")
Search = Generator[Request, FloatArray, Claim]


class Spent(Exception):
    """Thrown into a search whose budget is used up; it may catch it and return what it has, but not ask again.

    A search may also raise it itself, to say why it gives up.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def flips(space: Space, goal: Goal, points: Points, scores: FloatArray) -> NDArray[np.int64]:
    """Rows that reach the goal and that the space's predicate accepts; it is asked about flips only."""
    rows = goal.reached(scores).nonzero()[0]
    if space.predicate is None or not len(rows):
        return rows
    return rows[space.accepts(dense(points[rows]))]


@dataclass(frozen=True, slots=True)
class Seed:
    """Where random choices come from: they depend on the seed and these names alone, not on what ran before or beside.

    A generator is made only by those who draw; a search that runs others gives each a `child` of its own, so that none
    of them depends on which others there are.
    """

    value: int
    names: tuple[object, ...] = ()

    def child(self, name: object) -> Seed:
        """The seed of a part."""
        return Seed(self.value, (*self.names, name))

    def generator(self) -> np.random.Generator:
        """A new generator; the same one each time."""
        if self.value < 0:
            raise InputError(f"expected seed >= 0, got {self.value}")
        words = (str(name).encode("utf-8", "surrogatepass") for name in self.names)
        return np.random.default_rng([self.value, *map(zlib.crc32, words)])
