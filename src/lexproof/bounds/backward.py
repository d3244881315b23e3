"""Backward linear relaxation: a form of the logits is pulled through the operations down to the region, there
minimized.

Guarantee: `Relaxation.lower(at, form)` is at most <form, value of node `at`> for every input of the region.
Proof: each operation's rule turns a form of its output into forms of its inputs and a constant, without raising it, for
inputs inside their boxes (graph.py); the boxes contain all values, by induction over the operations; forms of one value
from several operations add up; what arrives at the input is minimized exactly by the region.

The boxes of a nonlinear operation's inputs come from intervals first and are then, where it matters, replaced by the
same backward bound of each unit: so the budget of swaps reaches every neuron, not only the first layer and the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from lexproof.bounds.graph import Box, FirstOp, Graph, Node, Pulled, Relaxed
from lexproof.bounds.region import Region

_CELLS = 1 << 18  # numbers that the forms of one pass may hold at the widest value: more would leave the caches

Check = Callable[[], None]

Slopes = Mapping[int, Tensor]
"""Free parameters of nonlinear operations, by node: (N, S, *any) with values in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Relaxation:
    """A graph over a region with boxes of all its values (0 is the input)."""

    graph: Graph
    region: Region
    boxes: tuple[Box, ...]
    relaxed: dict[int, Relaxed] = field(default_factory=dict, repr=False, compare=False)  # with default slopes, as used

    def pull(self, at: int, form: Tensor, slopes: Slopes | None = None) -> tuple[Tensor, Tensor]:
        """A form of the input and a constant that together are at most <form, value of node `at`>."""
        if at == 0:
            return form, form.new_zeros(form.shape[:2])
        return self._descended({at: form}, form.new_zeros(form.shape[:2]), slopes)

    def _descended(self, forms: dict[int, Tensor], constant: Tensor, slopes: Slopes | None) -> tuple[Tensor, Tensor]:
        """Forms of some values, by node, and a constant, pulled down to the input together."""
        given = constant.new_zeros(*constant.shape, *self.boxes[0].low.shape[1:])
        own_sums: set[int] = set()  # values whose forms were made here and are held by nothing else
        for number in range(max(forms, default=0), 0, -1):
            if number not in forms:
                continue
            node, own = self.graph.nodes[number - 1], forms.pop(number)
            into, onto = getattr(node.op, "pull_into", None), getattr(node.op, "pull_onto", None)
            inputs = node.inputs
            if into is not None and inputs[0] == 0:  # a small part of a wide input: added where it belongs
                pulled, inputs = into(own, given), inputs[1:]
            elif onto is not None:  # a product that is added to a sum as it is made
                pulled = onto(own, [forms.pop(k, None) if k in own_sums else None for k in inputs])
                own_sums.update(inputs)
            else:
                pulled = self._relaxed(number, node, slopes).pull(own)
            constant = constant + pulled.constant
            for k, part in zip(inputs, pulled.forms, strict=True):
                if k == 0:
                    given = given + part
                else:
                    forms[k] = forms[k] + part if k in forms else part
        return given, constant

    def _relaxed(self, number: int, node: Node, slopes: Slopes | None) -> Relaxed:
        own = None if slopes is None else slopes.get(number)
        if own is not None:
            return node.op.relax(*(self.boxes[k] for k in node.inputs), slopes=own)
        if number not in self.relaxed:
            self.relaxed[number] = node.op.relax(*(self.boxes[k] for k in node.inputs))
        return self.relaxed[number]

    def lower(self, at: int, form: Tensor, slopes: Slopes | None = None) -> Tensor:
        """A lower bound of <form, value of node `at`> over the region: (N, S); -inf where it is not a number."""
        return self._least(*self.pull(at, form, slopes))

    def below(self, forms: dict[int, Tensor], constant: Tensor) -> Tensor:
        """A lower bound of the sum of forms of several values, by node (not of the input), and a constant: (N, S)."""
        return self._least(*self._descended(forms, constant, None))

    def _least(self, given: Tensor, constant: Tensor) -> Tensor:
        bound = self.region.minimum(given) + constant
        return torch.where(bound.isfinite(), bound, -torch.inf)  # an overflow proves nothing

    def units(self, at: int, units: Tensor, signs: Tensor) -> Tensor:
        """Lower bounds of sign * unit for single units (N, U) of the value of node `at`, counted along all its axes.

        An operation with `pull_units` (see `SumOfSlots`) pulls such forms without a multiplication.
        """
        node = self.graph.nodes[at - 1] if at else None
        pull_units = getattr(node.op, "pull_units", None) if node is not None else None
        if node is None or pull_units is None:
            shape = self.boxes[at].low.shape
            form = self.boxes[at].low.new_zeros(*units.shape, shape[1:].numel())
            form = form.scatter(2, units[:, :, None], signs[:, :, None])
            return self.lower(at, form.reshape(*units.shape, *shape[1:]))
        assert len({0, *node.inputs}) > len(node.inputs), "units are pulled into distinct values, not the input"
        pulled: Pulled = pull_units(units, signs)
        return self.below(dict(zip(node.inputs, pulled.forms, strict=True)), pulled.constant)

    def ends(self, at: int, units: Tensor) -> Box:
        """Bounds of single units on both sides: (N, U) each."""
        ones = torch.ones_like(units, dtype=self.boxes[at].low.dtype)
        low, high = self.units(at, torch.cat([units, units], 1), torch.cat([ones, -ones], 1)).tensor_split(2, 1)
        return Box(low, -high)

    def default_slopes(self, forms: int) -> dict[int, Tensor]:
        """The default parameters of every operation that has some, a copy for each of so many forms."""
        found = {}
        for number, node in enumerate(self.graph.nodes, 1):
            slopes = node.op.slopes(*(self.boxes[k] for k in node.inputs))
            if slopes is not None:
                found[number] = slopes[:, None].expand(-1, forms, *slopes.shape[1:]).contiguous()
        return found


