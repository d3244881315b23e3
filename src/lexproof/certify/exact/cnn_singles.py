"""Exact changes of the margin by single swaps: only the units that a swap touches are looked at.

A unit whose maximum is attained by a cell that the swap does not touch keeps it, unless a touched cell rises above it.
Only where the attaining cell is touched are the untouched cells of the unit compared.
"""

from __future__ import annotations

import numpy as np

from lexproof.certify.exact.cnn_cells import Cells, spread, sums
from lexproof.certify.exact.cnn_net import Index
from lexproof.points import FloatArray


def single_changes(cells: Cells, values: FloatArray, row: Index, candidate: Index) -> FloatArray:
    """The change (M,) of weight . h of region row[m], whose cells have values[row[m]], by candidate[m] alone."""
    effect, rank = spread(cells.start, candidate)
    if not len(effect):
        return np.zeros(len(candidate))
    group, owner = spread(cells.groups, candidate)
    counts = cells.start[candidate + 1] - cells.start[candidate]
    begin = cells.group[group] + (np.cumsum(counts) - counts - cells.start[candidate])[owner]
    old = values[row[rank], cells.cell[effect]]
    new = np.maximum.reduceat(old + cells.change[effect], begin)
    unit = cells.unit[cells.cell[cells.group[group]]]
    before = cells.features(values)[row[owner], unit]
    touched = np.maximum.reduceat(old, begin) >= before
    rest = np.where(touched, cells.floor[unit], before)
    hit = np.flatnonzero(touched)
    if len(hit):
        beside = _beside(cells, values, unit[hit], row[owner[hit]], candidate[owner[hit]])
        rest[hit] = np.maximum(rest[hit], beside)
    change = (np.maximum(new, rest) - before) * cells.weight[0, unit]
    return sums(owner, change, len(candidate))


def _beside(cells: Cells, values: FloatArray, unit: Index, row: Index, candidate: Index) -> FloatArray:
    """The largest value of each unit among cells that its candidate does not touch, -inf if it touches all."""
    ends = np.append(cells.first, len(cells.unit))
    cell, rank = spread(ends, unit)
    away = cells.place[cell] - (cells.position[candidate] - cells.lead)[rank]
    value = values[row[rank], cell]
    value[(away >= 0) & (away < cells.width)] = -np.inf
    sizes = (ends[1:] - ends[:-1])[unit]
    return np.asarray(np.maximum.reduceat(value, np.cumsum(sizes) - sizes))
