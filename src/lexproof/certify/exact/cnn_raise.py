"""Units of negative weight: an additive upper bound of their maximum over every set of at most k free swaps.

Let h be the maximum of a unit after the fixed swaps, s_t = h - z_t >= 0 the slack of its cell t, D_c(t) what candidate
c adds to it, R_i(t) the most that a free candidate at position i adds (0 if none adds anything), and R(t) the sum of
the k largest R_i(t).  Every set K of at most k free candidates, one a position, has

    h(K) <= h + sum over c in K of max over cells t with R(t) > s_t of (D_c(t) - b_i(t) s_t)^+ ,  b_i(t) = R_i(t)/R(t)

where i is the position of c.

Proof.  If h(K) <= h there is nothing to show.  Else some cell t has h(K) - h = (sum over K of D_c(t)) - s_t > 0, so
R(t) > s_t.  Let J be the c in K with D_c(t) > 0.  They are at most k, so the b_i(t) of their positions sum to at most
1, and h(K) - h <= sum over J of (D_c(t) - b_i(t) s_t).  Each term is at most its positive part, and that is at most
the maximum over cells.
"""

from __future__ import annotations

import numpy as np

from lexproof.certify.exact.cnn_cells import Cells, spread, sums, top_sum
from lexproof.points import BoolArray, FloatArray


def raising_gains(cells: Cells, values: FloatArray, free: BoolArray, budget: int) -> FloatArray:
    """Gains (B, S), at most 0, by units of negative weight; 0 where a candidate is not free."""
    rows, count = free.shape
    slack = cells.features(values)[:, cells.unit] - values
    row, cell = np.nonzero(cells.rise[:, min(budget, cells.width) - 1] > slack)
    turned, rank = spread(cells.begin, cell)
    effect = cells.turned[turned]
    owner = cells.owner[effect]
    change = np.where(free[row[rank], owner], cells.change[effect], 0.0)
    seat = rank * cells.width + cells.offset[effect]
    rises = np.zeros(len(row) * cells.width)
    np.maximum.at(rises, seat, change)
    most = top_sum(rises.reshape(len(row), cells.width), budget)
    live = most > slack[row, cell]
    ratio = np.where(live, slack[row, cell] / np.where(live, most, 1.0), 1.0)
    part = change - rises[seat] * ratio[rank]
    counts = np.flatnonzero((part > 0) & live[rank])
    part, rank, owner = part[counts], rank[counts], owner[counts]
    unit = cells.unit[cell[rank]]
    by_unit = (row[rank] * count + owner) * len(cells.floor) + unit
    order = np.argsort(by_unit, kind="stable")
    begin = np.flatnonzero(np.diff(by_unit[order], prepend=-1))
    raised = np.maximum.reduceat(part[order], begin) if len(begin) else np.zeros(0)
    at = order[begin]
    weighted = raised * cells.weight[0, unit[at]]
    return sums(row[rank[at]] * count + owner[at], weighted, rows * count).reshape(rows, count)
