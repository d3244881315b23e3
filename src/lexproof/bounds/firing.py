"""Boxes of a network of slots, found without the units that never fire.

`firing_relaxation` is `linear_relaxation` for graphs of slots (`OpenWords`, `SumOfSlots`, ReLU, max of slots), for a
fraction of the work:
- a unit that cannot fire in a row adds nothing to what is above it: backward bounds of later layers are taken in a
  graph without these units, in each row its own;
- a ReLU is settled by one end of its input.  That on the side of the row's center is bounded first.  The other end of
  a unit that never fires is not bounded at all, that of one that always fires only if intervals of later layers need
  it: not in the last layer, which is the dearest.

Every box holds, for the reasons given in `backward`: leaving out units that are 0 in all of the region changes no value
there.  The margins are those of `linear_relaxation`, as all ends that count are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lexproof.bounds.backward import Check, Relaxation, listed
from lexproof.bounds.graph import Box, Graph, Node, Pulled, Relaxed
from lexproof.bounds.region import Region
from lexproof.bounds.relu import Relu
from lexproof.bounds.slots import MaxOfSlots, OpenWords, SumOfSlots

_CELLS = 1 << 17  # numbers that the forms of one pass may hold in one slot: more would leave the caches


def firing_relaxation(graph: Graph, region: Region, check: Check | None = None) -> Relaxation:
    """Boxes of all values of a graph over a region."""
    walk = _Walk(graph, region, check)
    for number, node in enumerate(graph.nodes, 1):
        walk.add(number, node)
    return Relaxation(graph, region, tuple(walk.boxes))


@dataclass(frozen=True, slots=True, eq=False)
class _Thin:
    """A sum of slots that reads only some units of each slot, in each row its own: columns (N, A) of a weight."""

    op: SumOfSlots
    columns: tuple[Tensor, ...]

    def pull_units(self, units: Tensor, signs: Tensor) -> Pulled:
        """As of `SumOfSlots`, in the columns that are read."""
        forms = tuple(own.mul_(signs[:, :, None]) for own in self._cut(units))
        return Pulled(forms, self.op.base.gather(1, units) * signs)

    def of_units(self, units: Tensor) -> SumOfSlots:
        """These units (N, U) of the output."""
        return SumOfSlots(tuple(self._cut(units)), self.op.base.gather(1, units))

    def _cut(self, units: Tensor) -> list[Tensor]:
        """Rows and columns of each weight: (N, U, A)."""
        found = []
        for weight, columns in zip(self.op.weights, self.columns, strict=True):
            if weight.ndim == 3:
                found.append(weight.take_along_dim(units[:, :, None], 1).take_along_dim(columns[:, None], 2))
                continue
            at = units[:, :, None] * weight.shape[1] + columns[:, None]
            found.append(weight.flatten().index_select(0, at.flatten()).view(at.shape))
        return found


class _Walk:
    """The operations one after the other: boxes of the whole graph, and a thin graph of what may fire."""

    def __init__(self, graph: Graph, region: Region, check: Check | None) -> None:
        self.region, self.check = region, check
        self.nodes = graph.nodes
        self.boxes = [Box(*region.box())]
        self.centers = graph.values(region.center)
        self.thin = Graph()
        self.thin_boxes = list(self.boxes)
        self.relaxed: dict[int, Relaxed] = {}  # of the thin graph
        read = {k for node in graph.nodes if not node.op.is_linear for k in node.inputs}
        self.inner = {k for at in read if at for k in graph.nodes[at - 1].inputs}  # what is read by what is bounded
        self.firing: dict[int, tuple[int, Tensor]] = {}  # of a ReLU: its number in the thin graph, and its units there

    def add(self, number: int, node: Node) -> None:
        """Find the box of a value, after those of what it reads are tightened."""
        op = node.op
        masks = () if op.is_linear else op.unsettled(*(self.boxes[k] for k in node.inputs))
        if isinstance(op, Relu):
            side = torch.where(self.centers[node.inputs[0]] > 0, 1.0, -1.0)
            self._tighten(node, masks, [side])
            (box,), (mask,) = (self.boxes[k] for k in node.inputs), masks
            self._tighten(node, [mask & ~(box.high <= 0)] if number in self.inner else op.unsettled(box), [-side])
        elif isinstance(op, MaxOfSlots):  # what cannot be the largest needs no lower end
            ones = [torch.ones_like(self.centers[k]) for k in node.inputs]
            self._tighten(node, masks, [-one for one in ones])
            self._tighten(node, op.unsettled(*(self.boxes[k] for k in node.inputs)), ones)
        if isinstance(op, OpenWords):
            self.boxes.append(op.budgeted(self.region))
        else:
            self.boxes.append(op.interval(*(self.boxes[k] for k in node.inputs)))

    def _tighten(self, node: Node, masks: Sequence[Tensor], signs: Sequence[Tensor]) -> None:
        """Bound the ends of these units of the inputs that are on these sides: the lower end where the sign is 1."""
        for at, mask, sign in zip(node.inputs, masks, signs, strict=True):
            op = self.nodes[at - 1].op
            if isinstance(op, SumOfSlots) and bool(mask.any()):
                self.boxes[at] = self._tightened(at, op, mask, sign)

    def _tightened(self, at: int, op: SumOfSlots, mask: Tensor, sign: Tensor) -> Box:
        inputs, thin = self._thinned(at, op)
        known = Relaxation(self.thin, self.region, tuple(self.thin_boxes), self.relaxed)
        box = self.boxes[at]
        low, high = box
        widest = max(columns.shape[1] for columns in thin.columns)
        for part in torch.split(listed(mask), max(1, _CELLS // (len(mask) * widest)), 1):
            if self.check is not None:
                self.check()
            signs = sign.gather(1, part)
            pulled = thin.pull_units(part, signs)
            found = known.below(dict(zip(inputs, pulled.forms, strict=True)), pulled.constant)
            used = mask.gather(1, part)  # as in `linear_relaxation`
            low = low.scatter(1, part, torch.where(used & (signs > 0), found, low.gather(1, part)))
            high = high.scatter(1, part, torch.where(used & (signs < 0), -found, high.gather(1, part)))
        return box.meet(Box(low, high))

    def _thinned(self, at: int, op: SumOfSlots) -> tuple[list[int], _Thin]:
        """A sum of slots over the units that may fire, and the numbers of its inputs in the thin graph."""
        slots = self.nodes[at - 1].inputs
        assert len(set(slots)) == len(slots), "a sum reads distinct slots"
        read = [self._firing(k) for k in slots]
        return [number for number, _ in read], _Thin(op, tuple(units for _, units in read))

    def _firing(self, number: int) -> tuple[int, Tensor]:
        """The units of a ReLU that may fire, and its number in the thin graph, to which it is added when first read."""
        if number not in self.firing:
            (at,) = self.nodes[number - 1].inputs
            box, op = self.boxes[at], self.nodes[at - 1].op
            units = listed(~(box.high <= 0))
            inputs: list[int] = [0]
            if isinstance(op, OpenWords):
                own: OpenWords | SumOfSlots = op.of_units(units)
            else:
                assert isinstance(op, SumOfSlots), "a ReLU of slots reads words or sums"
                inputs, thin = self._thinned(at, op)
                own = thin.of_units(units)
            before = Box(box.low.gather(1, units), box.high.gather(1, units))
            self.thin_boxes += [before, Relu().interval(before)]
            self.firing[number] = self.thin.add(Relu(), self.thin.add(own, *inputs)), units
        return self.firing[number]
