"""GELU between lines, exact and by tanh.

Write f(x) = x/2 + e(x).  Then e is even: x/2 erf(x / sqrt 2) for the exact form, x/2 tanh(s(x)) with
s(x) = k (x + c x^3), k = sqrt(2 / pi), c = 0.044715 for the other.  Lines of e plus x/2 are lines of f.

Shape, for both forms: e is convex on [-a, a] and concave on [a, inf) and on (-inf, -a].
- Exact: e'' = (2 - x^2) exp(-x^2 / 2) / sqrt(2 pi), so a = sqrt 2.
- By tanh: e'' = k (1 - tanh^2 s) ((1 + 6 c x^2) - k x (1 + 3 c x^2)^2 tanh s).  For x > 0 the last bracket is
  (1 + 6 c x^2) (1 - R), R = k x tanh(s) (1 + 9 c^2 x^4 / (1 + 6 c x^2)), and R rises from 0 without limit, as each of
  its factors rises: one change of sign, at a.
On [a, inf) e' falls towards its limit 1/2, so e' >= 1/2 there, and e' <= -1/2 on (-inf, -a], e' being odd.
Hence f' = 1/2 + e' is <= 0 left of -a, rises on [-a, a] and is > 0 right of a: f falls up to one point, then rises.

Above e on [l, u], with the slope m and the height b at 0:
- *right tangent*, for u > a, at any t with max(l, a) <= t <= u: m = e'(t), b = max(e(t) - m t, e(l) - m l).
  On the part right of a, e is concave, so below its tangent at t.  If l < -a: on [l, -a] e - m x falls, as
  e' <= 0 < m, so it is at most its value at l, which is at most b.  On what is left e is convex, and the line is above
  it at both ends.
- *left tangent*: the mirror image (e is even).
- *chord*, where there is no tangent that passes above the other end: m = (e(u) - e(l)) / (u - l).  No right tangent
  means u <= a, or m <= e'(u): then on [a, u] e' >= e'(u) >= m, so e - m x rises to its value at u.  Likewise at the
  left it falls from its value at l.  On the convex part in between the line is above at both ends.
Below e:
- *tangent* at any t of [-a, a] in the box: m = e'(t), b = min(e(t) - m t, e(l) - m l, e(u) - m u).  On the convex part
  e is above its tangent; on a concave part e - m x is least at an end, +-a (just seen), l or u.
- *chord*, where every such tangent passes above an end.  Say that is u > a (the other is its mirror image); T(t) =
  e(u) - e(t) - e'(t) (u - t) falls on [-a, a], as T' = -e'' (u - t), and T(0) = e(u) - e(0) >= 0.  So T(l) < 0 <= T(0)
  means l > 0, and m < e'(l), or l >= a.  On the convex part e' >= e'(l) > m, so e - m x rises from its value at l; on
  the concave part it is least at the ends.
The heights hold for any t, so searching t by bisection costs tightness only; a chord taken within 1e-7 of the border
between chord and tangent misses e by less than 1e-14.  Rounding: below 1e-14 times the largest |x|.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from lexproof.bounds.graph import Box, Lines

_BISECTIONS = 24
_FLAT = 40.0  # e' is +-1/2 in float64 beyond
_K, _C = math.sqrt(2 / math.pi), 0.044715
_NARROW = 1e-7  # below this width a secant's slope is mostly rounding: the derivative in the middle serves as well


class _Line(NamedTuple):
    slope: Tensor
    height: Tensor  # at 0


class _Ends(NamedTuple):
    """The curve at both ends of a box, and the slope between them."""

    start: Tensor
    end: Tensor
    chord: Tensor


class _Gelu:
    """What both forms share; a subclass has `_curve`, where it bends (a) and where f is least."""

    name: ClassVar[str] = "GELU"
    is_linear: ClassVar[bool] = False
    _bend: ClassVar[float]
    _least: ClassVar[float]

    def _curve(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """e(x) and e'(x)."""
        raise NotImplementedError

    def value(self, *inputs: Tensor) -> Tensor:
        """x/2 + e(x)."""
        return inputs[0] / 2 + self._curve(inputs[0])[0]

    def interval(self, *boxes: Box) -> Box:
        """It falls, then rises: the larger end, and the point of the box nearest to where it turns."""
        low, high = boxes[0]
        turn = torch.minimum(torch.maximum(torch.full_like(low, self._least), low), high)
        return Box(self.value(turn), torch.maximum(self.value(low), self.value(high)))

    def unsettled(self, *boxes: Box) -> tuple[Tensor, ...]:
        """Wherever the input may move."""
        return (boxes[0].high > boxes[0].low,)

    def slopes(self, *boxes: Box) -> Tensor | None:
        """Where the lines below and above touch, as shares of the points they may touch at: (N, 2, *shape)."""
        low, high = boxes[0]
        middle = low / 2 + high / 2
        first, last = self._touch_below(low, high)
        right, left = self._touch_above(low, high)
        above = torch.where(right <= high, _share(middle, right, high), _share(-middle, left, -low))
        return torch.stack([_share(middle, first, last), above], 1)

    def relax(self, *boxes: Box, slopes: Tensor | None = None) -> Lines:
        """The two lines."""
        low, high = boxes[0]
        if slopes is None:
            below, above = None, None
        else:
            below, above = slopes.unbind(-low.ndim)
            if slopes.ndim > low.ndim + 1:  # a choice for each form
                low, high = low[:, None], high[:, None]
        ends = self._ends(low, high)
        under, over = self._below(low, high, below, ends), self._above(low, high, above, ends)
        return Lines((under.slope + 0.5,), under.height, (over.slope + 0.5,), over.height)

    def _ends(self, low: Tensor, high: Tensor) -> _Ends:
        start, end = self._curve(low)[0], self._curve(high)[0]
        is_narrow = high - low < _NARROW
        secant = (end - start) / torch.where(is_narrow, 1.0, high - low)
        return _Ends(start, end, torch.where(is_narrow, self._curve(low / 2 + high / 2)[1], secant))

    # ------------------------------------------------------------------ below

    def _below(self, low: Tensor, high: Tensor, share: Tensor | None, ends: _Ends) -> _Line:
        first, last = self._touch_below(low, high)
        at = _between(first, last, share, low / 2 + high / 2)
        height, rise = self._curve(at)
        slope = torch.where(first <= last, rise, ends.chord)
        least = torch.minimum(ends.start - slope * low, ends.end - slope * high)
        return _Line(slope, torch.where(first <= last, torch.minimum(least, height - slope * at), least))

    def _touch_below(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        """The first and last point whose tangent is below both ends; first > last if there is none."""
        left, right = self._last_touch(torch.stack([-low, high]))
        return (
            torch.where(low < -self._bend, torch.maximum(low, -left), low),
            torch.where(high > self._bend, torch.minimum(high, right), high),
        )

    @torch.no_grad()
    def _last_touch(self, end: Tensor) -> Tensor:
        """For an end > a, the last t of [0, a] whose tangent is not above the curve there: T(t) >= 0, T falling."""
        good, bad = torch.zeros_like(end), torch.full_like(end, self._bend)
        height, _ = self._curve(end)
        for _ in range(_BISECTIONS):
            t = (good + bad) / 2
            own, rise = self._curve(t)
            is_good = height - own >= rise * (end - t)
            good, bad = torch.where(is_good, t, good), torch.where(is_good, bad, t)
        return good

    # ------------------------------------------------------------------ above

    def _above(self, low: Tensor, high: Tensor, share: Tensor | None, ends: _Ends) -> _Line:
        right, left = self._touch_above(low, high)
        middle = low / 2 + high / 2
        at = torch.where(right <= high, _between(right, high, share, middle), -_between(left, -low, share, -middle))
        touches = (right <= high) | (left <= -low)
        height, rise = self._curve(at)
        slope = torch.where(touches, rise, ends.chord)
        most = torch.maximum(ends.start - slope * low, ends.end - slope * high)
        return _Line(slope, torch.where(touches, torch.maximum(most, height - slope * at), most))

    def _touch_above(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        """The first points of right tangents and, in the mirror, of left ones; infinite if there is none."""
        right, left = self._first_touch(torch.stack([low, -high]), torch.stack([high, -low]))
        return right, left

    @torch.no_grad()
    def _first_touch(self, low: Tensor, high: Tensor) -> Tensor:
        """The first t >= max(low, a) whose tangent is not below the curve at `low`; infinite if it is not <= high.

        e(t) + e'(t) (l - t) - e(l) rises with t >= a, since its derivative is e''(t) (l - t).
        """
        a, (start, _) = self._bend, self._curve(low)
        bad, good = low.clamp(min=a), torch.maximum(low.clamp(min=a), high)
        height, rise = self._curve(good)
        found = (high > a) & ((low >= a) | (height + rise * (low - good) >= start))
        for _ in range(_BISECTIONS):
            t = (good + bad) / 2
            height, rise = self._curve(t)
            is_good = height + rise * (low - t) >= start
            good, bad = torch.where(is_good, t, good), torch.where(is_good, bad, t)
        return torch.where(found, torch.where(low >= a, low, good), math.inf)


class Gelu(_Gelu):
    """x Phi(x), Phi the normal distribution function."""

    _bend: ClassVar[float] = math.sqrt(2.0)
    _least: ClassVar[float] = -0.7517915246935645

    def _curve(self, x: Tensor) -> tuple[Tensor, Tensor]:
        share = torch.erf(x / math.sqrt(2.0)) / 2
        return x * share, share + x * torch.exp(-x.square() / 2) / math.sqrt(2 * math.pi)


class TanhGelu(_Gelu):
    """x/2 (1 + tanh(k (x + c x^3)))."""

    name: ClassVar[str] = "GELU by tanh"
    _bend: ClassVar[float] = 1.4185040087908284
    _least: ClassVar[float] = -0.7524614220710163

    def _curve(self, x: Tensor) -> tuple[Tensor, Tensor]:
        near = x.clamp(-_FLAT, _FLAT)  # tanh is +-1 beyond, and powers would overflow
        square = near.square()
        share = torch.tanh(_K * near * (1 + _C * square)) / 2
        return x * share, share + near * _K * (1 + 3 * _C * square) * (0.5 - 2 * share.square())


def _between(first: Tensor, last: Tensor, share: Tensor | None, middle: Tensor) -> Tensor:
    """The point at this share of the way, or the one nearest to the middle; 0 if there is none."""
    is_open = first <= last
    start, stop = torch.where(is_open, first, 0.0), torch.where(is_open, last, 0.0)
    if share is None:
        return torch.minimum(torch.maximum(middle, start), stop)
    return start + share * (stop - start)


def _share(middle: Tensor, first: Tensor, last: Tensor) -> Tensor:
    """Where the point nearest to the middle lies between two points; 1/2 if there is nothing between them."""
    room = last - first
    is_open = room > 0
    return torch.where(is_open, (middle - first) / torch.where(is_open, room, 1.0), 0.5).clamp(0, 1)
