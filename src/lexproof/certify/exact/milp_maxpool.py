"""The mixed-integer model of a one-layer convolution with max-pool: the place of each maximum by bits.

Only one side of each maximum is needed to describe margin <= theta.  A unit h with weight > 0 has  h >= 0  and
h >= z_t  at every place; one with weight < 0 has, for the constant 0 and each place t, a bit p_t, their sum 1, and
h <= z_t + (H - l_t) (1 - p_t)  with H the greatest value of the unit, so h is at most the chosen one.  Then the least
margin of the model over h is that of the point.  Places whose greatest value is below another's least are left out.
See `milp_bits` for what the answer is worth.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lexproof.certify.exact import milp_bits
from lexproof.certify.exact.additive import Floats
from lexproof.certify.exact.cnn_net import WindowedNet
from lexproof.certify.exact.solved import Solved


def minimum_by_milp(
    net: WindowedNet,
    *,
    theta: float = 0.0,
    time_limit: float | None = None,
    budget: int | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Solved:
    """The smallest number of swaps with some margin_k <= theta, within `budget` if one is given; one model a rival."""
    return milp_bits.fewest_bits(_Described(net, theta), theta, time_limit, budget, clock)


class _Place(NamedTuple):
    """What a unit may be equal to: a window's value with its changes by candidate, or the constant 0."""

    value: float
    low: float
    high: float
    change: Floats  # (S,)


class _Described:
    """Variables after the bits of candidates: for each unit its value, then a bit a place if its weight is below 0."""

    def __init__(self, net: WindowedNet, theta: float) -> None:
        self.net, self.theta = net, theta
        self.position, self.rivals = net.position, len(net.bias)

    def margin(self, row: int, swaps: Sequence[int]) -> float:
        """The margin over one rival at a point, exactly."""
        return float(self.net.margins([swaps])[0, row])

    def describe(self, row: int, most: int) -> tuple[milp_bits.Rows, Floats, NDArray[np.bool_]]:
        """The model; see `milp_bits.Described`."""
        rows, weight = _RowList(self.net.candidates), self.net.weight[row]
        heads = []
        for unit, force in enumerate(weight):
            places = _live([self._constant(), *(self._place(t, unit, most) for t in range(len(self.net.z)))])
            greatest = max(place.high for place in places)
            head = rows.variable(greatest, is_bit=False)
            heads.append((head, force))
            if force > 0:
                for place in places:
                    rows.add([(head, 1.0)], -place.change, place.value, np.inf)
                continue
            bits = [rows.variable(1.0, is_bit=True) for _ in places]
            rows.add([(bit, 1.0) for bit in bits], None, 1.0, 1.0)
            for bit, place in zip(bits, places, strict=True):
                room = greatest - place.low
                rows.add([(head, 1.0), (bit, room)], -place.change, -np.inf, place.value + room)
        slack = milp_bits.SLACK * (1.0 + float(np.abs(weight).sum()))
        rows.add(heads, None, -np.inf, self.theta + slack - float(self.net.bias[row]))
        return rows.matrix(), np.array(rows.upper), np.array(rows.is_bit, bool)

    def _constant(self) -> _Place:
        return _Place(0.0, 0.0, 0.0, np.zeros(self.net.candidates))

    def _place(self, place: int, unit: int, most: int) -> _Place:
        """One window, with its exact range for at most so many swaps, widened a little."""
        offset = place - (self.net.position - self.net.lead)
        is_seen = (offset >= 0) & (offset < self.net.width)
        change = np.zeros(self.net.candidates)
        change[is_seen] = self.net.change[is_seen, offset[is_seen], unit]
        value = float(self.net.z[place, unit])
        low, high = (
            value - _greatest(self.net.position, -change, most),
            value + _greatest(self.net.position, change, most),
        )
        wider = milp_bits.WIDER * (1.0 + max(abs(low), abs(high)))
        return _Place(value, low - wider, high + wider, change)


def _greatest(position: NDArray[np.int64], values: Floats, most: int) -> float:
    """The greatest sum of values of at most so many candidates at different positions."""
    _, at = np.unique(position, return_inverse=True)
    best = np.zeros(int(at.max()) + 1)
    np.maximum.at(best, at, values)
    return float(np.sort(best)[::-1][:most].sum())


def _live(places: Sequence[_Place]) -> list[_Place]:
    """The places that may attain the maximum."""
    least = max(place.low for place in places)
    return [place for place in places if place.high >= least]


class _RowList:
    """Rows and variables of a model, one after the other."""

    def __init__(self, candidates: int) -> None:
        self.candidates = candidates
        self.upper: list[float] = []
        self.is_bit: list[bool] = []
        self._cells: list[tuple[int, int, float]] = []
        self._ends: list[tuple[float, float]] = []

    def variable(self, upper: float, *, is_bit: bool) -> int:
        """A further variable between 0 and `upper`; returns its number."""
        self.upper.append(upper)
        self.is_bit.append(is_bit)
        return self.candidates + len(self.upper) - 1

    def add(self, cells: Sequence[tuple[int, float]], changes: Floats | None, least: float, most: float) -> None:
        """least <= sum of the cells + sum of changes over bits of candidates <= most."""
        row = len(self._ends)
        self._cells += [(row, column, float(number)) for column, number in cells]
        if changes is not None:
            self._cells += [(row, int(column), float(changes[column])) for column in np.flatnonzero(changes)]
        self._ends.append((least, most))

    def matrix(self) -> milp_bits.Rows:
        """All rows as one matrix."""
        row, column, number = zip(*self._cells, strict=True)
        shape = (len(self._ends), self.candidates + len(self.upper))
        ends = np.array(self._ends)
        return [(csr_array((number, (row, column)), shape=shape), ends[:, 0], ends[:, 1])]
