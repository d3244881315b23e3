"""What the tests of shares count on: a space small enough to enumerate, and how often an interval may fail."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from lexproof.points import BoolArray, IntArray
from lexproof.space import Space
from toys import Additive

RUNS = 2000
SPACE = Space(" ".join("abcdef"), [[f"{c}{i}" for i in range(1 + k % 3)] for k, c in enumerate("abcdef")], 4)
VICTIM = Additive(4, bias=1.0)


class Flips:
    """All flips of a space, looked up by point."""

    def __init__(self, space: Space = SPACE, label: int = 1) -> None:
        points = space.points()
        self.base = np.cumprod([1, *(space.sizes[:-1] + 1)])
        self.swaps = np.count_nonzero(points, axis=1)
        self.flipped: BoolArray = VICTIM.predict(space.render(points)) != label
        self._table = np.zeros(int(np.prod(space.sizes + 1)), np.bool_)
        self._table[points @ self.base] = self.flipped

    def of(self, points: IntArray) -> BoolArray:
        found: BoolArray = self._table[points @ self.base]
        return found

    def share(self, most: int, least: int = 0) -> float:
        """The exact share of flips among the points with least … most swaps."""
        return float(self.flipped[(self.swaps >= least) & (self.swaps <= most)].mean())


def allowed(confidence: float, runs: int = RUNS) -> int:
    """Failures that an interval which holds at this rate stays within, but for one case in a million."""
    return int(binom.ppf(1 - 1e-6, runs, 1 - confidence))


def running(flips: BoolArray) -> NDArray[np.int64]:
    """Flips among the first 1, 2, … draws."""
    return np.cumsum(flips, axis=-1)
