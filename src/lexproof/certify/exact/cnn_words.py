"""From a convolutional word model and a bound space to the numbers that the exact solver reads.

The model's float32 weights are read as the float64 numbers that they are, so the net is the model's function over the
reals, and the model's own scores lie within its stated rounding of it.

A whole-text predicate of the space is not read: a proof then covers more texts than the space has, and a witness has
to be checked against the predicate.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from lexproof.certify.exact.cnn_net import WindowedNet
from lexproof.errors import NoRule
from lexproof.points import FloatArray, IntArray
from lexproof.victims.cnn import Cnn, CnnNet
from lexproof.victims.word_candidates import token_candidates
from lexproof.victims.word_space import WordBound


def windowed_net(victim: Cnn, bound: WordBound, label: int, targets: Sequence[int]) -> tuple[WindowedNet, IntArray]:
    """The net of `label` against the rivals `targets`, and (S, 2) position and choice of each candidate.

    Candidates are the swaps that change what the model reads: of substitutes with the same token only the first, none
    with the token of the word itself (words that the model does not know), none past `max_length`.  What is left out
    has the margins of a point with no more swaps that is not.
    """
    convs = _convolutions(victim)
    swaps = token_candidates(bound)
    distinct = np.sort(np.unique(np.column_stack([swaps.at, swaps.token]), axis=0, return_index=True)[1])
    start, token, ids = swaps.at[distinct], swaps.token[distinct], swaps.ids
    filters, left, right = _filters(convs)
    width = len(filters)
    table = victim.net.embedding.weight
    framed = np.zeros((len(ids) + width - 1, table.shape[1]))
    framed[left : left + len(ids)] = vectors = _numbers(table[torch.from_numpy(ids)])
    biases = [_numbers(conv.bias) for conv in convs if conv.bias is not None]
    z = np.concatenate(biases) + sum(framed[at : at + len(ids)] @ part for at, part in enumerate(filters))
    difference = _numbers(table[torch.from_numpy(token)]) - vectors[start]
    # the place `right` before a word sees it as the last of its window
    change = np.stack([difference @ part for part in filters[::-1]], axis=1)
    assert isinstance(victim.net, CnnNet)
    weight, bias = _numbers(victim.net.last.weight), _numbers(victim.net.last.bias)
    rivals = list(targets)
    net = WindowedNet(z, start, change, right, weight[label] - weight[rivals], bias[label] - bias[rivals])
    return net, np.column_stack([swaps.word, swaps.choice])[distinct].astype(np.int32)


def _convolutions(victim: Cnn) -> list[nn.Conv1d]:
    net = victim.net
    if not isinstance(net, CnnNet) or net.is_flat or net.settings.layers != 1:
        raise NoRule(
            "expected a single convolution with max-pool for the exact solver, got "
            f"{victim.settings}; use linear bounds or enumeration"
        )
    return [part.stack[0] for part in net.parts]


def _numbers(tensor: Tensor) -> FloatArray:
    numbers: FloatArray = tensor.detach().double().numpy()
    return numbers


def _filters(convs: Sequence[nn.Conv1d]) -> tuple[FloatArray, int, int]:
    """All filters as (width, dim, filters) of one width, and how many words before and after a place they see."""
    sizes = [conv.kernel_size[0] for conv in convs]
    left, right = max((size - 1) // 2 for size in sizes), max(size // 2 for size in sizes)
    parts = []
    for conv, size in zip(convs, sizes, strict=True):
        part = np.zeros((left + 1 + right, conv.in_channels, conv.out_channels))
        begin = left - (size - 1) // 2
        part[begin : begin + size] = _numbers(conv.weight).transpose(2, 1, 0)
        parts.append(part)
    return np.concatenate(parts, axis=2), left, right
