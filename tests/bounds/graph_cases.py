"""Small random graphs over regions of swaps: the shapes that victims have, and one that reads a value twice."""

from __future__ import annotations

from collections.abc import Callable

import torch
from swap_cases import normal, random_region
from torch import Tensor

from lexproof.bounds.backward import margins
from lexproof.bounds.first_ops import SumOfWords, Windows
from lexproof.bounds.graph import Graph
from lexproof.bounds.linear_ops import Add, Affine, Constant, Conv, Flatten, Join
from lexproof.bounds.maxpool import MaxPool
from lexproof.bounds.region import SwapRegion
from lexproof.bounds.relu import Relu

LENGTH, CLASSES, ROUNDING = 4, 3, 1e-10
BUDGETS = (0, 1, 2, 9)


class Weights:
    """Random weights, one after the other; or given ones, so that they may be differentiated."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        self.made: list[Tensor] = []

    def __call__(self, *shape: int) -> Tensor:
        self.made.append(normal(self.generator, *shape) * 0.7)
        return self.made[-1]

    def affine(self, out: int, given: int) -> Affine:
        return Affine(self(out, given), self(out))


def mlp(weights: Weights) -> tuple[Graph, int]:
    graph = Graph()
    hidden = graph.add(Relu(), graph.add(SumOfWords(weights(5), LENGTH), 0))
    graph.add(weights.affine(CLASSES, 5), hidden)
    return graph, 5


def deep_mlp(weights: Weights) -> tuple[Graph, int]:
    graph = Graph()
    value = graph.add(Relu(), graph.add(SumOfWords(weights(5), LENGTH), 0))
    for _ in range(2):
        value = graph.add(Relu(), graph.add(weights.affine(4 if value > 3 else 5, 5), value))
    graph.add(weights.affine(CLASSES, 4), value)
    return graph, 5


def cnn(weights: Weights) -> tuple[Graph, int]:
    graph = Graph()
    pooled = graph.add(MaxPool(rectified=True), graph.add(Windows((2, 3), 2, weights(4)), 0))
    graph.add(weights.affine(CLASSES, 4), pooled)
    return graph, 10


def deep_cnn(weights: Weights) -> tuple[Graph, int]:
    graph = Graph()
    value = graph.add(Relu(), graph.add(Windows((3,), 2, weights(2)), 0))
    value = graph.add(Conv(weights(2, 2, 3), weights(2)), value)
    graph.add(weights.affine(CLASSES, 2), graph.add(MaxPool(), value))
    return graph, 6


def flat_cnn(weights: Weights) -> tuple[Graph, int]:
    graph = Graph()
    value = graph.add(Relu(), graph.add(Windows((3,), 2, weights(2)), 0))
    graph.add(weights.affine(CLASSES, 2 * LENGTH), graph.add(Flatten((LENGTH, 2)), value))
    return graph, 6


def residual(weights: Weights) -> tuple[Graph, int]:
    """A value that is read twice, a constant beside it, and a first layer without a range of its own."""
    graph = Graph()
    first = graph.add(weights.affine(3, 2), 0)
    fired = graph.add(Relu(), first)
    pooled = graph.add(MaxPool(), graph.add(Add(), first, fired))
    beside = graph.add(Constant(weights(1, 2)))
    graph.add(weights.affine(CLASSES, 5), graph.add(Join((3, 2)), pooled, beside))
    return graph, 2


Maker = Callable[[Weights], tuple[Graph, int]]

MAKERS: list[Maker] = [mlp, deep_mlp, cnn, deep_cnn, flat_cnn, residual]


def case(make: Maker, seed: int, **shape: int) -> tuple[Graph, SwapRegion]:
    graph, width = make(Weights(seed))
    settings = {"length": LENGTH, "places": 3, "depth": 2, "budgets": BUDGETS, "whole": seed % 2 == 0, **shape}
    region = random_region(seed, width=width, **settings)  # type: ignore[arg-type]
    return graph.repeated(len(region.original)), region


def all_margins(rows: int, label: int = 0) -> Tensor:
    return margins(CLASSES, label, [k for k in range(CLASSES) if k != label]).expand(rows, -1, -1)
