"""Cells: the few places that can decide a unit's maximum when at most k words are swapped.

With a budget of k swaps most places of a long text can never hold a unit's maximum.  `reduce` finds them and drops
them; what is left is the same function on every set of at most k swaps, about a hundredth of the size.

Two facts about unit f and every set K of at most k swaps.  Let fall_q(t) be the most that q swaps can take from place
t, and rise_k(t) the most that k swaps can add to it: sums of the q (k) largest effects over the positions it sees.

- Floor.  Take floor(k / (q + 1)) + 1 places of which no two see the same position.  Each swap is seen by at most one
  of them, so one of them sees at most q swaps, or there would be more than k.  Hence h_f(K) is at least the least of
  z_t - fall_q(t) over these places.  q = k is a single place, q = 0 takes k + 1 places that cannot all be hit.
- Ceiling.  z_t(K) <= z_t + rise_k(t).  A place whose ceiling is not above the floor never decides: it is dropped.

So h_f(K) = max(floor_f, max over kept t of z_t(K)), exactly.  A unit without kept places is the constant floor_f.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lexproof.certify.exact.cnn_net import Index, WindowedNet
from lexproof.points import BoolArray, FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """P cells, each a unit at a place, in order of units; U units that vary; E effects of candidates on cells.

    h_u(K) = max(floor[u], max over cells p of u of value[p] + sum of effects of K on p),  margin = weight . h + bias.
    """

    unit: Index  # (P,) of each cell
    place: Index  # (P,)
    value: FloatArray  # (P,) of the text itself
    floor: FloatArray  # (U,)
    weight: FloatArray  # (K, U)
    bias: FloatArray  # (K,)
    position: Index  # (S,) of each candidate, in order
    lead: int  # as in the net: candidate c touches the places position[c] - lead … position[c] - lead + width - 1
    width: int
    owner: Index  # (E,) candidate of each effect, in order of candidates, then of cells
    cell: Index  # (E,)
    change: FloatArray  # (E,)
    offset: Index  # (E,) of the place among those that the candidate touches: effects of one position share it
    first: Index = field(init=False)  # (U,) first cell of each unit
    start: Index = field(init=False)  # (S + 1,) effects of each candidate
    group: Index = field(init=False)  # (G,) first effect of each candidate on each unit
    groups: Index = field(init=False)  # (S + 1,) groups of each candidate
    turned: Index = field(init=False)  # (E,) effects in order of cells, then of candidates
    begin: Index = field(init=False)  # (P + 1,) turned effects of each cell
    rise: FloatArray = field(init=False)  # (P, W) the most that 1, 2, … W swaps can add to each cell
    fall: FloatArray = field(init=False)  # (P, W) … and take from it

    def __post_init__(self) -> None:
        unit = self.unit[self.cell]
        fresh = np.ones(len(unit), np.bool_)
        fresh[1:] = (np.diff(self.owner) != 0) | (np.diff(unit) != 0)
        group = np.flatnonzero(fresh)
        start = np.searchsorted(self.owner, np.arange(len(self.position) + 1))
        turned = np.argsort(self.cell, kind="stable")
        made = {
            "first": np.searchsorted(self.unit, np.arange(len(self.floor))),
            "start": start,
            "group": group,
            "groups": np.searchsorted(group, start),
            "turned": turned,
            "begin": np.searchsorted(self.cell[turned], np.arange(len(self.unit) + 1)),
            "rise": self._most(self.change),
            "fall": self._most(-self.change),
        }
        for name, array in made.items():
            object.__setattr__(self, name, array)

    def _most(self, change: FloatArray) -> FloatArray:
        most = np.zeros((len(self.unit), self.width))
        np.maximum.at(most, (self.cell, self.offset), change)
        return np.asarray(np.cumsum(-np.sort(-most, axis=1), axis=1))

    def features(self, values: FloatArray) -> FloatArray:
        """h (B, U) of cells with these values (B, P)."""
        if not len(self.first):
            return np.zeros((len(values), 0))
        return np.maximum(np.maximum.reduceat(values, self.first, axis=1), self.floor)

    def after(self, paths: Index) -> FloatArray:
        """The values (B, P) of the cells after the candidates of each path (B, depth)."""
        values = np.repeat(self.value[None], len(paths), axis=0)
        for column in paths.T:
            effect, row = spread(self.start, column)
            values[row, self.cell[effect]] += self.change[effect]
        return values


def spread(start: Index, chosen: Index) -> tuple[Index, Index]:
    """All numbers of the runs start[c] … start[c + 1] - 1 of these c, and which c (by rank) each belongs to."""
    counts = start[chosen + 1] - start[chosen]
    rank = np.repeat(np.arange(len(chosen)), counts)
    before = np.cumsum(counts) - counts
    return np.arange(len(rank)) + (start[chosen] - before)[rank], rank


def sums(rank: Index, parts: FloatArray, count: int) -> FloatArray:
    """The sum (count,) of the parts of each rank."""
    return np.bincount(rank, parts, count).astype(np.float64, copy=False)


def top_sum(parts: FloatArray, count: int) -> FloatArray:
    """Sum of the `count` largest along axis 1, of numbers that are never negative."""
    if count >= parts.shape[1]:
        total: FloatArray = parts.sum(axis=1)
        return total
    if count == 0:
        return np.zeros((parts.shape[0], *parts.shape[2:]))
    best: FloatArray = np.partition(parts, parts.shape[1] - count, axis=1)[:, -count:].sum(axis=1)
    return best


def reduce(net: WindowedNet, budget: int) -> Cells:
    """The cells that decide when at most `budget` candidates are swapped."""
    rise, fall = _ranges(net)
    floor = _floor(net.z, fall, budget, net.width)
    kept: BoolArray = net.z + top_sum(rise, budget) > floor
    place, unit = np.nonzero(kept)
    by_unit = np.lexsort((place, unit))
    place, unit = place[by_unit], unit[by_unit]
    varying, number = np.unique(unit, return_inverse=True)
    constant = np.ones(len(floor), np.bool_)
    constant[varying] = False
    return Cells(
        number,
        place,
        net.z[place, unit],
        floor[varying],
        net.weight[:, varying],
        net.bias + net.weight[:, constant] @ floor[constant],
        net.position,
        net.lead,
        net.width,
        *_effects(net, place, unit),
    )


def _ranges(net: WindowedNet) -> tuple[FloatArray, FloatArray]:
    """The most that each place (L, W, F) can gain and lose by the position that it sees at each offset."""
    places, units = net.z.shape
    rise, fall = np.zeros((2, places, net.width, units))
    if not net.candidates:
        return rise, fall
    opened, begin = np.unique(net.position, return_index=True)
    high, low = np.maximum.reduceat(net.change, begin, axis=0), np.minimum.reduceat(net.change, begin, axis=0)
    for offset in range(net.width):
        at = opened - net.lead + offset
        seen = (at >= 0) & (at < places)
        rise[at[seen], offset] = np.maximum(high[seen, offset], 0.0)
        fall[at[seen], offset] = np.maximum(-low[seen, offset], 0.0)
    return rise, fall


def _floor(z: FloatArray, fall: FloatArray, budget: int, width: int) -> FloatArray:
    """The floor of each unit (F,): the best over q of the first fact above, places picked greedily."""
    floor = np.zeros(z.shape[1])
    for q in range(min(budget, width) + 1):
        least = z - top_sum(fall, q)
        picks = 1 if q == width else budget // (q + 1) + 1
        np.maximum(floor, _nth_apart(least, picks, width), out=floor)
    return floor


def _nth_apart(least: FloatArray, picks: int, width: int) -> FloatArray:
    """Value (F,) of the last of `picks` places (of axis 0) picked from the largest on, `width` apart; -inf if none."""
    left = least.copy()
    units = np.arange(left.shape[1])
    near = np.arange(1 - width, width)[:, None]
    for pick in range(picks):
        if not len(left):
            return np.full(len(units), -np.inf)
        best = left.argmax(axis=0)
        value: FloatArray = left[best, units]
        if pick < picks - 1:
            left[np.clip(best + near, 0, len(left) - 1), units] = -np.inf
    return value


def _effects(net: WindowedNet, place: Index, unit: Index) -> tuple[Index, Index, FloatArray, Index]:
    """Owner, cell, change and offset of each effect, also of those that are 0."""
    bounds = np.searchsorted(net.position, np.arange(len(net.z) + net.lead + 1))
    found: list[tuple[Index, Index, FloatArray, Index]] = []
    for offset in range(net.width):
        at = place + net.lead - offset
        cell = np.flatnonzero(at >= 0)
        owner, rank = spread(bounds, at[cell])
        cell = cell[rank]
        found.append((owner, cell, net.change[owner, offset, unit[cell]], np.full(len(cell), offset)))
    owner, cell, change, offsets = (np.concatenate(parts) for parts in zip(*found, strict=True))
    sort = np.lexsort((cell, owner))
    return owner[sort], cell[sort], change[sort], offsets[sort]
