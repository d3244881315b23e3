"""The two nonlinear halves of an LSTM step, each between planes: the new cell state and the new hidden state.

They are sums of gated numbers, sigmoid(y) v with v a number or a tanh, and the rules for curves and products give their
planes.  Composed here, per unit and before any form is pulled, the planes cost a form one multiplication for each input
of the unit, and no values in between.

Composition.  Let s = sigmoid(y) and s v >= q s + w v + k inside the boxes.  If s lies between the lines a y + b (below)
and A y + B (above), then q s >= q (a y + b) where q >= 0, q s >= q (A y + B) where q <= 0; the same for v = tanh(x).
So s v is at least a plane of y and x; above, the same with the sides exchanged.  A sum of gated numbers is at least the
sum of their planes.  Each step holds inside the boxes for every choice of the free parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from lexproof.bounds.curves import Sigmoid, Tanh
from lexproof.bounds.graph import Box, Lines, Pulled
from lexproof.bounds.products import Product


class CellState:
    """sigmoid(f) c + sigmoid(i) tanh(g); the inputs are i, f and g side by side (N, 3 U), and c (N, U)."""

    name: ClassVar[str] = "LSTM cell state"
    is_linear: ClassVar[bool] = False

    def value(self, *inputs: Tensor) -> Tensor:
        """The new cell state."""
        into, forget, new = inputs[0].chunk(3, -1)
        return forget.sigmoid() * inputs[1] + into.sigmoid() * new.tanh()

    def interval(self, *boxes: Box) -> Box:
        """The sum of two products."""
        (into, forget, new), cell = _blocks(boxes[0]), boxes[1]
        kept, added = _interval(forget, cell), _interval(into, Tanh().interval(new))
        return Box(kept.low + added.low, kept.high + added.high)

    def unsettled(self, *boxes: Box) -> tuple[Tensor, ...]:
        """Gates that may move, and a state that may move together with its gate."""
        gates, cell = boxes
        moves = gates.high > gates.low
        return moves, (cell.high > cell.low) & moves.chunk(3, -1)[1]

    def slopes(self, *boxes: Box) -> Tensor | None:
        """Those of sigmoid(f) c, then those of sigmoid(i) tanh(g): (N, 5, 2, U)."""
        (into, forget, new), cell = _blocks(boxes[0]), boxes[1]
        return torch.cat([_slopes(forget, cell, None), _slopes(into, new, Tanh())], 1)

    def relax(self, *boxes: Box, slopes: Tensor | None = None) -> UnitPlanes:
        """The two planes."""
        (into, forget, new), cell = _blocks(boxes[0]), boxes[1]
        keep, add = (None, None) if slopes is None else slopes.tensor_split((2,), -3)
        kept, added = _gated(forget, cell, None, keep), _gated(into, new, Tanh(), add)
        below, above = (
            Plane((new.slopes[0], old.slopes[0], new.slopes[1], old.slopes[1]), old.height + new.height)
            for old, new in zip(kept, added, strict=True)
        )
        return UnitPlanes(below, above)


class HiddenState:
    """sigmoid(o) tanh(c) of two inputs (N, U)."""

    name: ClassVar[str] = "LSTM hidden state"
    is_linear: ClassVar[bool] = False

    def value(self, *inputs: Tensor) -> Tensor:
        """The new hidden state."""
        return inputs[0].sigmoid() * inputs[1].tanh()

    def interval(self, *boxes: Box) -> Box:
        """A product."""
        return _interval(boxes[0], Tanh().interval(boxes[1]))

    def unsettled(self, *boxes: Box) -> tuple[Tensor, ...]:
        """Wherever an input may move."""
        return boxes[0].high > boxes[0].low, boxes[1].high > boxes[1].low

    def slopes(self, *boxes: Box) -> Tensor | None:
        """Those of the gate, of the tanh and of the product: (N, 3, 2, U)."""
        return _slopes(boxes[0], boxes[1], Tanh())

    def relax(self, *boxes: Box, slopes: Tensor | None = None) -> UnitPlanes:
        """The two planes."""
        return UnitPlanes(*_gated(boxes[0], boxes[1], Tanh(), slopes))


class Plane(NamedTuple):
    """A plane of each unit (N, U)."""

    slopes: tuple[Tensor, ...]  # one for each number the unit reads
    height: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class UnitPlanes:
    """Planes of units that read one number from each block of U; the last block is the second input.

    A positive coefficient of a form takes the plane below, a negative one the plane above.
    """

    below: Plane
    above: Plane

    def pull(self, form: Tensor) -> Pulled:
        """The form through the planes."""
        up, down = form.clamp(min=0), form.clamp(max=0)
        has_own = self.below.height.ndim == form.ndim
        below, above = (
            Plane(tuple(slope[:, None] for slope in plane.slopes), plane.height[:, None]) if not has_own else plane
            for plane in (self.below, self.above)
        )
        parts = [torch.addcmul(up * low, down, high) for low, high in zip(below.slopes, above.slopes, strict=True)]
        constant = (up * below.height).sum(2) + (down * above.height).sum(2)
        first = torch.cat(parts[:-1], 2) if len(parts) > 2 else parts[0]
        return Pulled((first, parts[-1]), constant)


def _blocks(box: Box) -> list[Box]:
    return [Box(low, high) for low, high in zip(box.low.chunk(3, -1), box.high.chunk(3, -1), strict=True)]


def _interval(gate: Box, other: Box) -> Box:
    return Product().interval(Sigmoid().interval(gate), other)


def _slopes(gate: Box, other: Box, curve: Tanh | None) -> Tensor:
    parts = [Sigmoid().slopes(gate), None if curve is None else curve.slopes(other), Product().slopes(gate, other)]
    return torch.stack([part for part in parts if part is not None], 1)


def _gated(gate: Box, other: Box, curve: Tanh | None, slopes: Tensor | None) -> tuple[Plane, Plane]:
    """Planes of sigmoid(gate) v, with v = curve(other), or other itself if there is no curve."""
    chosen = (None,) * 3 if slopes is None else slopes.unbind(-3)
    gates = Sigmoid().relax(gate, slopes=chosen[0])
    others = None if curve is None else curve.relax(other, slopes=chosen[1])
    product = Product().relax(
        Sigmoid().interval(gate), other if curve is None else curve.interval(other), slopes=chosen[-1]
    )
    below = _composed(product.low, product.low_at, (gates, others), is_below=True)
    return below, _composed(product.high, product.high_at, (gates, others), is_below=False)


def _composed(plane: Sequence[Tensor], height: Tensor, lines: tuple[Lines | None, ...], *, is_below: bool) -> Plane:
    """A plane of curves' outputs as a plane of their inputs."""
    slopes = []
    for factor, line in zip(plane, lines, strict=True):
        if line is None:
            slopes.append(factor)
            continue
        takes_low = (factor >= 0) == is_below
        slopes.append(factor * torch.where(takes_low, line.low[0], line.high[0]))
        height = height + factor * torch.where(takes_low, line.low_at, line.high_at)
    return Plane(tuple(slopes), height)
