"""Layer normalization as operations with rules: center, square, mean, inverse square root, product, scale.

With c = x - mean(x) of d numbers, v = mean(c^2) + eps and r = v^(-1/2) the output is weight * (c r) + bias.
Only the square, the inverse root and the product need bounds; `Normalize`, the product, knows what its inputs are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from lexproof.bounds.convex import InverseRoot, Square
from lexproof.bounds.graph import Box, Graph, LinearOp, Lines, Pulled
from lexproof.bounds.products import Product


def add_layer_norm(graph: Graph, at: int, weight: Tensor, bias: Tensor, epsilon: float) -> int:
    """Append the normalization of node `at` over its last axis; the number of its output."""
    centered = graph.add(Center(), at)
    variance = graph.add(MeanPlus(epsilon, len(weight)), graph.add(Square(), centered))
    normal = graph.add(Normalize(epsilon), centered, graph.add(InverseRoot(epsilon), variance))
    return graph.add(Scale(weight, bias), normal)


class Center(LinearOp):
    """x - mean(x) over the last axis; its own transpose."""

    name: ClassVar[str] = "centering"

    def value(self, *inputs: Tensor) -> Tensor:
        """x - mean(x)."""
        return inputs[0] - inputs[0].mean(-1, keepdim=True)

    def interval(self, *boxes: Box) -> Box:
        """Exact for a box: (1 - 1/d) of its own number, and -1/d of every other one's end."""
        low, high = boxes[0]
        own = (high - low) / low.shape[-1]
        return Box(low - high.mean(-1, keepdim=True) + own, high - low.mean(-1, keepdim=True) - own)

    def pull(self, form: Tensor) -> Pulled:
        """The same of the form."""
        return Pulled((self.value(form),), form.new_zeros(form.shape[:2]))


@dataclass(frozen=True, slots=True, eq=False)
class MeanPlus(LinearOp):
    """The mean of the last axis, of `size`, plus a constant: (N, ..., d) to (N, ..., 1)."""

    name: ClassVar[str] = "mean"
    constant: float
    size: int

    def value(self, *inputs: Tensor) -> Tensor:
        """The mean, raised."""
        return inputs[0].mean(-1, keepdim=True) + self.constant

    def interval(self, *boxes: Box) -> Box:
        """End by end."""
        return Box(self.value(boxes[0].low), self.value(boxes[0].high))

    def pull(self, form: Tensor) -> Pulled:
        """An equal part for each number."""
        wide = (form / self.size).expand(*form.shape[:-1], self.size)
        return Pulled((wide,), self.constant * form.flatten(2).sum(2))


@dataclass(frozen=True, slots=True, eq=False)
class Scale(LinearOp):
    """weight * x + bias, number by number of the last axis."""

    name: ClassVar[str] = "scaling"
    weight: Tensor
    bias: Tensor

    def value(self, *inputs: Tensor) -> Tensor:
        """weight * x + bias."""
        return inputs[0] * self.weight + self.bias

    def interval(self, *boxes: Box) -> Box:
        """The ends change places where the weight is negative."""
        one, other = self.value(boxes[0].low), self.value(boxes[0].high)
        return Box(torch.minimum(one, other), torch.maximum(one, other))

    def pull(self, form: Tensor) -> Pulled:
        """The same weights."""
        return Pulled((form * self.weight,), (form * self.bias).flatten(2).sum(2))


@dataclass(frozen=True, slots=True)
class Normalize:
    """c r for centered c (N, ..., d) and r = (mean(c^2) + eps)^(-1/2) (N, ..., 1).

    Range: that of a product of two numbers in their boxes, met with what c alone says.  Let h be the largest c_i, if
    positive, and R the sum over j != i of the least c_j^2 in the box.  The c_j sum to 0, so by Cauchy and Schwarz the
    other squares sum to at least c_i^2 / (d - 1); hence
        c_i r <= c_i / sqrt((c_i^2 + max(R, c_i^2 / (d - 1))) / d + eps).
    That rises with c_i >= 0 (both branches are c / sqrt(A c^2 + B) with A, B >= 0), so it is at most its value at h,
    and never more than sqrt(d - 1), however little is known about r.  From below likewise, for -c.

    Planes: those of a product (products.py).  Where such a plane is, in the middle of the box, beyond the range just
    stated, the constant end of the range is taken instead: also a plane, and no vast number enters the forms when the
    variance may be as little as eps.
    """

    name: ClassVar[str] = "normalization"
    is_linear: ClassVar[bool] = False
    epsilon: float

    def value(self, *inputs: Tensor) -> Tensor:
        """c r."""
        return inputs[0] * inputs[1]

    def interval(self, *boxes: Box) -> Box:
        """The range of the product, met with the range by c alone."""
        low, high = boxes[0]
        nearest = (low.clamp(min=0) + high.clamp(max=0)).square()
        others = (nearest.sum(-1, keepdim=True) - nearest).clamp(min=0)
        own = Box(-self._most((-low).clamp(min=0), others), self._most(high.clamp(min=0), others))
        return Product().interval(*boxes).meet(own)

    def _most(self, largest: Tensor, others: Tensor) -> Tensor:
        size = largest.shape[-1]
        squares = largest.square()
        rest = torch.maximum(others, squares / max(size - 1, 1))
        return largest / ((squares + rest) / size + self.epsilon).sqrt()

    def unsettled(self, *boxes: Box) -> tuple[Tensor, ...]:
        """c where both may move; the range of r follows from that of the variance, and lines of it say no more."""
        centered, root = boxes
        both = (centered.high > centered.low) & (root.high > root.low)
        return both, torch.zeros_like(root.low, dtype=torch.bool)

    def slopes(self, *boxes: Box) -> Tensor | None:
        """Those of the product."""
        return Product().slopes(*boxes)

    def relax(self, *boxes: Box, slopes: Tensor | None = None) -> _Summed:
        """The planes of the product, or constants."""
        centered, root = boxes
        wide = Box(root.low.expand_as(centered.low), root.high.expand_as(centered.low))
        planes = Product().relax(centered, wide, slopes=slopes)
        ends = self.interval(*boxes)
        middle = (centered.low + centered.high) * (root.low + root.high) / 4
        gap = (centered.high - centered.low) * (root.high - root.low) / 4
        is_low, is_high = middle - gap < ends.low, middle + gap > ends.high
        low, low_at = _or_constant(planes.low, planes.low_at, is_low, ends.low)
        high, high_at = _or_constant(planes.high, planes.high_at, is_high, ends.high)
        return _Summed(Lines(low, low_at, high, high_at))


def _or_constant(
    planes: Sequence[Tensor], at: Tensor, is_constant: Tensor, constant: Tensor
) -> tuple[tuple[Tensor, ...], Tensor]:
    if at.ndim > constant.ndim:  # a choice for each form
        is_constant, constant = is_constant[:, None], constant[:, None]
    return tuple(torch.where(is_constant, 0.0, plane) for plane in planes), torch.where(is_constant, constant, at)


@dataclass(frozen=True, slots=True)
class _Summed:
    """Planes of c_i r with one r for all i of the last axis: the forms of r add up."""

    planes: Lines

    def pull(self, form: Tensor) -> Pulled:
        """The form through the planes."""
        (centered, root), constant = self.planes.pull(form)
        return Pulled((centered, root.sum(-1, keepdim=True)), constant)
