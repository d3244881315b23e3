"""Intervals of a convolutional network over the swaps of a batch: see `word_intervals` for what they guarantee.

The first layer is a sum over the words of a window.  Its box is therefore its value on the text plus, for each end, the
sum of the changes of the places in the window that have substitutes: only those places are worked on, and the value on
the text itself, looked up from the same table of tokens, is there for the clean loss.

Under a budget of r swaps a window takes the r best of its changes, which is exact for each output by itself.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from lexproof.bounds.graph import Box
from lexproof.bounds.linear_ops import Conv
from lexproof.bounds.region import least_sum_of_positions
from lexproof.bounds.relu import Relu
from lexproof.victims.cnn import CnnNet
from lexproof.victims.swap_sets import SwapSets, changes
from lexproof.victims.word_intervals import Features, Swapping
from lexproof.victims.word_net import mask


class _Layer(NamedTuple):
    """Outputs of a branch (B, L, filters): on the text itself, and their box."""

    text: Tensor
    box: Box


def cnn_features(net: CnnNet, given: Swapping) -> Features:
    """What the last layer reads: the largest output of each filter, or all outputs, branch by branch."""
    sets, vectors = given.sets, net.embedding(given.sets.tokens)
    outside = ~mask(sets.lengths, sets.slots.shape[1])[:, :, None]
    if not net.is_flat and net.settings.layers == 1:
        return _pooled(net, vectors, given, outside)
    tops = []
    for part in net.parts:
        layer = _fired(_first(part.stack[0], vectors, given), outside)
        for conv in part.stack[1:]:
            assert conv.bias is not None
            above = Conv(conv.weight, conv.bias)
            layer = _fired(_Layer(above.value(layer.text), above.interval(layer.box)), outside)
        tops.append(layer)
    sides = [[top.text for top in tops], [top.box.low for top in tops], [top.box.high for top in tops]]
    weight = net.last.weight
    if net.is_flat:
        text, low, high = (torch.stack(side, 1).flatten(1) for side in sides)  # (B, branch, L, filters)
        weight = weight.view(len(weight), len(tops), -1, net.settings.filters)[:, :, : outside.shape[1]].flatten(1)
    else:
        text, low, high = (torch.cat([end.amax(1) for end in side], 1) for side in sides)
    return Features(Box(low, high), weight, net.last.bias, text)


def _pooled(net: CnnNet, vectors: Tensor, given: Swapping, outside: Tensor) -> Features:
    """A single layer with max-pool: the ReLU of the largest output is the largest after the ReLU, and far less work."""
    gone = torch.zeros(outside.shape).masked_fill(outside, -torch.inf)
    layers = [_first(part.stack[0], vectors, given, gone) for part in net.parts]
    sides = [[own.text for own in layers], [own.box.low for own in layers], [own.box.high for own in layers]]
    text, low, high = (torch.relu(torch.cat([end.amax(1) for end in side], 1)) for side in sides)
    return Features(Box(low, high), net.last.weight, net.last.bias, text)


def _fired(layer: _Layer, outside: Tensor) -> _Layer:
    """After the ReLU, and 0 outside the text."""
    text, low, high = (
        part.masked_fill(outside, 0.0) for part in (Relu().value(layer.text), *Relu().interval(layer.box))
    )
    return _Layer(text, Box(low, high))


def _first(conv: nn.Conv1d, vectors: Tensor, given: Swapping, gone: Tensor | float = 0.0) -> _Layer:
    """The first layer of a branch, before its ReLU; `gone` (B, L, 1) is added, to take places away."""
    filters, _, width = conv.weight.shape
    sets, (count, length) = given.sets, given.sets.slots.shape
    table = vectors @ conv.weight.permute(1, 2, 0).flatten(1)  # (T, width * filters): by place in the window
    around = nn.functional.pad(sets.slots, ((width - 1) // 2, width // 2))  # slot 0 is <pad>, which adds nothing
    at = (around.unfold(1, width, 1) * width + torch.arange(width)).reshape(-1, width)
    text = nn.functional.embedding_bag(at, table.view(-1, filters), mode="sum").view(count, length, filters)
    assert conv.bias is not None
    text = text + (conv.bias + gone)
    lows, highs = changes(table, sets.columns, given.scale)
    if given.budget is None or int(given.budget.min()) >= width:
        low, high = (_spread(sets, end, width) for end in (lows, highs))
    else:
        low = _least(sets, lows, width, given.budget)
        high = -_least(sets, -highs, width, given.budget)
    return _Layer(text, Box(text + low, text + high))


def _outputs(sets: SwapSets, width: int) -> Tensor:
    """The windows that a place stands in, as their first, second … word, with a margin around each text: (P, width).

    The word at place p is word k of the window around place p + left - k, which has number p + width - 1 - k there.
    """
    length = sets.slots.shape[1]
    text, place = sets.places // length, sets.places % length
    return (text * (length + width - 1) + place)[:, None] + torch.arange(width - 1, -1, -1)


def _inner(outputs: Tensor, sets: SwapSets, width: int) -> Tensor:
    """The windows around places of the texts, without the margin: (B * (L + width - 1), ...) to (B, L, ...)."""
    count, length = sets.slots.shape
    framed = outputs.view(count, length + width - 1, *outputs.shape[1:])
    return framed[:, width // 2 : width // 2 + length]


def _spread(sets: SwapSets, ends: Tensor, width: int) -> Tensor:
    """The sum of the ends (P, width * filters) over the places of each window: (B, L, filters)."""
    count, length = sets.slots.shape
    parts = ends.view(len(ends) * width, ends.shape[1] // width)  # told in full: there may be no place at all
    sums = parts.new_zeros(count * (length + width - 1), parts.shape[1])
    return _inner(sums.index_add(0, _outputs(sets, width).flatten(), parts), sets, width)


def _least(sets: SwapSets, ends: Tensor, width: int, budget: Tensor) -> Tensor:
    """The sum of the budget[b] least of the ends, which are at most 0, over the places of each window."""
    count, length = sets.slots.shape
    parts = ends.view(len(ends) * width, ends.shape[1] // width)
    rows = _outputs(sets, width) * width + torch.arange(width)  # each word of a window apart
    apart = parts.new_zeros(count * (length + width - 1) * width, parts.shape[1]).index_copy(0, rows.flatten(), parts)
    windows = _inner(apart.view(-1, width, parts.shape[1]), sets, width)  # (B, L, width, filters)
    return least_sum_of_positions(windows.transpose(2, 3), budget)
