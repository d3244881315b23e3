"""A lower bound of one margin of a one-layer max-pool convolution over a region, additive in the swaps.

A region: swaps are made, candidates are free, at most b of them may be added (a set K), one for each position.  Let
z_t be the value of cell t of a unit after the swaps that are made, h the unit's maximum, and D_c(t) what candidate c
adds to the cell.

Weight w < 0 needs a bound from above.  Let R_i(t) be the most that a free candidate at position i adds to cell t, or 0,
R(t) the sum of the b greatest of them, and s_t = h - z_t.  Then

    h(K) <= h + sum over c in K of r_c,    r_c = max(0, max over cells t with R(t) > s_t of D_c(t) - s_t R_i(t) / R(t))

where i is the position of c.  Proof: let t attain h(K); if h(K) <= h there is nothing to show.  The excess is the sum
of D_c(t) over K less s_t; being positive, it needs R(t) > s_t.  Keep only c with D_c(t) > 0: that can but raise it.
They are at most b at different positions, so their R_i(t) / R(t) sum to at most 1, and the excess is at most the sum of
D_c(t) - s_t R_i(t) / R(t) <= r_c over them.

Weight w > 0 needs a bound from below.  Let t be a cell that attains h, A_c = -D_c(t), and C = h - floor where the unit
never falls below the floor.  Then h - h(K) is at most the sum over K of a_c, with either a_c = A_c for all c, or
a_c = min(max(A_c, 0), C) for all c.  Proof: h - h(K) <= h - z_t(K) = sum of A_c, the first form.  It is also at most C,
so at most the least of C and the sum of max(A_c, 0), which is at most the sum of a_c of the second form.  If no cell
attains h, it is the floor itself, and nothing is lost.

The second form is taken where some free candidate has A_c > C.  The floor is the greatest of three: that of the cells
(`convolution_cells`), what a cell keeps after b swaps, and the least of b + 1 cells that see no common position, of
which one is spared.
"""

from __future__ import annotations

import numpy as np

from lexproof.checker.convolution_cells import Cells, reach, spread_out, top
from lexproof.checker.tokens import Index
from lexproof.points import FloatArray


def gains(cells: Cells, weight: FloatArray, values: FloatArray, free: Index, budget: int) -> FloatArray:
    """What each candidate (S,) adds to the bound; of use for the free ones only.

    `values` (P,) are those of the cells after the swaps made; the margin there is what the bound starts from.
    """
    effects = np.flatnonzero(np.isin(cells.candidate, free))
    tops = cells.maxima(values)
    gain = raised(cells, tops, values, effects, budget) @ np.minimum(weight, 0.0)
    for unit in np.flatnonzero(weight > 0).tolist():
        candidate, loss = losses(cells, unit, float(tops[unit]), values, effects, budget)
        np.subtract.at(gain, candidate, weight[unit] * loss)
    return gain


def raised(cells: Cells, tops: FloatArray, values: FloatArray, effects: Index, budget: int) -> FloatArray:
    """r_c of each candidate and unit: (S, U)."""
    cell, offset, change = cells.cell[effects], cells.offset[effects], cells.change[effects]
    rise = reach(len(cells.unit), cells.width, cell, offset, change)
    whole, slack = top(rise, budget, axis=1), tops[cells.unit] - values
    ratio = slack / np.where(whole > 0, whole, 1.0)
    above = np.where((whole > slack)[cell], change - rise[cell, offset] * ratio[cell], 0.0)
    most = np.zeros((len(cells.position), len(tops)))
    np.maximum.at(most, (cells.candidate[effects], cells.unit[cell]), above)
    return most


def losses(
    cells: Cells, unit: int, height: float, values: FloatArray, effects: Index, budget: int
) -> tuple[Index, FloatArray]:
    """The free candidates that change the cell which attains the unit's maximum, and a_c of each."""
    own = np.flatnonzero(cells.unit == unit)
    attaining = own[values[own] >= height]
    if not len(attaining):
        return np.zeros(0, np.int64), np.zeros(0)
    here = effects[cells.cell[effects] == attaining[0]]
    loss = -cells.change[here]
    cap = height - _floor(cells, own, values, budget)
    if loss.max(initial=0.0) > cap:
        loss = np.clip(loss, 0.0, cap)
    return cells.candidate[here], loss


def _floor(cells: Cells, own: Index, values: FloatArray, budget: int) -> float:
    """What the maximum of a unit with these cells cannot fall below after `budget` swaps of any candidates."""
    kept = values[own] - top(cells.fall[own], budget, axis=1)
    order = np.lexsort((-cells.place[own], -values[own]))
    spared = spread_out(values[own], order, cells.place[own], budget + 1, cells.width)
    return max(float(cells.floor[cells.unit[own[0]]]), float(kept.max()), spared)
