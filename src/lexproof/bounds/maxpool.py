"""Max over positions between planes, not constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from lexproof.bounds.graph import Box, Pulled


@dataclass(frozen=True, slots=True, eq=False)
class MaxPool:
    """max_t x_t over positions: (N, T, F) to (N, F).

    `rectified`: the largest of these and 0; `floor` (N, F): the largest of these and a constant of each row, such as
    the max over all positions that cannot move.  Either is one more position with l = u: the planes below hold for it
    as for any other, its slope above is 0, and what the plane below gives to it is a constant.

    Below: max_t x_t >= sum_t w_t x_t for all weights w_t >= 0 with sum 1.
    Above: for any g >= max_t l_t, with w_t = max(0, u_t - g) / (u_t - l_t) (0 where u_t = l_t),
        max_t x_t <= g + sum_t w_t (x_t - l_t).
    Proof: all terms of the sum are >= 0, so it is enough to look at the t that attains the maximum.  If u_t <= g then
    x_t <= g.  Else g + w_t (x_t - l_t) is linear in x_t, at x_t = l_t it is g >= l_t, at x_t = u_t it is u_t: at both
    ends it is at least x_t, hence in between.

    Free: the weights below, and where g lies between max_t l_t and max_t u_t; CNN-Cert's planes are those with the g
    for which the w_t sum to 1, and these weights below.  By default the plane below is the position with the largest
    middle, and g the second largest u_t (at least max_t l_t): then only the top position has a slope.  In the middle of
    the box the plane above is g + sum_t max(0, u_t - g) / 2, which is least there, and at every g down to the third
    largest u_t: on average over the box no other g is tighter.
    """

    name: ClassVar[str] = "max-pool"
    is_linear: ClassVar[bool] = False
    rectified: bool = False
    floor: Tensor | None = None

    def repeated(self, rows: int) -> MaxPool:
        """The same floor, of one row, for so many rows."""
        return self if self.floor is None else self.of_rows(torch.zeros(rows, dtype=torch.long))

    def of_rows(self, rows: Tensor) -> MaxPool:
        """The floors of these rows."""
        return self if self.floor is None else MaxPool(self.rectified, self.floor[rows])

    def value(self, *inputs: Tensor) -> Tensor:
        """The largest."""
        return self._with_floor(inputs[0]).amax(1)

    def _with_floor(self, given: Tensor) -> Tensor:
        """The positions, and the one that is constant."""
        if self.floor is None:
            return torch.cat([given, torch.zeros_like(given[:, :1])], 1) if self.rectified else given
        floor = self.floor.clamp(min=0) if self.rectified else self.floor
        return torch.cat([given, floor[:, None]], 1)

    def interval(self, *boxes: Box) -> Box:
        """Largest of the ends."""
        return Box(self._with_floor(boxes[0].low).amax(1), self._with_floor(boxes[0].high).amax(1))

    def unsettled(self, *boxes: Box) -> tuple[Tensor, ...]:
        """Positions that may attain the maximum."""
        (box,) = boxes
        return (~(box.high <= self._with_floor(box.low).amax(1, keepdim=True)) & ~(box.high <= box.low),)

    def slopes(self, *boxes: Box) -> Tensor | None:
        """A weight for each position, the constant one included, then where g lies: (N, T + 1, F) or (N, T + 2, F)."""
        box = Box(*map(self._with_floor, boxes[0]))
        middle = box.low + box.high
        weights = torch.nn.functional.one_hot(middle.argmax(1), box.low.shape[1]).transpose(1, 2).to(middle.dtype)
        least, most = box.low.amax(1), box.high.amax(1)
        second = box.high.topk(2, 1).values[:, 1] if box.high.shape[1] > 1 else least
        room = torch.where(most > least, most - least, 1.0)
        return torch.cat([weights, ((torch.maximum(second, least) - least) / room)[:, None]], 1)

    def relax(self, *boxes: Box, slopes: Tensor | None = None) -> Planes:
        """The two planes."""
        if slopes is None:
            slopes = self.slopes(*boxes)
            assert slopes is not None
        low, high = map(self._with_floor, boxes[0])
        if slopes.ndim > low.ndim:
            low, high = low[:, None], high[:, None]
        weights = _on_the_simplex(slopes[..., :-1, :])
        least, most = low.amax(-2, keepdim=True), high.amax(-2, keepdim=True)
        g = least + slopes[..., -1:, :] * (most - least)
        width = torch.where(high > low, high - low, 1.0)
        above = torch.where(high > low, (high - g).clamp(min=0) / width, 0.0)
        moving = slice(boxes[0].low.shape[1])
        fixed = slice(boxes[0].low.shape[1], None)  # the floor, if there is one
        below_at = (weights[..., fixed, :] * low[..., fixed, :]).sum(-2)
        above_at = (g - (above * low).sum(-2, keepdim=True)).squeeze(-2)
        return Planes(weights[..., moving, :], below_at, above[..., moving, :], above_at)


def _on_the_simplex(weights: Tensor) -> Tensor:
    """Weights >= 0 over positions, divided by their sum; equal ones if all are 0."""
    total = weights.sum(-2, keepdim=True)
    return torch.where(total > 0, weights / torch.where(total > 0, total, 1.0), 1.0 / weights.shape[-2])


@dataclass(frozen=True, slots=True, eq=False)
class Planes:
    """Slopes (N, [S,] T, F) below and above, and where the planes are at 0, (N, [S,] F)."""

    below: Tensor
    below_at: Tensor
    above: Tensor
    above_at: Tensor

    def pull(self, form: Tensor) -> Pulled:
        """A positive coefficient takes the plane below, a negative one the plane above."""
        up, down = form.clamp(min=0), form.clamp(max=0)
        parts = (self.below, self.below_at, self.above, self.above_at)
        has_own = self.below.ndim == form.ndim + 1
        below, below_at, above, above_at = parts if has_own else (part[:, None] for part in parts)
        moved = up[:, :, None] * below + down[:, :, None] * above
        return Pulled((moved,), (up * below_at + down * above_at).sum(2))
