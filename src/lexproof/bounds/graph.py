"""A network as a list of operations, each with its rule for bounds; it knows no words.

Shapes: N rows (texts, radii, …) come first everywhere.  A *value* is (N, *shape).  A *form* is a linear form of a
value, (N, S, *shape) for S forms a row: <form, value> has shape (N, S).

Guarantee asked of every operation, for inputs inside their boxes:
- `interval`: the output lies inside the box it returns;
- `relax(...).pull(form)`: <form, output> >= sum_k <forms_k, input_k> + constant.
Upper bounds are lower bounds of the negative form.  All rules are differentiable in the weights and in the boxes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from lexproof.bounds.region import Region


class Box(NamedTuple):
    """Least and largest values, element by element: (N, *shape) each."""

    low: Tensor
    high: Tensor

    def meet(self, other: Box) -> Box:
        """What lies in both; both must hold, so an empty meeting is rounding and keeps a point."""
        low = torch.maximum(self.low, other.low)
        return Box(low, torch.maximum(low, torch.minimum(self.high, other.high)))


class Pulled(NamedTuple):
    """A form of an output in terms of the inputs: forms (N, S, *shape of input k), and a constant (N, S)."""

    forms: tuple[Tensor, ...]
    constant: Tensor


class Relaxed(Protocol):
    """An operation between linear bounds."""

    def pull(self, form: Tensor) -> Pulled:
        """A lower bound of <form, output> in terms of the inputs, valid inside the boxes it was made for."""
        ...


class Op(Protocol):
    """One operation.  `name` is what an error calls it; a linear one ignores boxes and has no slopes to choose."""

    name: ClassVar[str]
    is_linear: ClassVar[bool]

    def value(self, *inputs: Tensor) -> Tensor:
        """The output itself."""
        ...

    def interval(self, *boxes: Box) -> Box:
        """A box of the output."""
        ...

    def unsettled(self, *boxes: Box) -> tuple[Tensor, ...]:
        """For each input, which elements of its box are worth tightening: (N, *shape) of bool."""
        ...

    def slopes(self, *boxes: Box) -> Tensor | None:
        """Free parameters in [0, 1] of shape (N, *any), as chosen by default; None if there is nothing to choose."""
        ...

    def relax(self, *boxes: Box, slopes: Tensor | None = None) -> Relaxed:
        """Linear bounds for these boxes.

        `slopes` is None for the default, or has shape (N, S, *any): then forms pulled have the same S, and each form
        has its own bounds.
        """
        ...


@runtime_checkable
class FirstOp(Protocol):
    """A linear operation that, on the network's input, knows its exact range over a region, quicker than by forms."""

    def budgeted(self, region: Region) -> Box:
        """The exact box of the output over the region."""
        ...


@dataclass(frozen=True, slots=True)
class Node:
    """An operation and the numbers of its inputs; 0 is the network's input, k the output of `nodes[k - 1]`."""

    op: Op
    inputs: tuple[int, ...]


class Graph:
    """Operations in an order in which each comes after its inputs; the last one gives the logits (N, classes)."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def add(self, op: Op, *inputs: int) -> int:
        """Append an operation; its number."""
        assert all(0 <= k <= len(self.nodes) for k in inputs), "an operation comes after its inputs"
        self.nodes.append(Node(op, inputs))
        return len(self.nodes)

    def repeated(self, rows: int) -> Graph:
        """The graph of a single row for so many rows: constants are repeated."""
        graph = Graph()
        for node in self.nodes:
            repeat = getattr(node.op, "repeated", None)
            graph.add(node.op if repeat is None else repeat(rows), *node.inputs)
        return graph

    @property
    def last(self) -> int:
        """The number of the logits."""
        return len(self.nodes)

    def value(self, given: Tensor) -> Tensor:
        """The logits of inputs (N, L, d)."""
        return self.values(given)[-1]

    def values(self, given: Tensor) -> list[Tensor]:
        """The input and the output of every operation."""
        values = [given]
        for node in self.nodes:
            values.append(node.op.value(*(values[k] for k in node.inputs)))
        return values


@dataclass(frozen=True, slots=True)
class Exact:
    """The `Relaxed` of a linear operation, from its pull."""

    op: LinearOp

    def pull(self, form: Tensor) -> Pulled:
        """No bound is needed: equality."""
        return self.op.pull(form)


class LinearOp:
    """Base of affine operations: a subclass has `value`, `pull` (its transpose and constant) and `interval`."""

    name: ClassVar[str] = "affine"
    is_linear: ClassVar[bool] = True

    def value(self, *inputs: Tensor) -> Tensor:
        """The output."""
        raise NotImplementedError

    def interval(self, *boxes: Box) -> Box:
        """A box of the output."""
        raise NotImplementedError

    def pull(self, form: Tensor) -> Pulled:
        """The form in terms of the inputs, exactly."""
        raise NotImplementedError

    def unsettled(self, *boxes: Box) -> tuple[Tensor, ...]:
        """Nothing depends on the boxes."""
        return tuple(torch.zeros_like(box.low, dtype=torch.bool) for box in boxes)

    def slopes(self, *boxes: Box) -> Tensor | None:
        """Nothing to choose."""
        del boxes
        return None

    def relax(self, *boxes: Box, slopes: Tensor | None = None) -> Relaxed:
        """Equality."""
        del boxes, slopes
        return Exact(self)


def inner(form: Tensor, value: Tensor) -> Tensor:
    """<form, value>: (N, S, *shape) with (N, *shape) gives (N, S)."""
    return torch.bmm(form.flatten(2), value.flatten(1)[:, :, None]).squeeze(2)


@dataclass(frozen=True, slots=True)
class Lines:
    """The `Relaxed` of an elementwise operation on several inputs: two planes an element, below and above.

    Below: output >= sum_k low[k] * input_k + low_at; above: output <= sum_k high[k] * input_k + high_at, each (N,
    *shape) or, with slopes of their own for each form, (N, S, *shape).  A positive coefficient of a form takes the
    plane below, a negative one the plane above, so <form, output> is bounded from below term by term.
    """

    low: Sequence[Tensor]
    low_at: Tensor
    high: Sequence[Tensor]
    high_at: Tensor

    def pull(self, form: Tensor) -> Pulled:
        """The form through the planes."""
        up = form.clamp(min=0)
        down = form - up  # exactly the negative part
        wide = form.ndim
        forms = tuple(
            torch.addcmul(up * _rows(low, wide), down, _rows(high, wide))
            for low, high in zip(self.low, self.high, strict=True)
        )
        return Pulled(forms, _inner_of(up, self.low_at) + _inner_of(down, self.high_at))


def _inner_of(form: Tensor, plane: Tensor) -> Tensor:
    """<form, plane> for a plane of all forms of a row, or of each."""
    return (form * plane).flatten(2).sum(2) if plane.ndim == form.ndim else inner(form, plane)


def _rows(plane: Tensor, dimensions: int) -> Tensor:
    return plane if plane.ndim == dimensions else plane[:, None]
