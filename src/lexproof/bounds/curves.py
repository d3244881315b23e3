"""Sigmoid and tanh between lines, each with a free point at which its line touches the curve.

Both are one curve: sigmoid(x) = 1/2 + tanh(x / 2) / 2, so lines of tanh give lines of the sigmoid.  And tanh is odd:
the line below it on [l, u] is the line above it on [-u, -l], turned by 180 degrees.  What is left is the line above.

Write f = tanh: rising, convex where x <= 0, concave where x >= 0, with f' = 1 - f^2 falling as |x| grows.

A *chord* has a slope 0 <= k <= f'(u) and the height b = max(f(l) - k l, f(u) - k u).  It is above f on [l, u]:
where x >= 0, f'(x) >= f'(u) >= k up to u, so k x + b - f(x) does not rise there, and at u it is >= 0; where x <= 0, f
is convex and the line is above it at both ends of that part (at l, and at u or, as just seen, at 0), so in between.
A *tangent*, for u > 0 and any t >= 0, has the slope k = f'(t) and the height b = max(f(t) - k t, f(l) - k l).  It is
above f on [l, u]: where x >= 0, f is concave, hence below its tangent at t; where x <= 0, f is convex and the line is
above it at both ends of that part (at l, and at 0, as just seen), so in between.
Either proof holds for every k and t it allows: how well they are computed decides about tightness, not validity.

The least lines: let t* >= 0 be where the tangent passes through (l, f(l)), or l itself if l >= 0.  If t* >= u the chord
through both ends is the least concave function above f, better than any other line at every x.  Else the tangents at
t* <= t <= u are those that no other line beats everywhere: t is free.  By default it is the middle of the box, or t* if
that is larger: the area below the line is its height in the middle times the width, least there.

A *strip* has one slope k for both sides: f(x) - k x is least and largest at the ends or where f'(x) = k, that is at
x = +-artanh(sqrt(1 - k)): the largest of its values at these places, moved into the box, is exact for every k.

Rounding: slopes times widths stay below 3, and heights are sums of such terms, so a line may miss the curve by a few
units of 1e-16; 1e-14 is a safe margin.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from lexproof.bounds.graph import Box, Lines

_NEWTON_STEPS = 2
_SATURATED = 20.0  # tanh is 1 in float64 from 19.1 on
_BELOW_ONE = 1 - 2.0**-53
_NARROW = 1e-4  # in narrower boxes a secant's slope may be mostly rounding; the derivative in the middle serves as well


class _Line(NamedTuple):
    slope: Tensor
    height: Tensor  # at 0


class Strip(NamedTuple):
    """|curve(x) - slope x - height| <= error inside a box."""

    slope: Tensor
    height: Tensor
    error: Tensor


class Tanh:
    """tanh(x)."""

    name: ClassVar[str] = "tanh"
    is_linear: ClassVar[bool] = False

    def value(self, *inputs: Tensor) -> Tensor:
        """tanh(x)."""
        return inputs[0].tanh()

    def interval(self, *boxes: Box) -> Box:
        """It rises."""
        return Box(boxes[0].low.tanh(), boxes[0].high.tanh())

    def unsettled(self, *boxes: Box) -> tuple[Tensor, ...]:
        """Wherever the input may move."""
        return (boxes[0].high > boxes[0].low,)

    def slopes(self, *boxes: Box) -> Tensor | None:
        """Where the lines below and above touch, from the first point (0) to the box's end (1): (N, 2, *shape)."""
        low, high = boxes[0]
        return _middle_share(torch.stack([-high, low], 1), torch.stack([-low, high], 1))

    def relax(self, *boxes: Box, slopes: Tensor | None = None) -> Lines:
        """The two lines."""
        low, high = boxes[0]
        below, above = _lines(low, high, slopes)
        return Lines((below.slope,), -below.height, (above.slope,), above.height)

    def strip(self, box: Box) -> Strip:
        """Two parallel lines that the curve lies between."""
        return _strip(*box)


class Sigmoid:
    """1 / (1 + exp(-x)) = 1/2 + tanh(x / 2) / 2."""

    name: ClassVar[str] = "sigmoid"
    is_linear: ClassVar[bool] = False

    def value(self, *inputs: Tensor) -> Tensor:
        """1 / (1 + exp(-x))."""
        return inputs[0].sigmoid()

    def interval(self, *boxes: Box) -> Box:
        """It rises."""
        return Box(boxes[0].low.sigmoid(), boxes[0].high.sigmoid())

    def unsettled(self, *boxes: Box) -> tuple[Tensor, ...]:
        """Wherever the input may move."""
        return (boxes[0].high > boxes[0].low,)

    def slopes(self, *boxes: Box) -> Tensor | None:
        """As for tanh(x / 2)."""
        low, high = boxes[0]
        return Tanh().slopes(Box(low / 2, high / 2))

    def relax(self, *boxes: Box, slopes: Tensor | None = None) -> Lines:
        """Half the lines of tanh at x / 2, raised by 1/2."""
        low, high = boxes[0]
        below, above = _lines(low / 2, high / 2, slopes)
        return Lines((below.slope / 4,), (1 - below.height) / 2, (above.slope / 4,), (1 + above.height) / 2)

    def strip(self, box: Box) -> Strip:
        """Two parallel lines that the curve lies between: half of those of tanh at x / 2, raised by 1/2."""
        slope, height, error = _strip(box.low / 2, box.high / 2)
        return Strip(slope / 4, (1 + height) / 2, error / 2)


