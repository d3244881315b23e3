"""Sums over the positions that a budget may reach: exact minima and maxima of additive functions."""

from __future__ import annotations

import numpy as np

from lexproof.checker.tokens import Index
from lexproof.points import FloatArray

TOLERANCE = 1e-9
"""How far a bound may miss its threshold: a checker sums in another order than a solver.

Sums here have some thousand float64 terms of up to 1e3, so their own error is far smaller; and the threshold is twice
the stated rounding of the model, of which this is the ten thousandth part or less.
"""


def greatest(rows: FloatArray, position: Index, budget: int) -> FloatArray:
    """The greatest sum (R,) of at most `budget` entries of each row (R, n), at most one for each position."""
    if not len(position) or budget <= 0:
        return np.zeros(len(rows))
    order = np.argsort(position, kind="stable")
    begins = np.unique(position[order], return_index=True)[1]
    best = np.maximum(np.maximum.reduceat(rows[:, order], begins, axis=1), 0.0)
    sums: FloatArray = np.sort(best, axis=1)[:, ::-1][:, :budget].sum(axis=1)
    return sums


def least(gains: FloatArray, position: Index, budget: int) -> float:
    """The least sum of at most `budget` gains, at most one for each position; 0 for none."""
    return -float(greatest(-gains[None], position, budget)[0])
