"""The cells, places of units, that can decide a maximum when at most r words are swapped; the rest is left out.

For a unit and any set of at most r swaps:

- Ceiling: a place never exceeds its value plus the r greatest rises over the positions that it sees.
- Floor: choose m places of which no two see the same position, and q with m (q + 1) > r.  If each of them saw more than
  q swaps, there would be m (q + 1) of them or more; so one sees at most q, and the maximum is at least the least, over
  the m places, of value less the q greatest falls.  Any such choice is sound; a greedy one is made.  0 is one, too.

A place whose ceiling does not exceed the floor never decides: the maximum is that of the floor and the other places.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lexproof.checker.networks import Convolution
from lexproof.checker.tokens import Index
from lexproof.points import FloatArray


@dataclass(frozen=True, slots=True)
class Cells:
    """P cells of U units; an effect is what one candidate adds to one cell."""

    unit: Index  # (P,)
    place: Index  # (P,)
    value: FloatArray  # (P,) of the text itself
    floor: FloatArray  # (U,)
    candidate: Index  # (E,)
    cell: Index  # (E,)
    offset: Index  # (E,) from the candidate's position to the cell's place: two positions seen by a cell differ in it
    change: FloatArray  # (E,)
    width: int  # number of offsets
    position: Index  # (S,) of each candidate
    fall: FloatArray  # (P, W) the most that a candidate takes from each cell, by offset; never negative

    def maxima(self, values: FloatArray) -> FloatArray:
        """The maximum (U,) of each unit whose cells have these values."""
        maxima = self.floor.copy()
        np.maximum.at(maxima, self.unit, values)
        return maxima


def top(parts: FloatArray, count: int, axis: int) -> FloatArray:
    """The sum of the `count` greatest along an axis, of numbers that are not negative."""
    ordered = np.flip(np.sort(parts, axis=axis), axis=axis)
    sums: FloatArray = np.take(ordered, range(min(count, parts.shape[axis])), axis=axis).sum(axis=axis)
    return sums


def reach(cells: int, width: int, cell: Index, offset: Index, change: FloatArray) -> FloatArray:
    """The greatest of some changes at each cell and offset, never negative: (P, W)."""
    most = np.zeros((cells, width))
    np.maximum.at(most, (cell, offset), change)
    return most


def cells_of(net: Convolution, radius: int) -> Cells:
    """The cells that matter for at most `radius` swaps."""
    rise, fall = _reach(net, net.change), _reach(net, -net.change)
    width = net.change.shape[1]
    floor = np.zeros(net.start.shape[1])
    for q in range(min(radius, width) + 1):
        safe = net.start - top(fall, q, axis=1)
        apart = 1 if q == width else radius // (q + 1) + 1  # nothing sees more swaps than positions
        orders = np.argsort(-safe, axis=0, kind="stable").T
        places = np.arange(len(safe))
        floor = np.maximum(
            floor, [spread_out(own, order, places, apart, width) for own, order in zip(safe.T, orders, strict=True)]
        )
    place, unit = np.nonzero(net.start + top(rise, radius, axis=1) > floor)
    number = np.full(net.start.shape, -1)
    number[place, unit] = np.arange(len(place))
    found: list[tuple[Index, Index, Index, FloatArray]] = []
    for o in range(width):
        at = net.position + net.first + o
        inside = np.flatnonzero((at >= 0) & (at < len(net.start)))
        row, units = np.nonzero(number[at[inside]] >= 0)
        candidate = inside[row]
        change = net.change[candidate, o, units]
        found.append((candidate, number[at[candidate], units], np.full(len(row), o), change))
    candidate, cell, offset, change = (np.concatenate(parts) for parts in zip(*found, strict=True))
    least = reach(len(unit), width, cell, offset, -change)
    value = net.start[place, unit]
    return Cells(unit, place, value, floor, candidate, cell, offset, change, width, net.position, least)


def spread_out(safe: FloatArray, order: Index, place: Index, count: int, width: int) -> float:
    """The least of `count` values at places of which no two see the same position, chosen one by one in this order.

    Minus infinity if there are not so many.
    """
    taken: list[int] = []
    for at in order.tolist():
        if all(abs(int(place[at]) - other) >= width for other in taken):
            taken.append(int(place[at]))
            if len(taken) == count:
                return float(safe[at])
    return -np.inf


def _reach(net: Convolution, change: FloatArray) -> FloatArray:
    """The most that a candidate at each offset adds to each place: (L, W, U), never negative."""
    most = np.zeros((len(net.start), change.shape[1], change.shape[2]))
    for c, position in enumerate(net.position.tolist()):
        for o in range(change.shape[1]):
            t = position + net.first + o
            if 0 <= t < len(most):
                most[t, o] = np.maximum(most[t, o], change[c, o])
    return most
