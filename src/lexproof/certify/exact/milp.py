"""The ILP paper's model of an additive network: ReLUs by bits.

For each unit whose range [l, u] has both signs a value y and a bit t with  y >= z,  y >= 0,  y <= z - l (1 - t),
y <= u t.  See `milp_bits` for what the answer is worth.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from lexproof.certify.exact import milp_bits
from lexproof.certify.exact.additive import AdditiveNet, Floats, Ints, Rival
from lexproof.certify.exact.region import Region
from lexproof.certify.exact.relu_hull import HullBound
from lexproof.certify.exact.solved import Solved


def minimum_by_milp(
    net: AdditiveNet,
    *,
    theta: float = 0.0,
    time_limit: float | None = None,
    budget: int | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Solved:
    """The smallest number of swaps with some margin_k <= theta, within `budget` if one is given; one model a rival."""
    return milp_bits.fewest_bits(_Described(net, theta), theta, time_limit, budget, clock)


class _Described:
    """Variables after the bits of candidates: y, then t, of the open units."""

    def __init__(self, net: AdditiveNet, theta: float) -> None:
        self.net, self.theta = net, theta
        self.position, self.rivals = net.position, len(net.bias)

    def margin(self, row: int, swaps: Sequence[int]) -> float:
        """The margin over one rival at a point, exactly."""
        return float(self.net.margins(self.net.hidden(swaps))[row])

    def describe(self, row: int, most: int) -> tuple[milp_bits.Rows, Floats, NDArray[np.bool_]]:
        """The model; see `milp_bits.Described`."""
        hull = HullBound(Rival.of(self.net, row, self.theta), Region.whole(self.net, most))
        wider = milp_bits.WIDER * (1.0 + np.maximum(np.abs(hull.low), np.abs(hull.high)))
        low, high = hull.low - wider, hull.high + wider
        units = np.flatnonzero((low < 0) & (high > 0))
        rows = [*self._relus(units, low[units], high[units]), self._margin(row, units, np.flatnonzero(low >= 0))]
        is_bit = np.arange(2 * len(units)) >= len(units)
        return rows, np.concatenate((high[units], np.ones(len(units)))), is_bit

    def _relus(self, units: Ints, low: Floats, high: Floats) -> milp_bits.Rows:
        """y >= z;  y - l t <= z - l;  y <= u t."""
        change, own = csr_array(-self.net.change[:, units].T), self.net.z0[units]
        one, none = csr_array(np.eye(len(units))), csr_array((len(units), len(units)))
        nothing = csr_array((len(units), len(self.position)))
        return [
            (hstack((change, one, none)), own, np.inf),
            (hstack((change, one, csr_array(np.diag(-low)))), -np.inf, own - low),
            (hstack((nothing, one, csr_array(np.diag(-high)))), -np.inf, 0.0),
        ]

    def _margin(self, row: int, units: Ints, on: Ints) -> tuple[csr_array, float, float]:
        """Margin <= theta, theta moved outward; units that are never negative count with their hidden value."""
        weight = self.net.weight[row]
        numbers = np.concatenate((self.net.change[:, on] @ weight[on], weight[units], np.zeros(len(units))))
        fixed = float(self.net.bias[row] + weight[on] @ self.net.z0[on])
        slack = milp_bits.SLACK * (1.0 + float(np.abs(weight).sum()))
        return csr_array(numbers[None]), -np.inf, self.theta + slack - fixed
