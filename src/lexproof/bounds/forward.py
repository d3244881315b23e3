"""Recurrent networks bounded forward: affine forms of the states of each step, from the first open word on.

Backward bounds of every gate at every step would pull each of them through all steps before it.  Affine forms go
through each step once: a state's lower and upper bound come together, and one matrix product a step serves all gates.

Guarantee of the relaxation: each box contains all values over the region, and each plane kept for an LSTM's half steps
holds for all inputs of the region.  Proof by induction over the operations: forms of a step are exact but for rounding,
which is added (affine_forms.py); a half step's planes and its new symbols hold for values inside the boxes and the
forms before it (gated_forms.py); an interval may take the place of a form.
The planes use what the factors of a product have in common over this region, so they hold there, not in all of a box.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from lexproof.bounds.affine_forms import AffineForms
from lexproof.bounds.backward import Check, Relaxation
from lexproof.bounds.gated_forms import Known, cell_state, hidden_state
from lexproof.bounds.gates import CellState, HiddenState, Plane, UnitPlanes
from lexproof.bounds.graph import Box, Graph, Node
from lexproof.bounds.linear_ops import Constant
from lexproof.bounds.recurrence import OpenStep
from lexproof.bounds.region import Region

_OUTGROWN = 10.0  # times as wide as an interval: a form that says nothing
_WORSE, _MOST = 1.15, 0.75  # times as wide, in such a share of a state's units: forms that are not worth their work


def forward_relaxation(graph: Graph, region: Region, check: Check | None = None) -> Relaxation:
    """Boxes of all values, and planes of an LSTM's half steps; values after those are bounded by intervals.

    `check` is called between operations; what it raises, such as that time is up, ends the work.
    """
    walk = _Walk(region)
    last_use = {k: number for number, node in enumerate(graph.nodes, 1) for k in node.inputs}
    for number, node in enumerate(graph.nodes, 1):
        if check is not None:
            check()
        walk.add(number, node)
        for k in node.inputs:
            if last_use[k] == number:
                walk.forms.pop(k, None)
    return Relaxation(graph, region, tuple(walk.boxes), dict(walk.relaxed))


class _Walk:
    """What is known of the values so far: boxes of all, affine forms of some, and planes of half steps."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.boxes = [Box(*region.box())]
        self.forms: dict[int, AffineForms] = {}
        self.given_up: dict[int, Tensor] = {}  # rows (N,) of these forms that are not worth their work: not used again
        self.relaxed: dict[int, UnitPlanes] = {}

    def add(self, number: int, node: Node) -> None:
        """Bound the next value."""
        interval = node.op.interval(*(self.boxes[k] for k in node.inputs))
        found = self._forms_of(number, node)
        if found is None:
            self.boxes.append(interval)
            return
        box = found.box(self.region)
        given_up = self._given_up(node)
        low, high = box.meet(interval)
        alone = given_up[:, None]
        self.boxes.append(Box(torch.where(alone, interval.low, low), torch.where(alone, interval.high, high)))
        planes = self.relaxed.get(number)
        if planes is not None:
            assert isinstance(node.op, CellState | HiddenState), "only half steps have planes of their own"
            if bool(given_up.any()):
                self.relaxed[number] = _chosen(alone, node.op.relax(*(self.boxes[k] for k in node.inputs)), planes)
            given_up = given_up | _are_useless(box, interval)
            found = _tamed(found, box, interval, given_up, number)
        if not bool(given_up.all()):
            self.forms[number], self.given_up[number] = found, given_up

    def _given_up(self, node: Node) -> Tensor:
        """The rows (N,) of an operation's inputs that have gone on without forms: they are bounded as if alone."""
        none = torch.zeros(len(self.region.center), dtype=torch.bool)
        return torch.stack([none, *(self.given_up[k] for k in node.inputs if k)]).any(0)

    def _forms_of(self, number: int, node: Node) -> AffineForms | None:
        """The forms of an operation's output, if it is one of these and its inputs have forms."""
        op = node.op
        if isinstance(op, Constant):
            return AffineForms.constant(op.given, self.region.center[0].numel())
        if not all(k in self.forms for k in node.inputs if k):
            return None
        if isinstance(op, OpenStep):
            return _arriving(op, None if op.weight is None else self.forms[node.inputs[-1]], self.region)
        if not isinstance(op, CellState | HiddenState):
            return None
        first, second = (Known(self.forms[k], self.boxes[k]) for k in node.inputs)
        half_step = cell_state if isinstance(op, CellState) else hidden_state
        forms, self.relaxed[number] = half_step(first, second, self.region, number)
        return forms


def _arriving(op: OpenStep, state: AffineForms | None, region: Region) -> AffineForms:
    """What arrives at the gates."""
    if op.weight is None or state is None:
        found = AffineForms.constant(torch.zeros_like(op.base), region.center[0].numel())
    else:
        found = state.mapped(op.weight)
    center, inputs = found.center + op.base, found.inputs
    if op.entry is not None:
        center = center + torch.einsum("nk,nkd->nd", op.reads, region.center) @ op.entry.T
        inputs = inputs + (op.reads[:, :, None, None] * op.entry.T).flatten(1, 2)
    return replace(found, center=center, inputs=inputs)


def _are_useless(box: Box, interval: Box) -> Tensor:
    """The rows (N,) in which intervals are better for most units: then nothing is lost by going on without forms."""
    worse = box.high - box.low > _WORSE * (interval.high - interval.low)
    return worse.double().mean(1) > _MOST


def _tamed(forms: AffineForms, box: Box, interval: Box, given_up: Tensor, number: int) -> AffineForms:
    """The forms, but where their box is many times wider than the interval, which then takes their place.

    A form that is only somewhat wider still tells what a number has in common with others; one that is much wider
    would grow without end.
    """
    outgrown = (box.high - box.low > _OUTGROWN * (interval.high - interval.low)) | given_up[:, None]
    return forms.replaced(outgrown, interval, number) if bool(outgrown.any()) else forms


def _chosen(where: Tensor, these: UnitPlanes, others: UnitPlanes) -> UnitPlanes:
    """The planes of a half step: these in some rows (N, 1), the others in the rest."""
    below, above = (
        Plane(
            tuple(torch.where(where, *pair) for pair in zip(one.slopes, other.slopes, strict=True)),
            torch.where(where, one.height, other.height),
        )
        for one, other in ((these.below, others.below), (these.above, others.above))
    )
    return UnitPlanes(below, above)
