"""A multi-layer perceptron as a function of a few open words.

The first layer is additive over positions: the open words add W_t x_t each, with the weights of their positions, or
W x_t / length for a mean; the rest of the text is a constant.  So the hidden layer has an exact range over a ball, and
all texts with the same number of open tokens are one network.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from lexproof.bounds.ball_network import BallNetwork
from lexproof.bounds.graph import Graph
from lexproof.bounds.linear_ops import Affine
from lexproof.bounds.relu import Relu
from lexproof.bounds.slots import OpenWords
from lexproof.victims.ball_rows import OpenRows
from lexproof.victims.mlp import MlpNet
from lexproof.victims.open_tokens import OpenTokens
from lexproof.victims.scale import Scale


def mlp_balls(net: MlpNet, scale: Scale, tokens: Sequence[OpenTokens]) -> list[tuple[list[int], BallNetwork]]:
    """The networks of these texts: numbers of the rows, and the network of these rows in that order."""
    groups: dict[int, list[int]] = {}
    for number, own in enumerate(tokens):
        groups.setdefault(len(own.places), []).append(number)
    return [(rows, _network(net, OpenRows.of(net, scale, [tokens[k] for k in rows]))) for rows in groups.values()]


def _network(net: MlpNet, rows: OpenRows) -> BallNetwork:
    first, bias = net.first.detach().double(), net.bias.detach().double()  # (places, d, H)
    if net.is_flat:
        hidden = torch.einsum("tld,ldh->th", rows.vectors, first[: rows.vectors.shape[1]])
        weight = first[rows.places]  # (N, K, d, H)
    else:
        hidden = rows.vectors.sum(1) @ first[0] / rows.lengths[:, None]
        weight = (first[0] / rows.lengths[rows.text, None, None])[:, None].expand(-1, rows.places.shape[1], -1, -1)
    weight = (weight * rows.scale.width[:, None]).permute(0, 3, 1, 2)  # (N, H, K, d)
    base = (hidden + bias)[rows.text] - torch.einsum("nkd,nhkd->nh", rows.center, weight)
    graph = Graph()
    fired = graph.add(Relu(), graph.add(OpenWords(weight, base, 0, rows.places.shape[1]), 0))
    graph.add(Affine(net.last.weight.detach().double(), net.last.bias.detach().double()), fired)
    return rows.network(graph)
