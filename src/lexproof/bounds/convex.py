"""Convex functions of one number between a tangent and a chord: the square, and the inverse square root.

A convex function lies above its tangent at any point t, and on [l, u] below its chord, whose slope is
(f(u) - f(l)) / (u - l).  Both need nothing but convexity.  The point t is free; by default it is the middle of the box,
where the tangent is highest: the area below it is its height in the middle times the width.
Slopes are written without the difference of two values: a narrow box loses no digits, and l = u is no special case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from lexproof.bounds.graph import Box, Lines


def _touching(box: Box, slopes: Tensor | None) -> Tensor:
    """The point at the share `slopes` of the box, in the middle by default."""
    if slopes is None:
        return box.low / 2 + box.high / 2
    low, high = box if slopes.ndim == box.low.ndim else (box.low[:, None], box.high[:, None])
    return torch.lerp(low.expand_as(slopes), high.expand_as(slopes), slopes)


class Square:
    """x^2: tangent 2 t x - t^2, chord (l + u) x - l u."""

    name: ClassVar[str] = "square"
    is_linear: ClassVar[bool] = False

    def value(self, *inputs: Tensor) -> Tensor:
        """x^2."""
        return inputs[0].square()

    def interval(self, *boxes: Box) -> Box:
        """From the point of the box nearest to 0 to the larger end."""
        low, high = boxes[0]
        nearest = low.clamp(min=0) + high.clamp(max=0)
        return Box(nearest.square(), torch.maximum(low.square(), high.square()))

    def unsettled(self, *boxes: Box) -> tuple[Tensor, ...]:
        """Wherever the input may move."""
        return (boxes[0].high > boxes[0].low,)

    def slopes(self, *boxes: Box) -> Tensor | None:
        """Where the tangent touches, as a share of the box."""
        return torch.full_like(boxes[0].low, 0.5)

    def relax(self, *boxes: Box, slopes: Tensor | None = None) -> Lines:
        """Tangent and chord."""
        (box,) = boxes
        at = _touching(box, slopes)
        return Lines((2 * at,), -at.square(), (box.low + box.high,), -box.low * box.high)


@dataclass(frozen=True, slots=True)
class InverseRoot:
    """x^(-1/2) of numbers known to be at least `least` > 0.

    Tangent t^(-1/2) (3/2 - x / (2 t)).  Chord: with p = sqrt l and q = sqrt u its slope is
    (1/q - 1/p) / (q^2 - p^2) = -1 / (p q (p + q)), and at x = l it is 1/p.
    What a box says below `least` is cut off: no value lies there.
    """

    name: ClassVar[str] = "inverse square root"
    is_linear: ClassVar[bool] = False
    least: float

    def _inside(self, box: Box) -> Box:
        return Box(box.low.clamp(min=self.least), box.high.clamp(min=self.least))

    def value(self, *inputs: Tensor) -> Tensor:
        """x^(-1/2)."""
        return inputs[0].rsqrt()

    def interval(self, *boxes: Box) -> Box:
        """It falls."""
        low, high = self._inside(boxes[0])
        return Box(high.rsqrt(), low.rsqrt())

    def unsettled(self, *boxes: Box) -> tuple[Tensor, ...]:
        """Wherever the input may move."""
        return (boxes[0].high > boxes[0].low,)

    def slopes(self, *boxes: Box) -> Tensor | None:
        """Where the tangent touches, as a share of the box."""
        return torch.full_like(boxes[0].low, 0.5)

    def relax(self, *boxes: Box, slopes: Tensor | None = None) -> Lines:
        """Tangent and chord."""
        box = self._inside(boxes[0])
        at = _touching(box, slopes)
        root = at.rsqrt()
        p, q = box.low.sqrt(), box.high.sqrt()
        chord = -1 / (p * q * (p + q))
        return Lines((-root / (2 * at),), 1.5 * root, (chord,), 1 / p - chord * box.low)