def _lines(low: Tensor, high: Tensor, slopes: Tensor | None) -> tuple[_Line, _Line]:
    """The line below tanh, with its height negated, and the line above: both sides in one computation."""
    shares = None
    if slopes is not None:
        shares = torch.stack(slopes.unbind(-low.ndim))
        if shares.ndim > low.ndim + 1:  # a choice for each form
            low, high = low[:, None], high[:, None]
    both = _above(torch.stack([-high, low]), torch.stack([-low, high]), shares)
    return _Line(both.slope[0], both.height[0]), _Line(both.slope[1], both.height[1])


def _above(low: Tensor, high: Tensor, share: Tensor | None) -> _Line:
    """A line above tanh on [low, high] that touches it at `share` of the way from the first point to the end."""
    first = _first_touch(low)
    has_tangent = high > first
    at = torch.maximum(first, low / 2 + high / 2) if share is None else first + share * (high - first)
    at = torch.where(has_tangent, at, 0.0)
    tangent = _derivative(at)
    touching = torch.maximum(at.tanh() - tangent * at, low.tanh() - tangent * low)
    chord = _chord(low, high)
    return _Line(torch.where(has_tangent, tangent, chord.slope), torch.where(has_tangent, touching, chord.height))


def _chord(low: Tensor, high: Tensor) -> _Line:
    start, end = low.tanh(), high.tanh()
    slope = torch.minimum(_secant(low, high), _derivative(high))
    return _Line(slope, torch.maximum(start - slope * low, end - slope * high))


def _secant(low: Tensor, high: Tensor) -> Tensor:
    is_narrow = high - low < _NARROW
    secant = (high.tanh() - low.tanh()) / torch.where(is_narrow, 1.0, high - low)
    return torch.where(is_narrow, _derivative(low / 2 + high / 2), secant)


def _strip(low: Tensor, high: Tensor) -> Strip:
    """The secant's slope, which is best where the curve bends one way, and the exact range of what it leaves."""
    slope = _secant(low, high).clamp(0, 1)
    turn = torch.atanh((1 - slope).sqrt().clamp(max=_BELOW_ONE))
    places = torch.stack([low, high, turn.clamp(low, high), (-turn).clamp(low, high)])
    left = places.tanh() - slope * places
    least, most = left.amin(0), left.amax(0)
    return Strip(slope, least / 2 + most / 2, most / 2 - least / 2)


def _derivative(at: Tensor) -> Tensor:
    return 1 - at.tanh().square()


def _middle_share(low: Tensor, high: Tensor) -> Tensor:
    """Where the middle of the box lies between the first point of touch and its end, as a share; 0 if before it."""
    first = _first_touch(low)
    room = high - first
    return torch.where(room > 0, (low / 2 + high / 2 - first) / torch.where(room > 0, room, 1.0), 0.0).clamp(0, 1)


def _first_touch(low: Tensor) -> Tensor:
    """The least t >= 0 whose tangent is not below the curve at `low`: low itself if that is >= 0.  About 1e-8 exact.

    For l < 0 it is the zero of h(t) = f(t) + f'(t) (l - t) - f(l), which rises on t >= 0, since h' = f''(t) (l - t).
    In logarithms, q(t) = log((f(t) - f(l)) / f'(t)) - log(t - l), it is nearly a straight line: two steps of Newton's
    method from a start that is right for l near 0 (-l / 2) and for large -l (log(-2 l) / 2) find its zero.
    The derivative of t* by l is (f'(l) - f'(t*)) / h'(t*), between -1/2 and 0.
    """
    with torch.no_grad():
        far = (-low).clamp(min=0)
        most, end = far.clamp(max=_SATURATED), -far.tanh()
        at = torch.minimum(torch.log1p(far + far * (far / (1 + far))) / 2, most)
        for _ in range(_NEWTON_STEPS):
            height = at.tanh()
            rise, slope = height - end, 1 - height.square()
            step = torch.log(rise / (slope * (at + far))) / (slope / rise + 2 * height - 1 / (at + far))
            at = torch.minimum((at - torch.where(step.isfinite(), step, 0.0)).clamp(min=0), most)
        if not low.requires_grad:
            return torch.where(low < 0, at, low)
        rise = 2 * at.tanh() * _derivative(at) * (at + far)
        by_low = ((_derivative(far) - _derivative(at)) / rise.clamp(min=1e-12)).clamp(-0.5, 0.0)
    return torch.where(low < 0, at + by_low * (low - low.detach()), low)