def interval_relaxation(graph: Graph, region: Region) -> Relaxation:
    """Boxes by intervals alone; the first layer under the budget."""
    boxes = [Box(*region.box())]
    for node in graph.nodes:
        boxes.append(_interval(node, boxes, region))
    return Relaxation(graph, region, tuple(boxes))


def linear_relaxation(
    graph: Graph, region: Region, check: Check | None = None, known: Sequence[Box] = ()
) -> Relaxation:
    """Boxes of what enters a nonlinear operation by the backward bound, where an interval leaves it unsettled.

    `check` is called between passes; what it raises, such as that time is up, ends the work.  `known` are boxes of the
    input and of the first operations, found before: they are taken as they are.
    """
    boxes = list(known) or [Box(*region.box())]
    relaxed: dict[int, Relaxed] = {}  # what was relaxed once stays valid when a box is tightened further
    exact = set(range(len(boxes)))  # values whose boxes cannot be tightened, or have been
    for number, node in enumerate(graph.nodes[len(boxes) - 1 :], len(boxes)):
        if not node.op.is_linear:
            so_far = Relaxation(graph, region, tuple(boxes), relaxed)
            masks = node.op.unsettled(*(boxes[k] for k in node.inputs))
            for k, mask in zip(node.inputs, masks, strict=True):
                if k not in exact and bool(mask.any()):
                    boxes[k] = _tightened(so_far, k, mask, check)
                    exact.add(k)
        boxes.append(_interval(node, boxes, region))
        if node.inputs == (0,) and isinstance(node.op, FirstOp):
            exact.add(number)
    return Relaxation(graph, region, tuple(boxes), relaxed)


def unsettled_units(relaxation: Relaxation) -> int:
    """How many units a linear relaxation would bound one by one: what it costs, in passes of one form."""
    total = 0
    for node in relaxation.graph.nodes:
        if not node.op.is_linear:
            masks = node.op.unsettled(*(relaxation.boxes[k] for k in node.inputs))
            total += sum(int(mask.any(0).sum()) for mask in masks)
    return total


def _interval(node: Node, boxes: list[Box], region: Region) -> Box:
    if node.inputs == (0,) and isinstance(node.op, FirstOp):
        return node.op.budgeted(region)
    return node.op.interval(*(boxes[k] for k in node.inputs))


def _tightened(known: Relaxation, at: int, mask: Tensor, check: Check | None) -> Box:
    """The box of a value, by backward bounds of the units that are unsettled, in each row its own.

    Rows are filled up to the same number of units; what is found for others is not used, so that the boxes of a row do
    not depend on the rows beside it.
    """
    box = known.boxes[at]
    shape = box.low.shape
    low, high, open_ = box.low.flatten(1), box.high.flatten(1), mask.flatten(1)
    for part in torch.split(listed(open_), _units_at_once(known, shape), 1):
        if check is not None:
            check()
        found, used = known.ends(at, part), open_.gather(1, part)
        low = low.scatter(1, part, torch.where(used, found.low, low.gather(1, part)))
        high = high.scatter(1, part, torch.where(used, found.high, high.gather(1, part)))
    return box.meet(Box(low.reshape(shape), high.reshape(shape)))


def listed(mask: Tensor) -> Tensor:
    """The elements of each row of a mask (N, F), by number, and others where there are fewer: (N, U), U >= 1."""
    most = max(1, int(mask.sum(1).max()))
    return mask.to(torch.uint8).argsort(dim=1, descending=True, stable=True)[:, :most]


def _units_at_once(known: Relaxation, shape: torch.Size) -> int:
    widest = max(box.low[0].numel() for box in known.boxes)
    return max(1, _CELLS // (2 * shape[0] * widest))


def margins(classes: int, label: int, rivals: Iterator[int] | list[int]) -> Tensor:
    """The forms of the logits whose values are the margins over the rivals: (rivals, classes)."""
    rows = list(rivals)
    form = torch.zeros(len(rows), classes, dtype=torch.float64)
    form[:, label] = 1.0
    form[torch.arange(len(rows)), torch.tensor(rows, dtype=torch.long)] -= 1.0
    return form
