"""Units of positive weight: an additive lower bound of their maximum over every set of at most k free swaps.

Let h be the maximum of a unit after the fixed swaps, t the cell that attains it, A_c what candidate c takes from that
cell, and C = h - floor with floor <= h(K) for every set K of at most k free candidates.  Then

    h - h(K) <= sum over c in K of a_c

where a_c = A_c for every c ("raw"), or a_c = min(C, A_c^+) for every c ("capped").  If the floor attains h, a_c = 0.

Proof.  h - h(K) <= h - z_t(K) = sum of A_c: raw.  Also h - h(K) <= C, so h - h(K) <= min(C, sum of A_c^+), and
min(C, .) of numbers >= 0 is subadditive: capped.

Raw is taken where no A_c exceeds C: it then also counts what raises the cell.  The floor is that of `cnn_cells` for
the budget of the region: of k + 1 places that see no common position one is not touched, and a single place keeps what
k swaps cannot take from it.
"""

from __future__ import annotations

import numpy as np

from lexproof.certify.exact.cnn_cells import Cells, spread, sums
from lexproof.points import BoolArray, FloatArray


def lowering_gains(cells: Cells, values: FloatArray, free: BoolArray, budget: int) -> FloatArray:
    """Gains (B, S), of any sign, by units of positive weight; 0 where a candidate is not free."""
    rows, count = free.shape
    if not len(cells.first):
        return np.zeros((rows, count))
    features = cells.features(values)
    row, cell = np.nonzero(_attaining(cells, values, features))
    turned, rank = spread(cells.begin, cell)
    effect = cells.turned[turned]
    owner = cells.owner[effect]
    loss = np.where(free[row[rank], owner], -cells.change[effect], 0.0)
    worst = np.zeros(features.shape)
    np.maximum.at(worst, (row[rank], cells.unit[cell[rank]]), loss)
    cap = (features - _floors(cells, values, budget, features - worst))[row, cells.unit[cell]]
    is_capped = worst[row, cells.unit[cell]] > cap
    loss = np.where(is_capped[rank], np.clip(loss, 0.0, cap[rank]), loss)
    weighted = loss * cells.weight[0, cells.unit[cell]][rank]
    return -sums(row[rank] * count + owner, weighted, rows * count).reshape(rows, count)


def _attaining(cells: Cells, values: FloatArray, features: FloatArray) -> BoolArray:
    """The first cell (B, P) of each unit that attains its maximum; none where only the floor does."""
    attains = values >= features[:, cells.unit]
    number = np.where(attains, np.arange(values.shape[1]), values.shape[1])
    return np.asarray(number == np.minimum.reduceat(number, cells.first, axis=1)[:, cells.unit]) & attains


def _floors(cells: Cells, values: FloatArray, budget: int, enough: FloatArray) -> FloatArray:
    """A floor (B, U) of each unit; one that is not above `enough` may be lower than need be."""
    kept = values - cells.fall[:, min(budget, cells.width) - 1]
    floor = np.maximum(np.maximum.reduceat(kept, cells.first, axis=1), cells.floor)
    left = values
    for _ in range(budget):
        best = np.maximum.reduceat(left, cells.first, axis=1)
        if (best <= np.maximum(enough, floor)).all():  # what is left is no larger
            return floor
        at = np.where(left == best[:, cells.unit], cells.place, -1)
        chosen = np.maximum.reduceat(at, cells.first, axis=1)[:, cells.unit]
        left = np.where(np.abs(cells.place - chosen) < cells.width, -np.inf, left)
    return np.maximum(floor, np.maximum.reduceat(left, cells.first, axis=1))
