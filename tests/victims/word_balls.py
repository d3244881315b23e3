"""Texts with open tokens for small random word models, and what every network of open words must satisfy."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lexproof.bounds.ball import NORMS, BallRegion
from lexproof.bounds.ball_network import BallNetwork
from lexproof.victims.open_tokens import OpenTokens
from lexproof.victims.scale import Scale
from lexproof.victims.word_net import WordNet

Balls = Callable[[Any, Scale, Sequence[OpenTokens]], list[tuple[list[int], BallNetwork]]]
ROUNDING = 1e-9


def scale_of(net: WordNet) -> Scale:
    return Scale.of(net.embedding.weight[1:])


def tokens_of(ids: Sequence[int], places: Sequence[int]) -> OpenTokens:
    return OpenTokens(np.array(ids, np.int64), np.array(places, np.int64), np.zeros(len(ids), np.int64))


def random_tokens(seed: int, count: int, *, longest: int, most: int = 4, words: int = 25) -> list[OpenTokens]:
    """Texts of 1 to `longest` tokens with 1 to `most` open ones, neighbors or far apart; tokens may be repeated."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        length = int(rng.integers(1, longest + 1))
        ids = rng.integers(1, words if number % 3 else 4, length)
        size = int(rng.integers(1, min(most, length) + 1))
        if number % 2:
            start = int(rng.integers(0, length - size + 1))
            places = list(range(start, start + size))
        else:
            places = sorted(rng.choice(length, size=size, replace=False).tolist())
        found.append(tokens_of(ids.tolist(), places))
    return found


def logits_at(net: WordNet, scale: Scale, tokens: OpenTokens, scaled: Tensor) -> Tensor:
    """The network in float64 on a text whose open tokens have these scaled vectors (B, K, d)."""
    wide = copy.deepcopy(net).double()
    vectors = wide.embedding.weight[torch.from_numpy(tokens.ids)].expand(len(scaled), -1, -1).clone()
    vectors[:, torch.from_numpy(tokens.places)] = scale.raw(scaled)
    with torch.no_grad():
        return wide.logits(vectors, torch.full((len(scaled),), vectors.shape[1]))


def check_values(net: WordNet, tokens: Sequence[OpenTokens], balls: Balls) -> None:
    """Each row once; its value is the network's logits at the text, at random points and at corners of the box."""
    scale = scale_of(net)
    generator = torch.Generator().manual_seed(0)
    found = balls(net, scale, tokens)
    assert sorted(row for rows, _ in found for row in rows) == list(range(len(tokens)))
    for rows, network in found:
        inside = torch.rand(network.center.shape, generator=generator, dtype=torch.float64) * network.high
        points = torch.stack([network.center, inside, inside.round()], 1)
        graph = network.graph(torch.arange(len(rows)))
        values = torch.stack([graph.value(points[:, k]) for k in range(3)], 1)
        for at, row in enumerate(rows):
            torch.testing.assert_close(values[at], logits_at(net, scale, tokens[row], points[at]), rtol=0, atol=1e-10)


def descended(network: BallNetwork, rows: Tensor, region: BallRegion, form: Tensor, seed: int, steps: int) -> Tensor:
    """The least <form, logits> that projected gradient descent finds in each row's ball: (N,)."""
    graph, generator = network.graph(rows), torch.Generator().manual_seed(seed)
    step = torch.randn(region.center.shape, generator=generator, dtype=torch.float64)
    least = torch.full((len(rows),), math.inf, dtype=torch.float64)
    for k in range(steps):
        point = projected(region, step).requires_grad_()
        values = (graph.value(point) * form).sum(1)
        least = torch.minimum(least, values.detach())
        (gradient,) = torch.autograd.grad(values.sum(), point, allow_unused=True)
        if gradient is None:  # the words move nothing
            break
        size = gradient.sign() if region.norm == math.inf else gradient
        unit = torch.linalg.vector_norm(size.flatten(1), ord=region.norm, dim=1).clamp(min=1e-12)
        rate = region.radius * 2.0 / (k + 2)
        step = point.detach() - region.center - size * (rate / unit)[:, None, None]
    return least


def projected(region: BallRegion, step: Tensor) -> Tensor:
    """A point of each ball (not the nearest one): the step is shortened, then cut to the box."""
    length = torch.linalg.vector_norm(step.flatten(1), ord=region.norm, dim=1).clamp(min=1e-12)
    short = step * (region.radius / length).clamp(max=1.0)[:, None, None]
    return (region.center + short).clamp(region.low, region.high).detach()


def check_bounds(net: WordNet, tokens: Sequence[OpenTokens], balls: Balls, *, steps: int = 15) -> None:
    """No point of a ball is below the bound of a margin; a ball of radius 0 has the margin itself as bound."""
    classes = 3
    for _, network in balls(net, scale_of(net), tokens):
        rows = torch.arange(len(network.center))
        forms = torch.eye(classes, dtype=torch.float64)[None] - torch.eye(classes, dtype=torch.float64).roll(1, 0)[None]
        forms = forms.expand(len(rows), -1, -1)
        graph = network.graph(rows)
        at_the_text = torch.einsum("nsc,nc->ns", forms, graph.value(network.center))
        for norm in NORMS:
            for which, radius in enumerate((0.05, 0.3, 9.0, 0.0)):
                sizes = torch.full((len(rows),), radius, dtype=torch.float64)
                region = BallRegion(network.center, sizes, norm, network.low, network.high)
                lower = network.relaxation(graph, region).lower(graph.last, forms)
                if radius == 0.0:
                    torch.testing.assert_close(lower, at_the_text, rtol=0, atol=1e-9)
                    continue
                least = descended(network, rows, region, forms[:, which], which, steps)
                assert (lower[:, which] <= least + ROUNDING).all()
