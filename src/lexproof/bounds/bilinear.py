"""Matrix products of two bounded inputs, between planes, without the products of single numbers ever being stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from lexproof.bounds.graph import Box, Pulled, inner


@dataclass(frozen=True, slots=True)
class _Middle:
    """A box as center and radius."""

    center: Tensor
    radius: Tensor

    @classmethod
    def of(cls, box: Box) -> _Middle:
        return cls(box.low / 2 + box.high / 2, (box.high - box.low) / 2)


@dataclass(frozen=True, slots=True)
class MatrixProduct:
    """A B or, with `transposed`, A B': (N, ..., I, J) with (N, ..., J, K) or (N, ..., K, J) gives (N, ..., I, K).

    Planes of one product x y with x in x0 +- p and y in y0 +- q.  For any t in [-1, 1]
        x y >= x0 y0 - p q + (y0 + t q) (x - x0) + (x0 + t p) (y - y0),
        x y <= x0 y0 + p q + (y0 + t q) (x - x0) + (x0 - t p) (y - y0).
    Proof: with X = x - x0 and Y = y - y0 the first says X Y - t (q X + p Y) + p q >= 0.  It is linear in t, so it is
    enough to look at t = +-1: (p - X)(q - Y) >= 0 and (p + X)(q + Y) >= 0.  The second is the first for -x.
    An output element is a sum of products that have the same coefficient in a form, so the same side: with one t for
    each output element and side, the form of A is a matrix product with B's centers and radii, and vice versa.
    t is free; slopes s in [0, 1] stand for t = 2 s - 1, by default t = 0: the tangent plane in the middle, less p q.
    """

    name: ClassVar[str] = "matrix product"
    is_linear: ClassVar[bool] = False
    transposed: bool = False

    def turned(self, of: Tensor) -> Tensor:
        """B as (..., J, K), or back."""
        return of.mT if self.transposed else of

    def value(self, *inputs: Tensor) -> Tensor:
        """A B."""
        return inputs[0] @ self.turned(inputs[1])

    def interval(self, *boxes: Box) -> Box:
        """The sum of the products' exact ranges: a product is linear in each factor, so its ends are at corners."""
        left, right = boxes[0], Box(self.turned(boxes[1].low), self.turned(boxes[1].high))
        lows, highs = [], []
        for row in range(left.low.shape[-2]):  # row by row: all products at once would be (..., I, J, K)
            low, high = left.low[..., row, :, None], left.high[..., row, :, None]
            corners = torch.stack([low * right.low, low * right.high, high * right.low, high * right.high])
            lows.append(corners.amin(0).sum(-2))
            highs.append(corners.amax(0).sum(-2))
        return Box(torch.stack(lows, -2), torch.stack(highs, -2))

    def unsettled(self, *boxes: Box) -> tuple[Tensor, ...]:
        """Where a number may move and is multiplied by one that may: otherwise the planes are exact."""
        left, right = (box.high > box.low for box in boxes)
        wide = self.turned(right)
        return left & wide.any(-1)[..., None, :], self.turned(wide & left.any(-2)[..., :, None])

    def slopes(self, *boxes: Box) -> Tensor | None:
        """The tilts of the planes below and above of each output element: (N, 2, ..., I, K)."""
        left, right = boxes[0].low, self.turned(boxes[1].low)
        return left.new_full((left.shape[0], 2, *left.shape[1:-1], right.shape[-1]), 0.5)

    def relax(self, *boxes: Box, slopes: Tensor | None = None) -> _Planes:
        """The planes."""
        left, right = (_Middle.of(box) for box in boxes)
        right = _Middle(self.turned(right.center), self.turned(right.radius))
        if slopes is None:
            return _Planes(self, left, right, None, None)
        dimensions = left.center.ndim
        if slopes.ndim == dimensions + 1:  # one choice for all forms
            slopes = slopes[:, None]
        below, above = (2 * part - 1 for part in slopes.unbind(-dimensions))
        return _Planes(self, left, right, below, above)


@dataclass(frozen=True, slots=True)
class _Planes:
    op: MatrixProduct
    left: _Middle
    right: _Middle
    below: Tensor | None  # t of the planes below and above, (N, S or 1, ..., I, K); None for 0
    above: Tensor | None

    def pull(self, form: Tensor) -> Pulled:
        """The form through the planes below where it is positive, above where it is negative."""
        x, p = self.left.center, self.left.radius
        y, q = self.right.center, self.right.radius
        to_left, to_right = times_rows(form, y.mT), times_rows(form.mT, x).mT
        constant = -inner(form, x @ y) - inner(form.abs(), p @ q)
        if self.below is not None and self.above is not None:
            up, down = self.below * form.clamp(min=0), self.above * form.clamp(max=0)
            more_left, more_right = times_rows(up + down, q.mT), times_rows((up - down).mT, p).mT
            constant = constant - inner(more_left, x) - inner(more_right, y)
            to_left, to_right = to_left + more_left, to_right + more_right
        return Pulled((to_left, self.op.turned(to_right)), constant)


def times_rows(form: Tensor, matrix: Tensor) -> Tensor:
    """All forms of a row times its matrices: (N, S, ..., I, J) with (N, ..., J, K) gives (N, S, ..., I, K).

    One product for all forms: a broadcast one would copy the matrices for each.
    """
    side_by_side = form.movedim(1, -3).flatten(-3, -2)
    product = side_by_side @ matrix
    return product.reshape(*product.shape[:-2], form.shape[1], form.shape[-2], product.shape[-1]).movedim(-3, 1)
