"""ReLU between lines: above by its chord, below by any line through 0 with a slope in [0, 1]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from lexproof.bounds.graph import Box, Pulled, inner


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

    def relax(self, *boxes: Box, slopes: Tensor | None = None) -> ReluLines:
        """The two lines."""
        (box,) = boxes
        (open_,) = self.unsettled(box)
        fires = (box.low >= 0).to(box.low.dtype)
        width = torch.where(open_, box.high - box.low, 1.0)
        above = torch.where(open_, box.high / width, fires)
        if slopes is None:
            slopes = self.slopes(box)
            assert slopes is not None
        above_at = torch.where(open_, -above * box.low, 0.0)
        if slopes.ndim > box.low.ndim:
            open_, fires, above = open_[:, None], fires[:, None], above[:, None]
        below = torch.where(open_, slopes, fires)
        return ReluLines(below, above - below, above_at)


@dataclass(frozen=True, slots=True, eq=False)
class ReluLines:
    """below * x <= max(x, 0) <= (below + more) * x + above_at.

    Slopes are (N, *shape) or, with slopes of their own for each form, (N, S, *shape).
    """

    below: Tensor
    more: Tensor
    above_at: Tensor  # (N, *shape)

    def pull(self, form: Tensor) -> Pulled:
        """A positive coefficient takes the line below, a negative one the line above."""
        down = form.clamp(max=0)
        has_own = self.below.ndim == form.ndim
        below, more = (self.below, self.more) if has_own else (self.below[:, None], self.more[:, None])
        return Pulled(((form * below).addcmul_(down, more),), inner(down, self.above_at))
