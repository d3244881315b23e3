"""Convolutions as functions of a few open words: only what these words reach, all else in constants.

A word at place t reaches outputs t - right … t + left of the first layer, t - 2 right … t + 2 left of the second, and
so on.  These are the *slots* of a row; they are counted from the open words, so rows with words anywhere in texts of
any length are one network, if their words stand at the same distances.  Words too far apart to reach a common slot may
stand at any distance: it counts as the least one at which that is so.

What enters a slot from places that do not move is its *base*: the original output less what the open slots below add to
it, computed once in float64.  A slot outside of the text has a base so low that it never fires, whatever the open slots
below it hold: no value from outside of a text reaches the next layer, as in the network itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from lexproof.bounds.ball_network import BallNetwork
from lexproof.bounds.graph import Graph
from lexproof.bounds.linear_ops import Affine, Join
from lexproof.bounds.relu import Relu
from lexproof.bounds.slots import MaxOfSlots, OpenWords, SumOfSlots
from lexproof.victims.ball_rows import OpenRows
from lexproof.victims.cnn import CnnNet
from lexproof.victims.open_tokens import OpenTokens
from lexproof.victims.scale import Scale
from lexproof.victims.word_net import mask

_CELLS = 1 << 22  # outputs copied at once, to take maxima over those that do not move


def cnn_balls(net: CnnNet, scale: Scale, tokens: Sequence[OpenTokens]) -> list[tuple[list[int], BallNetwork]]:
    """The networks of these texts: numbers of the rows, and the network of these rows in that order."""
    apart = 1 + net.settings.layers * (max(net.settings.widths) - 1)  # so far apart, words reach no common slot
    groups: dict[tuple[int, ...], list[int]] = {}
    for number, own in enumerate(tokens):
        steps = np.diff(own.places).clip(max=apart)
        groups.setdefault((0, *np.cumsum(steps).tolist()), []).append(number)
    return [
        (rows, _network(net, OpenRows.of(net, scale, [tokens[k] for k in rows]), offsets))
        for offsets, rows in groups.items()
    ]


def _network(net: CnnNet, rows: OpenRows, offsets: tuple[int, ...]) -> BallNetwork:
    """The network of rows whose open words stand at these offsets from the first one."""
    inside = mask(rows.lengths, rows.vectors.shape[1])
    graph = Graph()
    tops = []
    for part in net.parts:
        weights = [_wide(conv) for conv in part.stack]
        branch = _Branch(graph, rows, offsets, part.left, part.right, inside)
        tops.append(branch.added(weights, fires=net.is_flat))
    if net.is_flat:
        _add_flat(graph, net, rows, tops)
    else:
        _add_pooled(graph, net, rows, tops)
    return rows.network(graph)


def _wide(layer: nn.Conv1d | nn.Linear) -> tuple[Tensor, Tensor]:
    assert layer.bias is not None
    return layer.weight.detach().double(), layer.bias.detach().double()


class _Slot(NamedTuple):
    """A slot: its place in each row's text, the number of its value, and what that is after the ReLU."""

    places: Tensor  # (N,)
    inside: Tensor  # (N,), whether that is in the text
    node: int  # after the ReLU, but for a last layer that is pooled
    original: Tensor  # (N, F), in the text itself
    most: Tensor  # (N, F), at least what it may be, wherever the open words go in their box


class _Top(NamedTuple):
    """The last layer of a branch: all outputs (T, L, F) before the ReLU, -inf outside the text, and the slots."""

    outputs: Tensor
    slots: list[_Slot]


