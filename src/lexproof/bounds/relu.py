"""ReLU between lines: above by its chord, below by any line through 0 with a slope in [0, 1]."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from lexproof.bounds.graph import Box, Lines


class Relu:
    """max(x, 0).

    For l <= x <= u with l < 0 < u:
    above: max(x, 0) <= u (x - l) / (u - l), the chord, since a convex function lies below its chord;
    below: max(x, 0) >= a x for every a in [0, 1], since it is at least x and at least 0, so at least a x + (1 - a) 0.
    For l >= 0 it is x, for u <= 0 it is 0, exactly.  The slope a is free; by default 1 if u >= -l, else 0, which makes
    the area between the lines least.
    """

    name: ClassVar[str] = "ReLU"
    is_linear: ClassVar[bool] = False

    def value(self, *inputs: Tensor) -> Tensor:
        """max(x, 0)."""
        return inputs[0].clamp(min=0)

    def interval(self, *boxes: Box) -> Box:
        """It never falls."""
        return Box(boxes[0].low.clamp(min=0), boxes[0].high.clamp(min=0))

    def unsettled(self, *boxes: Box) -> tuple[Tensor, ...]:
        """Where the sign is not known: also where an end is not a number, so that nothing is concluded from it."""
        (box,) = boxes
        return (~(box.low >= 0) & ~(box.high <= 0),)

    def slopes(self, *boxes: Box) -> Tensor | None:
        """The slope below."""
        (box,) = boxes
        return (box.high >= -box.low).to(box.low.dtype)

    def relax(self, *boxes: Box, slopes: Tensor | None = None) -> Lines:
        """The two lines."""
        (box,) = boxes
        (open_,) = self.unsettled(box)
        fires = (box.low >= 0).to(box.low.dtype)
        width = torch.where(open_, box.high - box.low, 1.0)
        above = torch.where(open_, box.high / width, fires)
        if slopes is None:
            slopes = self.slopes(box)
            assert slopes is not None
        elif slopes.ndim > box.low.ndim:
            open_, fires = open_[:, None], fires[:, None]
        below = torch.where(open_, slopes, fires)
        above_at = torch.where(self.unsettled(box)[0], -above * box.low, 0.0)
        return Lines((below,), torch.zeros_like(box.low), (above,), above_at)
