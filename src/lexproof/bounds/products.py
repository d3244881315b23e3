"""Products of two bounded numbers between planes."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from lexproof.bounds.graph import Box, Lines


class Product:
    """x y, element by element, of two inputs.

    For a <= x <= A and b <= y <= B:
    (x - a)(y - b) >= 0 and (A - x)(B - y) >= 0 give two planes below, x y >= b x + a y - a b and >= B x + A y - A B;
    (A - x)(y - b) >= 0 and (x - a)(B - y) >= 0 give two above, x y <= b x + A y - A b and <= B x + a y - a B.
    A mean of two planes below is below, of two above is above: its weight is free, for each element and side.
    By default it is 1/2: in the middle of the box all four planes miss x y by the same (A - a)(B - b) / 4.
    If either input is a single number, the planes on both sides are x y itself.
    """

    name: ClassVar[str] = "product"
    is_linear: ClassVar[bool] = False

    def value(self, *inputs: Tensor) -> Tensor:
        """x y."""
        return inputs[0] * inputs[1]

    def interval(self, *boxes: Box) -> Box:
        """The least and the largest corner: x y is linear in each input, so its ends are at corners."""
        x, y = boxes
        corners = torch.stack([x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high])
        return Box(corners.amin(0), corners.amax(0))

    def unsettled(self, *boxes: Box) -> tuple[Tensor, ...]:
        """Where both inputs may move; otherwise the planes are exact."""
        x, y = boxes
        both = (x.high > x.low) & (y.high > y.low)
        return both, both

    def slopes(self, *boxes: Box) -> Tensor | None:
        """The weights of the second plane below and of the second above: (N, 2, *shape)."""
        low = boxes[0].low
        return low.new_full((low.shape[0], 2, *low.shape[1:]), 0.5)

    def relax(self, *boxes: Box, slopes: Tensor | None = None) -> Lines:
        """The two planes."""
        x, y = boxes
        if slopes is None:
            slopes = self.slopes(*boxes)
            assert slopes is not None
        below, above = slopes.unbind(-x.low.ndim)
        if slopes.ndim > x.low.ndim + 1:  # a choice for each form
            x, y = (Box(box.low[:, None], box.high[:, None]) for box in boxes)
        return Lines(
            (_mean(y.low, y.high, below), _mean(x.low, x.high, below)),
            -_mean(x.low * y.low, x.high * y.high, below),
            (_mean(y.low, y.high, above), _mean(x.high, x.low, above)),
            -_mean(x.high * y.low, x.low * y.high, above),
        )


def _mean(first: Tensor, second: Tensor, weight: Tensor) -> Tensor:
    return torch.lerp(first.expand_as(weight), second.expand_as(weight), weight)
