"""Affine operations: bounds pass through them without loss, forms through their transpose.

An interval of a sum of weighted terms takes each term's end by the sign of its weight: center and radius,
    W x + b with x in c +- r lies in W c + b +- |W| r,
which is exact for a box, and loose where inputs depend on each other: only forms know about that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from lexproof.bounds.graph import Box, LinearOp, Pulled, inner


@dataclass(frozen=True, slots=True, eq=False)
class Affine(LinearOp):
    """weight (out, in) and bias (out) on the last axis."""

    name: ClassVar[str] = "affine"
    weight: Tensor
    bias: Tensor

    def value(self, *inputs: Tensor) -> Tensor:
        """W x + b."""
        return torch.nn.functional.linear(inputs[0], self.weight, self.bias)

    def interval(self, *boxes: Box) -> Box:
        """Center and radius."""
        (box,) = boxes
        center, radius = (box.low + box.high) / 2, (box.high - box.low) / 2
        middle, spread = self.value(center), radius @ self.weight.abs().T
        return Box(middle - spread, middle + spread)

    def pull(self, form: Tensor) -> Pulled:
        """<form, W x + b> = <W' form, x> + <form, b>."""
        return Pulled(
            (form @ self.weight,), (form @ self.bias).flatten(2).sum(2) if form.ndim > 3 else form @ self.bias
        )


@dataclass(frozen=True, slots=True, eq=False)
class Add(LinearOp):
    """The sum of inputs of one shape."""

    name: ClassVar[str] = "add"
    count: int = 2

    def value(self, *inputs: Tensor) -> Tensor:
        """The sum."""
        return torch.stack(inputs).sum(0)

    def interval(self, *boxes: Box) -> Box:
        """End by end."""
        return Box(torch.stack([box.low for box in boxes]).sum(0), torch.stack([box.high for box in boxes]).sum(0))

    def pull(self, form: Tensor) -> Pulled:
        """The same form of each."""
        return Pulled((form,) * self.count, form.new_zeros(form.shape[:2]))


@dataclass(frozen=True, slots=True, eq=False)
class Take(LinearOp):
    """Position `at` of `length`: (N, L, d) to (N, d)."""

    name: ClassVar[str] = "take"
    at: int
    length: int

    def value(self, *inputs: Tensor) -> Tensor:
        """One position."""
        return inputs[0][:, self.at]

    def interval(self, *boxes: Box) -> Box:
        """Its box."""
        return Box(boxes[0].low[:, self.at], boxes[0].high[:, self.at])

    def pull(self, form: Tensor) -> Pulled:
        """0 elsewhere."""
        wide = form.new_zeros(*form.shape[:2], self.length, *form.shape[2:])
        wide[:, :, self.at] = form
        return Pulled((wide,), form.new_zeros(form.shape[:2]))


@dataclass(frozen=True, slots=True, eq=False)
class Slice(LinearOp):
    """Features `start … stop - 1` of `width` on the last axis."""

    name: ClassVar[str] = "slice"
    start: int
    stop: int
    width: int

    def value(self, *inputs: Tensor) -> Tensor:
        """A part."""
        return inputs[0][..., self.start : self.stop]

    def interval(self, *boxes: Box) -> Box:
        """Its box."""
        return Box(self.value(boxes[0].low), self.value(boxes[0].high))

    def pull(self, form: Tensor) -> Pulled:
        """0 elsewhere."""
        wide = torch.nn.functional.pad(form, (self.start, self.width - self.stop))
        return Pulled((wide,), form.new_zeros(form.shape[:2]))


@dataclass(frozen=True, slots=True, eq=False)
class Join(LinearOp):
    """Inputs (N, d_k) side by side: (N, sum of d_k)."""

    name: ClassVar[str] = "join"
    widths: tuple[int, ...]

    def value(self, *inputs: Tensor) -> Tensor:
        """Side by side."""
        return torch.cat(inputs, -1)

    def interval(self, *boxes: Box) -> Box:
        """Box by box."""
        return Box(torch.cat([box.low for box in boxes], -1), torch.cat([box.high for box in boxes], -1))

    def pull(self, form: Tensor) -> Pulled:
        """Each its part."""
        return Pulled(tuple(torch.split(form, list(self.widths), -1)), form.new_zeros(form.shape[:2]))


