"""One rival class of a reduced net: exact margins of regions and of their single swaps, and the additive bound.

For a region of fixed swaps, free candidates and a budget k, every set K of at most k free candidates, one a position,

    margin(K) >= margin({}) + sum over c in K of gain(c).

It is the sum over units of weight times a bound of their maximum: from above for negative weights (`cnn_raise`), from
below for positive ones (`cnn_lower`).

Rounding: sums of a few hundred float64 numbers of order 1, with errors far below 1e-11; a bound proves a region only
if it exceeds theta by a guard of 1e-9 (`cnn_search`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lexproof.certify.exact.cnn_cells import Cells, reduce
from lexproof.certify.exact.cnn_lower import lowering_gains
from lexproof.certify.exact.cnn_net import Index, WindowedNet
from lexproof.certify.exact.cnn_raise import raising_gains
from lexproof.certify.exact.cnn_singles import single_changes
from lexproof.points import BoolArray, FloatArray

Values = tuple[FloatArray, FloatArray]
"""Values (B, P) of the cells of negative and of positive units."""


@dataclass(frozen=True, slots=True, eq=False)
class Rival:
    """The margin over one rival."""

    negative: Cells
    positive: Cells
    bias: float

    @classmethod
    def of(cls, cells: Cells, rival: int) -> Rival:
        """The rival with this number."""
        weight = cells.weight[rival]
        return cls(
            _part(cells, rival, np.flatnonzero(weight < 0)),
            _part(cells, rival, np.flatnonzero(weight > 0)),
            float(cells.bias[rival]),
        )

    @property
    def position(self) -> Index:
        """The position of each candidate, in order."""
        return self.positive.position

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.negative.unit) + len(self.positive.unit)

    def values(self, paths: Index) -> Values:
        """The cells after the swaps of each path (B, depth)."""
        return self.negative.after(paths), self.positive.after(paths)

    def margins(self, values: Values) -> FloatArray:
        """Exact margins (B,)."""
        low, high = values
        margins: FloatArray = self.negative.features(low) @ self.negative.weight[0]
        margins += self.positive.features(high) @ self.positive.weight[0]
        return margins + self.bias

    def gains(self, values: Values, free: BoolArray, budget: int) -> FloatArray:
        """Gains (B, S) of the additive bound, for a budget of at least 1; infinite where a candidate is not free."""
        gain = raising_gains(self.negative, values[0], free, budget)
        gain += lowering_gains(self.positive, values[1], free, budget)
        return np.where(free, gain, np.inf)

    def singles(self, values: Values, row: Index, candidate: Index) -> FloatArray:
        """Exact change (M,) of the margin of region row[m] by candidate[m] alone."""
        change = single_changes(self.negative, values[0], row, candidate)
        return change + single_changes(self.positive, values[1], row, candidate)


def budget_class(budget: int) -> int:
    """The budget for which a net is reduced: the next power of two, so that few are needed."""
    return 1 << (budget - 1).bit_length() if budget > 1 else budget


def rivals(net: WindowedNet, budget: int) -> list[Rival]:
    """All rivals of a net, exact for sets of at most `budget` candidates."""
    cells = reduce(net, budget_class(budget))
    return [Rival.of(cells, number) for number in range(len(net.bias))]


def _part(cells: Cells, rival: int, units: Index) -> Cells:
    """The net of these units alone."""
    number = np.full(len(cells.floor), -1)
    number[units] = np.arange(len(units))
    kept = np.flatnonzero(number[cells.unit] >= 0)
    moved = np.full(len(cells.unit), -1)
    moved[kept] = np.arange(len(kept))
    effects = np.flatnonzero(moved[cells.cell] >= 0)
    return Cells(
        number[cells.unit[kept]],
        cells.place[kept],
        cells.value[kept],
        cells.floor[units],
        cells.weight[rival : rival + 1, units],
        np.zeros(1),
        cells.position,
        cells.lead,
        cells.width,
        cells.owner[effects],
        moved[cells.cell[effects]],
        cells.change[effects],
        cells.offset[effects],
    )
