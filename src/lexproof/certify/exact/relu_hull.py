"""The additive bound of a margin: the tightest lines in the *choices*, not in the hidden values, over each ReLU.

Let P be the region: at most k of the free candidates, one a position; x_c = 1 if c is chosen; z_h(x) = z_h + sum of
d_hc x_c.  The margin sum_h w_h relu(z_h(x)) + b is bounded below by an additive function, unit by unit:

- hidden >= 0 on all of P (by the exact range: z_h plus the k least or greatest changes), or phase +1: relu(z) = z.
- hidden <= 0 on all of P, or phase -1: relu(z) = 0.
- w_h > 0:  w relu(z) >= e z  for any e in [0, w].
- phase +1 or -1 but the range has both signs: adding  (e - w) z  with e <= w, or  e z  with e >= 0, lowers the margin
  at no point of the region or leaves it as it is, since z >= 0 or z <= 0 there.  So such a unit counts e z.
- w_h < 0 and the range has both signs: for any numbers y_c, with y(x) = sum of y_c x_c,
      relu(z_h(x)) <= A + y(x)   where   A = max( max_P -y(x),  z_h + max_P (d_h - y)(x) ),
  because A + y(x) >= 0 by the first maximum and A + y(x) >= z_h(x) by the second.  Both are sums of the k greatest over
  positions: exact.  Written with 0 <= s_c <= 1 as  y_c = max(d_c, 0) - s_c |d_c|,  the first maximum sees only the
  candidates with d_c < 0, the second only those with d_c > 0.

A line over the ReLU in z alone, the usual triangle, is the case y_c = slope * d_c: one number a unit.  With a number
for each unit and candidate the bound at its best is the concave envelope of the ReLU over P, which equals the ReLU at
every point of P; for many swaps it is tighter by far.  (For boxes and products of simplices without a budget, the
facets of this envelope are known from the literature on mixed-integer models of ReLU networks.)

The bound is concave in (e, s) together, since A is convex in y and the minimum over P of a linear function is concave.
Its minimum over P is  base + the k least over positions of min(0, least gain): exact, so no value of e and s can make
the bound unsound, and ascent may be as careless as it likes.

Rounding: a bound is a sum of at most (H + 2)(k + 2) + S terms in float64; its error is below 1e-12 times the sum of
their absolute values, which `theta` has to exceed by what the caller states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lexproof.certify.exact.additive import Floats, Ints, Rival
from lexproof.certify.exact.region import Columns, Region

_EMPTY = 2e-9  # by which a phase must be out of reach: a unit that rounding puts on either side of 0 has both
_SOFT = 0.002  # share of a unit's range within which its two maxima share the subgradient


class Dual(NamedTuple):
    """The free numbers of a bound: shares s of bent units by candidates, coefficients e of sloped units."""

    free: Ints  # candidates, in the order of the columns of `shares`
    bent: Ints  # units with w < 0 whose range has both signs
    shares: Floats  # (bent, free)
    sloped: Ints  # the other units whose range has both signs
    slopes: Floats  # (sloped,)


@dataclass(slots=True)
class Additive:
    """The bound at some dual values: base + sum of gains over chosen candidates; `value` is its least."""

    value: float
    gains: Floats  # (free,)
    best: Floats  # (places,): min(0, least gain) of each position
    worst: float  # the k-th least of `best`
    chosen: NDArray[np.bool_]  # (free,): a point where it is least (ties may choose more)
    credit: Floats  # (bent, free): shares of the sizes of the changes
    tops: Floats  # (2 bent, places): greatest credit at each position, of falls and of rises
    kth: Floats  # (2 bent,): the k-th greatest of these
    lead: Floats  # (bent,): how much the second maximum is above the first
    height: Floats  # (bent,): the greater of them, A


class HullBound:
    """The bound of one margin over one region with at least one free candidate and a budget of at least 1."""

    def __init__(self, rival: Rival, region: Region) -> None:
        net, weight, phase = rival.net, rival.weight, region.phase
        columns = Columns.of(net.position, region.free)
        self.rival, self.region, self.columns = rival, region, columns
        self.budget = min(region.budget, columns.places)
        self.change = net.change[columns.free]  # (S, H)
        self.low, self.high = self._ranges()
        is_both = (self.low < 0) & (self.high > 0)
        is_on = (self.low >= 0) | (phase > 0)
        self.is_empty = bool(((phase > 0) & (self.high < -_EMPTY) | (phase < 0) & (self.low > _EMPTY)).any())
        self.bent = np.flatnonzero(is_both & (phase == 0) & (weight < 0))
        self.sloped = np.flatnonzero(is_both & ((phase != 0) | (weight > 0)))
        self._settle(np.flatnonzero(is_on & ~(is_both & (phase > 0))))

    def _ranges(self) -> tuple[Floats, Floats]:
        """Least and greatest hidden value of each unit over the region, phases aside: exact."""
        rows = np.ascontiguousarray(self.change.T)
        fall, rise = (self._greatest(self.columns.most(signed)).sum(axis=1) for signed in (-rows, rows))
        return self.region.hidden - fall, self.region.hidden + rise

    def _greatest(self, best: Floats) -> Floats:
        """The k greatest of each row, the least of them first."""
        cut = self.columns.places - self.budget
        return best if not cut else np.partition(best, cut, axis=-1)[..., cut:]

    def _settle(self, on: Ints) -> None:
        """What does not depend on the dual values."""
        weight, hidden, phase = self.rival.weight, self.region.hidden, self.region.phase[self.sloped]
        changes = np.ascontiguousarray(self.change[:, self.bent].T)
        own = weight[self.sloped]
        self.size = np.abs(changes)
        self.is_rise = changes > 0
        self.is_fall = (~self.is_rise).astype(float)  # to multiply by: much quicker than np.where
        self.rise = self.size * self.is_rise
        # where each candidate's greatest credit stands in `tops`, read flat
        rows = np.arange(len(changes))[:, None] + len(changes) * self.is_rise
        self.in_tops = rows * self.columns.places + self.columns.place
        self.force = -weight[self.bent]
        self.least = np.where(phase > 0, -np.inf, 0.0)
        self.most = np.where(phase < 0, np.inf, own)
        self.pace = np.abs(own)
        self.sloped_change = self.change[:, self.sloped]
        self.base = self.rival.bias + float(weight[on] @ hidden[on])
        self.gains = self.change[:, on] @ weight[on] - self.force @ self.rise

    def start(self) -> Dual:
        """The usual lines: the triangle's upper line, and slope 0 or 1 below."""
        low, high = self.low[self.bent, None], self.high[self.bent, None]
        slope = high / (high - low)
        shares = np.where(self.is_rise, 1.0 - slope, slope)
        up = (self.region.hidden[self.sloped] > 0) | (self.region.phase[self.sloped] > 0)
        slopes = np.where(up & (self.region.phase[self.sloped] >= 0), self.rival.weight[self.sloped], 0.0)
        return Dual(self.columns.free, self.bent, shares, self.sloped, slopes)

    def warm(self, parent: Dual) -> Dual:
        """The dual values of a region that contains this one, as far as they apply."""
        own = self.start()
        column = np.empty(len(self.rival.net.position), np.int64)
        column[parent.free] = np.arange(len(parent.free))
        mine, theirs = _common(own.bent, parent.bent)
        own.shares[mine] = parent.shares[theirs[:, None], column[own.free]]
        mine, theirs = _common(own.sloped, parent.sloped)
        own.slopes[mine] = parent.slopes[theirs]
        return own._replace(slopes=np.clip(own.slopes, self.least, self.most))

    def at(self, dual: Dual) -> Additive:
        """The bound at these dual values, which must be in the order of `start()`."""
        credit = dual.shares * self.size
        fall = credit * self.is_fall
        tops = self.columns.most(np.concatenate((fall, credit - fall)))
        greatest = self._greatest(tops)
        sums = greatest.sum(axis=1)
        off, on = sums[: len(credit)], sums[len(credit) :] + self.region.hidden[self.bent]
        gains = self.gains + self.force @ credit + self.sloped_change @ dual.slopes
        best = -self.columns.most(-gains)
        least = -self._greatest(-best)
        worst = float(least.max())
        height = np.maximum(off, on)
        value = self.base + float(dual.slopes @ self.region.hidden[self.sloped] - self.force @ height + least.sum())
        limit = np.where((best <= worst) & (best < 0), best, -np.inf)
        chosen = gains <= limit[self.columns.place]
        kth = greatest.min(axis=1)
        return Additive(value, gains, best, worst, chosen, credit, tops, kth, on - off, height)

    def slope(self, bound: Additive, hidden: Floats) -> tuple[Floats, Floats]:
        """A subgradient at `bound`, divided by |w d| and |w|; `hidden` is that of the chosen point."""
        credit, tops = bound.credit, bound.tops
        span = _SOFT * (self.high - self.low)[self.bent]
        is_on = 1.0 / (1.0 + np.exp(np.clip(-bound.lead / np.maximum(span, 1e-300), -30.0, 30.0)))
        is_on = is_on[:, None]
        cut = np.where((tops >= bound.kth[:, None]) & (tops > 0), tops, np.inf).ravel()[self.in_tops]
        part = (credit >= cut) * (is_on + (1.0 - 2.0 * is_on) * self.is_fall)
        return bound.chosen - part, hidden[self.sloped]

    def upper(self, bound: Additive, mix: Floats) -> Floats:
        """The line A + y above each bent unit's ReLU at a mean of points: (bent,)."""
        above: Floats = bound.height + (self.rise - bound.credit) @ mix
        return above

    def survivors(self, bound: Additive) -> NDArray[np.bool_]:
        """Free candidates c for which the bound over the points that contain c does not exceed theta."""
        total = bound.best[bound.best <= bound.worst]
        # the k least, and ties with the k-th: take k of them in all
        others = float(total.sum()) - (len(total) - self.budget) * bound.worst
        rest = np.where(bound.best <= bound.worst, others - bound.best, others - bound.worst)
        alive: NDArray[np.bool_] = bound.value - others + bound.gains + rest[self.columns.place] <= self.rival.theta
        return alive


def _common(mine: Ints, theirs: Ints) -> tuple[Ints, Ints]:
    """Where numbers that both sorted arrays hold stand in each."""
    place = np.searchsorted(theirs, mine)
    place[place == len(theirs)] = 0
    found = np.flatnonzero(theirs[place] == mine) if len(theirs) else np.zeros(0, np.int64)
    return found, place[found]