@dataclass(frozen=True, slots=True, eq=False)
class _Branch:
    """Convolutions of one width over some rows, as nodes of a graph."""

    graph: Graph
    rows: OpenRows
    offsets: tuple[int, ...]
    left: int
    right: int
    inside: Tensor  # (T, L)

    def added(self, weights: Sequence[tuple[Tensor, Tensor]], *, fires: bool) -> _Top:
        """Add all layers, each a weight (out, in, width) and a bias; the last one with a ReLU only if it `fires`."""
        outputs = self._convolved(self.rows.vectors, *weights[0])
        slots = {at: self._first(at, word, outputs, weights[0][0]) for at, word in self._reached(1).items()}
        for layer, (weight, bias) in enumerate(weights[1:], 2):
            below = {at: self._fired(slot) for at, slot in slots.items()}
            outputs = self._convolved(outputs.relu(), weight, bias)
            slots = {at: self._next(at, word, outputs, weight, below) for at, word in self._reached(layer).items()}
        return _Top(outputs, [self._fired(slot) if fires else slot for slot in slots.values()])

    def _fired(self, slot: _Slot) -> _Slot:
        return slot._replace(node=self.graph.add(Relu(), slot.node))

    def _convolved(self, values: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """The outputs (T, L, out) of values (T, L, in) that are 0 outside the text; -inf there."""
        padded = nn.functional.pad(values.transpose(1, 2), (self.left, self.right))
        outputs = nn.functional.conv1d(padded, weight, bias).transpose(1, 2)
        return outputs.masked_fill(~self.inside[:, :, None], -torch.inf)

    def _reached(self, layer: int) -> dict[int, int]:
        """The slots that open words reach in a layer, by offset, and for each the number of a word that does."""
        reach = range(-layer * self.right, layer * self.left + 1)
        return dict(sorted((offset + step, word) for word, offset in enumerate(self.offsets) for step in reach))

    def _first(self, at: int, word: int, outputs: Tensor, weight: Tensor) -> _Slot:
        """A slot of the first layer: the open words in its window."""
        columns = {k: offset - at + self.left for k, offset in enumerate(self.offsets)}
        read = [k for k, column in columns.items() if 0 <= column < weight.shape[2]]  # words stand in their order
        scaled = torch.stack([weight[:, :, columns[k]] * self.rows.scale.width for k in read], 1)  # (F, k, d)
        open_ = torch.einsum("nkd,fkd->nf", self.rows.center[:, read], scaled)
        most = scaled.clamp(min=0).sum((1, 2)).expand_as(open_)
        base, slot = self._based(at, word, outputs, open_, most)
        return slot._replace(node=self.graph.add(OpenWords(scaled, base, read[0], len(self.offsets)), 0))

    def _next(self, at: int, word: int, outputs: Tensor, weight: Tensor, below: dict[int, _Slot]) -> _Slot:
        """A slot of another layer: the slots below in its window."""
        window = {column: below.get(at - self.left + column) for column in range(weight.shape[2])}
        read = [(weight[:, :, column], slot) for column, slot in window.items() if slot is not None]
        open_ = torch.stack([slot.original @ own.T for own, slot in read]).sum(0)
        most = torch.stack([slot.most @ own.clamp(min=0).T for own, slot in read]).sum(0)
        base, slot = self._based(at, word, outputs, open_, most)
        op = SumOfSlots(tuple(own for own, _ in read), base)
        return slot._replace(node=self.graph.add(op, *(own.node for _, own in read)))

    def _based(self, at: int, word: int, outputs: Tensor, open_: Tensor, most: Tensor) -> tuple[Tensor, _Slot]:
        """The base of a slot, of what open slots below add to it in the text itself and at most; and the slot."""
        places = self.rows.places[:, word] + (at - self.offsets[word])
        inside = self.rows.inside(places)
        original = self.rows.at(outputs, places)
        base = torch.where(inside[:, None], original - open_, -1.0 - most)
        fired = torch.where(inside[:, None], original.relu(), 0.0)
        return base, _Slot(places, inside, -1, fired, (base + most).relu())


def _add_pooled(graph: Graph, net: CnnNet, rows: OpenRows, tops: Sequence[_Top]) -> None:
    """Max-pool over the slots and, as a floor, over everything else, 0 included; then the last layer."""
    pooled = [graph.add(MaxOfSlots(_floor(rows, top)), *(slot.node for slot in top.slots)) for top in tops]
    joined = graph.add(Join((net.settings.filters,) * len(pooled)), *pooled) if len(pooled) > 1 else pooled[0]
    graph.add(Affine(*_wide(net.last)), joined)


def _floor(rows: OpenRows, top: _Top) -> Tensor:
    """The largest output of each row at places that are not open, at least 0: (N, F)."""
    # a slot outside of the text is cut to its end, which the same word reaches too
    places = torch.stack([slot.places for slot in top.slots], 1).clamp(min=0).minimum(rows.lengths[rows.text, None] - 1)
    count = max(1, _CELLS // top.outputs[0].numel())
    found = []
    for texts, open_ in zip(torch.split(rows.text, count), torch.split(places, count), strict=True):
        closed = top.outputs[texts]
        found.append(closed.scatter_(1, open_[:, :, None].expand(-1, -1, closed.shape[2]), -torch.inf).amax(1))
    return torch.cat(found).relu()


def _add_flat(graph: Graph, net: CnnNet, rows: OpenRows, tops: Sequence[_Top]) -> None:
    """The last layer over all places: the slots with the weights of their places, everything else in the base."""
    weight, bias = _wide(net.last)
    weight = weight.view(len(weight), len(tops), -1, net.settings.filters)
    logits = bias.expand(len(rows.vectors), -1)
    for branch, top in enumerate(tops):
        own = weight[:, branch, : top.outputs.shape[1]]
        logits = logits + torch.einsum("tlf,clf->tc", top.outputs.relu(), own)
    base = logits[rows.text]
    weights = []
    for branch, top in enumerate(tops):
        for slot in top.slots:
            own = weight[:, branch, slot.places.clamp(0, weight.shape[2] - 1)].transpose(0, 1)  # (N, classes, F)
            weights.append(own * slot.inside[:, None, None])
            base = base - torch.einsum("nf,ncf->nc", slot.original, weights[-1])
    graph.add(SumOfSlots(tuple(weights), base), *(slot.node for top in tops for slot in top.slots))
