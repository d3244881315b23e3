"""Raising the bound of a region: subgradient ascent on its dual values, with Adam's step sizes.

Every step's minimizer of the bound is a point of the region and is evaluated exactly, so the ascent finds adversarial
points on its way.  It proves nothing itself: whatever it does, the bound at the dual values it returns is sound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from lexproof.certify.exact.additive import Floats
from lexproof.certify.exact.relu_hull import Additive, Dual, HullBound

_KEEP = 0.9  # of the mean gradient, a step
_KEEP_SQUARE = 0.999  # of the mean square gradient
_DECAY = 0.98  # of the step size, a step


@dataclass(frozen=True, slots=True)
class Pace:
    """How many steps an ascent may take, and how long they are (in shares, so scale-free)."""

    steps: int
    rate: float


@dataclass(slots=True)
class Ascended:
    """The best bound found, with its dual values; or a witness.

    `mix` is the mean of the minimizers over the second half of the steps and `mean` that of their hidden layers after
    the ReLU: near the optimum `mix` is near the fractional solution of the relaxation, and branching looks at both.
    """

    dual: Dual
    bound: Additive
    mix: Floats  # (free,)
    mean: Floats  # (H,)
    witness: tuple[int, ...] | None = None


def ascend(hull: HullBound, dual: Dual, pace: Pace, goal: float | None = None) -> Ascended:
    """Raise the bound until it exceeds `goal`, by default theta, or stalls, or the steps are used up.

    A minimizer that is adversarial ends it as well.
    """
    theta, hidden = hull.rival.theta, hull.region.hidden
    goal = theta if goal is None else goal
    found = Ascended(dual, hull.at(dual), np.zeros(len(dual.free)), np.zeros(len(hidden)))
    bound, walk, history = found.bound, _Walk(pace.rate), []
    counted = 0
    for step in range(1, pace.steps + 1):
        after = hidden + bound.chosen @ hull.change
        if hull.rival.margin(after) <= theta and (witness := _witness(hull, bound)):
            found.witness = witness
            break
        if bound.value > found.bound.value:
            found.dual, found.bound = dual, bound
        history.append(found.bound.value)
        if 2 * step > pace.steps:
            found.mix += bound.chosen
            found.mean += np.maximum(after, 0.0)
            counted += 1
        if found.bound.value > goal or _is_stalled(history, pace.steps, goal):
            break
        dual = walk.step(hull, dual, *hull.slope(bound, after))
        bound = hull.at(dual)
    found.mix /= max(counted, 1)
    found.mean /= max(counted, 1)
    return found


class _Walk:
    """Adam: mean gradient over the root of the mean square gradient, each corrected for its start at 0."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.count = 0
        self.means: list[Floats] = []
        self.squares: list[Floats] = []

    def step(self, hull: HullBound, dual: Dual, shares: Floats, slopes: Floats) -> Dual:
        """The next dual values."""
        moves = self._moves([shares, slopes])
        return dual._replace(
            shares=np.minimum(np.maximum(dual.shares + moves[0], 0.0), 1.0),
            slopes=np.minimum(np.maximum(dual.slopes + hull.pace * moves[1], hull.least), hull.most),
        )

    def _moves(self, gradients: Sequence[Floats]) -> list[Floats]:
        self.count += 1
        if not self.means:
            self.means = [(1 - _KEEP) * part for part in gradients]
            self.squares = [(1 - _KEEP_SQUARE) * part * part for part in gradients]
        else:
            for mean, square, part in zip(self.means, self.squares, gradients, strict=True):
                mean *= _KEEP
                mean += (1 - _KEEP) * part
                square *= _KEEP_SQUARE
                square += (1 - _KEEP_SQUARE) * part * part
        rate = self.rate / (1 - _KEEP**self.count)
        fresh = 1 / (1 - _KEEP_SQUARE**self.count)
        self.rate *= _DECAY
        return [
            mean * rate / (np.sqrt(square * fresh) + 1e-3)
            for mean, square in zip(self.means, self.squares, strict=True)
        ]


def _witness(hull: HullBound, bound: Additive) -> tuple[int, ...] | None:
    """The chosen point's swaps, unless a tie chose too many candidates, or only rounding made it adversarial."""
    chosen = hull.columns.free[bound.chosen].tolist()
    swaps = (*hull.region.fixed, *chosen)
    is_witness = len(chosen) <= hull.budget and hull.rival.net.is_adversarial(swaps, hull.rival.theta)
    return swaps if is_witness else None


def _is_stalled(history: Sequence[float], steps: int, goal: float) -> bool:
    """Whether twice the gain of the last ten steps would not do, well into the second half."""
    count = len(history)
    if count < max(20, steps // 2 + 4) or count % 5 or goal == inf:
        return False
    return 2 * (history[-1] - history[-11]) < goal - history[-1]