@dataclass(frozen=True, slots=True, eq=False)
class Stack(LinearOp):
    """`count` inputs of one shape (N, d) as positions: (N, count, d)."""

    name: ClassVar[str] = "stack"
    count: int

    def value(self, *inputs: Tensor) -> Tensor:
        """One after the other."""
        return torch.stack(inputs, 1)

    def interval(self, *boxes: Box) -> Box:
        """Box by box."""
        return Box(torch.stack([box.low for box in boxes], 1), torch.stack([box.high for box in boxes], 1))

    def pull(self, form: Tensor) -> Pulled:
        """Each its part."""
        return Pulled(tuple(form.unbind(2)), form.new_zeros(form.shape[:2]))


@dataclass(frozen=True, slots=True, eq=False)
class Constant(LinearOp):
    """A value (N, *shape) that depends on no input."""

    name: ClassVar[str] = "constant"
    given: Tensor

    def repeated(self, rows: int) -> Constant:
        """The same value, of one row, for so many rows."""
        alike = len(self.given) == 1 or bool((self.given == self.given[:1]).all())
        assert alike, "rows with values of their own cannot stand for each other"
        return Constant(self.given[:1].expand(rows, *self.given.shape[1:]))

    def of_rows(self, rows: Tensor) -> Constant:
        """The values of these rows."""
        return Constant(self.given[rows])

    def value(self, *inputs: Tensor) -> Tensor:
        """The value."""
        del inputs
        return self.given

    def interval(self, *boxes: Box) -> Box:
        """A point."""
        del boxes
        return Box(self.given, self.given)

    def pull(self, form: Tensor) -> Pulled:
        """All of the form becomes a constant."""
        return Pulled((), inner(form, self.given))


@dataclass(frozen=True, slots=True, eq=False)
class Flatten(LinearOp):
    """(N, *shape) to (N, all)."""

    name: ClassVar[str] = "flatten"
    shape: tuple[int, ...]

    def value(self, *inputs: Tensor) -> Tensor:
        """One axis."""
        return inputs[0].flatten(1)

    def interval(self, *boxes: Box) -> Box:
        """One axis."""
        return Box(boxes[0].low.flatten(1), boxes[0].high.flatten(1))

    def pull(self, form: Tensor) -> Pulled:
        """The shape again."""
        return Pulled((form.reshape(*form.shape[:2], *self.shape),), form.new_zeros(form.shape[:2]))


@dataclass(frozen=True, slots=True, eq=False)
class Conv(LinearOp):
    """A convolution over positions between zeros, as many outputs as inputs: (N, L, in) to (N, L, out).

    weight (out, in, width); output t reads inputs t - left … t - left + width - 1, left = (width - 1) // 2.
    """

    name: ClassVar[str] = "convolution"
    weight: Tensor
    bias: Tensor

    @property
    def _pads(self) -> tuple[int, int]:
        width = self.weight.shape[2]
        return (width - 1) // 2, width // 2

    def _convolve(self, given: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padded = torch.nn.functional.pad(given.transpose(1, 2), self._pads)
        return torch.nn.functional.conv1d(padded, weight, bias).transpose(1, 2)

    def value(self, *inputs: Tensor) -> Tensor:
        """The outputs."""
        return self._convolve(inputs[0], self.weight, self.bias)

    def interval(self, *boxes: Box) -> Box:
        """Center and radius."""
        (box,) = boxes
        middle = self.value((box.low + box.high) / 2)
        spread = self._convolve((box.high - box.low) / 2, self.weight.abs(), None)
        return Box(middle - spread, middle + spread)

    def pull(self, form: Tensor) -> Pulled:
        """The transposed convolution."""
        n, s, length, out = form.shape
        left, right = self._pads
        flat = form.reshape(n * s, length, out).transpose(1, 2)
        wide = torch.nn.functional.conv_transpose1d(flat, self.weight)  # (n s, in, length + width - 1)
        inside = wide[:, :, left : wide.shape[2] - right].transpose(1, 2)
        return Pulled((inside.reshape(n, s, length, -1),), (form @ self.bias).sum(2))
