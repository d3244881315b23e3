"""A lower bound of one margin of a perceptron over a region, from the multipliers that a proof tree holds.

A region: swaps are made (hidden layer z), candidates are free, at most b of them may be added (a set K), one for each
position; units of phase +1 have hidden >= 0 at each of its points, units of phase -1 hidden <= 0.  Let d_c be what
candidate c adds to a unit, w the unit's weight in the margin, z(K) = z + sum of d_c over K.  The margin is
bias + sum of w relu(z(K)); each unit is replaced by something that is additive in K and never larger:

1. low >= 0:  w z(K), which is w relu(z(K)).  The same in phase +1 if high <= 0: then z(K) = 0 throughout the region.
2. high <= 0 otherwise:  0.
3. low < 0 < high, phase +1:  e z(K) with e <= w, since z(K) >= 0.     Phase -1:  e z(K) with e >= 0, since z(K) <= 0.
4. low < 0 < high, w >= 0:  e z(K) with 0 <= e <= w, since relu(z) >= z and relu(z) >= 0.
5. low < 0 < high, w < 0:  w (A + y(K)) for any numbers y_c, where A is the greater of max over K of -y(K) and
   z + max over K of (d - y)(K): then A + y(K) is >= 0 and >= z(K) at every K, so it is >= relu(z(K)).

low and high are z plus the least and greatest sums that b candidates can reach.  The multipliers e are moved into their
range, and y_c = max(d_c, 0) - s_c |d_c| is formed from shares s_c between 0 and 1; so none of them can make it unsound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexproof.checker.networks import Perceptron
from lexproof.checker.sums import TOLERANCE, greatest, least
from lexproof.checker.tokens import Index
from lexproof.errors import EvidenceError
from lexproof.points import FloatArray

_STEEP = 1e4  # no slope is larger, so that nothing is lost to rounding


@dataclass(frozen=True, slots=True)
class Margin:
    """The margin of the label over one rival."""

    weight: FloatArray  # (H,)
    bias: float

    def of(self, hidden: FloatArray) -> FloatArray:
        """Its value at hidden layers (..., H)."""
        values: FloatArray = np.maximum(hidden, 0.0) @ self.weight + self.bias
        return values


@dataclass(frozen=True, slots=True)
class Region:
    """See the top of this file; `free` is in rising order."""

    hidden: FloatArray
    free: Index
    budget: int
    phase: NDArray[np.int8]

    def without(self, gone: NDArray[np.bool_]) -> Region:
        """The region without some of its free candidates."""
        return replace(self, free=self.free[~gone])

    def with_phase(self, unit: int, sign: int) -> Region:
        """The part where a unit is on one side of 0."""
        phase = self.phase.copy()
        phase[unit] = sign
        return replace(self, phase=phase)


@dataclass(frozen=True, slots=True)
class Additive:
    """base + sum of gains over the chosen free candidates is at most the margin."""

    base: float
    gains: FloatArray
    position: Index
    budget: int

    @property
    def least(self) -> float:
        """Its least value over the region."""
        return self.base + least(self.gains, self.position, self.budget)

    def least_with(self, at: int) -> float:
        """Its least value over points that contain the free candidate number `at`."""
        other = self.position != self.position[at]
        return self.base + float(self.gains[at]) + least(self.gains[other], self.position[other], self.budget - 1)


class Ranges:
    """What b free candidates can do to each unit."""

    def __init__(self, net: Perceptron, region: Region) -> None:
        self.region = region
        self.change = net.change[region.free].T  # (H, n)
        self.position = net.position[region.free]
        self.low = region.hidden - greatest(-self.change, self.position, region.budget)
        self.high = region.hidden + greatest(self.change, self.position, region.budget)

    @property
    def is_empty(self) -> bool:
        """Whether no point of the region can have its phases.

        By more than rounding: a point at which the unit is 0 must not be taken for empty on both sides.
        """
        phase = self.region.phase
        is_wrong = ((phase > 0) & (self.high < -TOLERANCE)) | ((phase < 0) & (self.low > TOLERANCE))
        return bool(is_wrong.any())

    def bound(self, margin: Margin, multipliers: Any) -> Additive:
        """The bound with these multipliers: {"shares": {unit: [per cent, ...]}, "slopes": {unit: e}}."""
        region, weight = self.region, margin.weight
        is_open = (self.low < 0) & (self.high > 0)
        factor = np.where(~is_open & ((self.low >= 0) | (region.phase > 0)), weight, 0.0)  # cases 1 and 2
        bent = np.flatnonzero(is_open & (region.phase == 0) & (weight < 0))
        sloped = is_open & ((region.phase != 0) | (weight >= 0))
        factor = np.where(sloped, self._slopes(weight, multipliers), factor)  # cases 3 and 4
        gains = factor @ self.change
        base = margin.bias + float(factor @ region.hidden)
        change = self.change[bent]
        y = np.maximum(change, 0.0) - self._shares(bent, multipliers) * np.abs(change)  # case 5
        off = greatest(-y, self.position, region.budget)
        on = region.hidden[bent] + greatest(change - y, self.position, region.budget)
        return Additive(
            base + float(weight[bent] @ np.maximum(off, on)), gains + weight[bent] @ y, self.position, region.budget
        )

    def _slopes(self, weight: FloatArray, multipliers: Any) -> FloatArray:
        """e of each unit, moved into its range; where none is given, the weight in phase +1, else 0."""
        phase = self.region.phase
        slopes = np.where(phase > 0, weight, 0.0)
        given = _table(multipliers, "slopes")
        units = _units(given, len(weight))
        slopes[units] = _numbers(list(given.values()), (len(units),))
        lowest, highest = np.where(phase > 0, -_STEEP, 0.0), np.where(phase < 0, _STEEP, weight)
        return np.minimum(np.maximum(slopes, lowest), highest)

    def _shares(self, bent: Index, multipliers: Any) -> FloatArray:
        """s (bent, n); 0 where none is given."""
        given = _table(multipliers, "shares")
        units = _units(given, len(self.low))
        shares = np.zeros(self.change.shape)
        if units:
            shares[units] = _numbers(list(given.values()), (len(units), self.change.shape[1])) / 100.0
        return np.clip(shares[bent], 0.0, 1.0)


def _table(multipliers: Any, name: str) -> dict[str, Any]:
    table = multipliers.get(name) if type(multipliers) is dict else None
    if type(table) is not dict:
        raise EvidenceError(f"expected a bound with {name} by unit, got something else")
    return table


def _units(table: dict[str, Any], count: int) -> list[int]:
    names = {str(unit): unit for unit in range(count)}
    if unknown := [name for name in table if name not in names]:
        raise EvidenceError(f"expected units from 0 to {count - 1} in a bound, got {unknown[0]!r:.20}")
    return [names[name] for name in table]


def _numbers(values: list[Any], shape: tuple[int, ...]) -> FloatArray:
    try:
        array = np.array(values)
    except ValueError as error:  # rows of different lengths
        raise EvidenceError("expected one multiplier for each free candidate, got rows of different lengths") from error
    if 0 in shape and array.size == 0:
        return np.zeros(shape)
    if array.dtype.kind not in "if" or array.shape != shape or not np.isfinite(array).all():
        raise EvidenceError(f"expected finite multipliers of shape {shape}, got {array.dtype} of shape {array.shape}")
    return array.astype(np.float64)
