"""Word models as programs for the bound engine: words become what they contribute to the first layer, in float64.

Bounds are differentiable in the weights of a network whose weights ask for it; those of a victim do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from lexproof.bounds.first_ops import SumOfWords, Windows
from lexproof.bounds.graph import Graph
from lexproof.bounds.linear_ops import Affine, Conv, Flatten
from lexproof.bounds.maxpool import MaxPool
from lexproof.bounds.program import Program
from lexproof.bounds.relu import Relu
from lexproof.errors import NoRule
from lexproof.victims.cnn import CnnNet
from lexproof.victims.lstm import BiLstmNet, LstmNet
from lexproof.victims.mlp import MlpNet
from lexproof.victims.word_candidates import TokenCandidates
from lexproof.victims.word_net import WordNet
from lexproof.victims.word_slots import region_of, slots_of

Features = Callable[[Tensor, Tensor], Tensor]
"""Word vectors (..., dim) at token positions (...) to the contributions that the region holds (..., d)."""


class Lowered(NamedTuple):
    """The operations after the first layer's contributions, and what gives the contributions."""

    graph: Graph
    features: Features


def word_program(net: WordNet, texts: Sequence[TokenCandidates], budget: int) -> Program:
    """The program of texts with the same number of tokens."""
    ids = torch.from_numpy(np.stack([text.ids for text in texts]))
    slots = slots_of(texts)
    table = net.embedding.weight
    vectors, tokens = table[ids].double(), torch.from_numpy(slots.tokens)
    places = torch.from_numpy(slots.places)
    lowered = _lowered(net, vectors, places[torch.from_numpy(slots.swaps[..., 1].any(2))])
    original = lowered.features(vectors, torch.arange(ids.shape[1]).expand_as(ids))
    new = lowered.features(table[tokens].double(), places[:, :, None].expand_as(tokens))
    return Program(lowered.graph, region_of(original, new, slots, budget), slots.swaps)


def _lowered(net: WordNet, vectors: Tensor, places: Tensor) -> Lowered:
    """The operations for texts with these vectors that may be swapped at these places."""
    length = vectors.shape[1]
    if isinstance(net, MlpNet):
        return _mlp(net, length)
    if isinstance(net, CnnNet):
        return _cnn(net, length)
    if isinstance(net, LstmNet | BiLstmNet):
        from lexproof.victims.lstm_graph import lstm_graph

        first, last = (int(places.min()), int(places.max())) if places.numel() else (0, 0)
        graph, features = lstm_graph(net, vectors, first, last)
        return Lowered(graph, lambda words, at: features(words))
    raise NoRule(f"no bound rule for the network {type(net).__name__!r}")


def _wide(layer: torch.nn.Linear | torch.nn.Conv1d) -> tuple[Tensor, Tensor]:
    assert layer.bias is not None
    return layer.weight.double(), layer.bias.double()


def _mlp(net: MlpNet, length: int) -> Lowered:
    first = net.first.double()  # (places, dim, hidden)
    graph = Graph()
    hidden = graph.add(SumOfWords(net.bias.double(), length), 0)
    graph.add(Affine(*_wide(net.last)), graph.add(Relu(), hidden))

    def features(words: Tensor, at: Tensor) -> Tensor:
        if not net.is_flat:
            return words @ first[0] / length
        return torch.einsum("...d,...dh->...h", words, first[at])

    return Lowered(graph, features)


def _cnn(net: CnnNet, length: int) -> Lowered:
    settings = net.settings
    first = [part.stack[0] for part in net.parts]
    # (dim, blocks of F): block k of a branch is what the word adds to the output at its position + left - k
    reach = torch.cat([_wide(conv)[0].permute(1, 2, 0).flatten(1) for conv in first], 1)
    bias = torch.cat([_wide(conv)[1] for conv in first])
    graph = Graph()
    value = graph.add(Windows(settings.widths, settings.filters, bias), 0)
    if len(settings.widths) == 1:
        for conv in net.parts[0].stack[1:]:
            value = graph.add(Conv(*_wide(conv)), graph.add(Relu(), value))
    elif settings.layers > 1:
        raise NoRule("no bound rule for convolutions of several widths and several layers")
    if net.is_flat:
        if len(settings.widths) > 1:
            raise NoRule("no bound rule for convolutions of several widths that are flattened")
        weight, last_bias = _wide(net.last)
        seen = weight.view(len(weight), -1, settings.filters)[:, :length].flatten(1)
        fired = graph.add(Relu(), value)
        graph.add(Affine(seen, last_bias), graph.add(Flatten((length, settings.filters)), fired))
    else:
        graph.add(Affine(*_wide(net.last)), graph.add(MaxPool(rectified=True), value))
    return Lowered(graph, lambda words, at: words @ reach)
