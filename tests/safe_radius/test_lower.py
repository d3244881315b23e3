"""The search for the largest certified radius."""

import math
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from lexproof.bounds.backward import Check, Relaxation, linear_relaxation
from lexproof.bounds.ball import BallRegion
from lexproof.bounds.graph import Graph
from lexproof.bounds.linear_ops import Affine, Flatten
from lexproof.bounds.relu import Relu
from lexproof.certify.deadline import TimeUp
from lexproof.safe_radius.lower import certified_radii, margin_bound, margin_forms

NORMS = [1.0, 2.0, math.inf]
DUAL = {1.0: math.inf, 2.0: 2.0, math.inf: 1.0}


@dataclass(frozen=True)
class Layers:
    """Affine layers with ReLUs between them on K words of d dimensions."""

    center: Tensor
    weights: list[tuple[Tensor, Tensor]]
    top: float = 1.0

    @property
    def low(self) -> Tensor:
        return torch.zeros_like(self.center)

    @property
    def high(self) -> Tensor:
        return torch.full_like(self.center, self.top)

    def graph(self, rows: Tensor) -> Graph:
        graph = Graph()
        value = graph.add(Flatten(tuple(self.center.shape[1:])), 0)
        for k, layer in enumerate(self.weights):
            value = graph.add(Affine(*layer), graph.add(Relu(), value) if k else value)
        return graph

    def relaxation(self, graph: Graph, region: BallRegion, check: Check | None = None) -> Relaxation:
        return linear_relaxation(graph, region, check)


def network(seed: int, *, rows: int = 5, words: int = 2, dim: int = 3, hidden: int = 8, classes: int = 3) -> Layers:
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    center = torch.rand(rows, words, dim, generator=generator, dtype=torch.float64)
    first = (draw(hidden, words * dim), draw(hidden))
    return Layers(center, [first, (draw(classes, hidden), draw(classes))])


def predicted(net: Layers) -> Tensor:
    return net.graph(torch.arange(len(net.center))).value(net.center).argmax(1)


@pytest.mark.parametrize("norm", NORMS)
def test_the_radius_of_a_linear_network_is_the_distance_to_its_border(norm: float) -> None:
    weight = torch.tensor([[1.0, -2.0, 0.5, 0.0], [0.0, 1.0, 0.0, 0.0]], dtype=torch.float64)
    net = Layers(torch.full((1, 2, 2), 0.5, dtype=torch.float64), [(weight, torch.tensor([1.0, 0.0]).double())])
    margin, slope = float((weight[0] - weight[1]).sum() * 0.5 + 1.0), weight[0] - weight[1]
    wanted = margin / float(torch.linalg.vector_norm(slope, ord=DUAL[norm]))
    assert wanted < 0.5, "the box must not bind in this test"
    found = float(certified_radii(net, torch.tensor([0]), norm, tolerance=1e-4)[0])
    assert wanted * (1 - 2e-4) <= found <= wanted


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(6))
def test_the_radius_is_proven_and_a_larger_one_is_not(norm: float, seed: int) -> None:
    net = network(seed)
    labels, rows = predicted(net), torch.arange(len(net.center))
    found = certified_radii(net, labels, norm, theta=1e-3, tolerance=0.02)
    finite = found.isfinite()
    assert (found > 0).all()
    assert (margin_bound(net, rows[finite], found[finite], labels[finite], norm) > 1e-3).all()
    assert (margin_bound(net, rows[finite], found[finite] / 0.97, labels[finite], norm) <= 1e-3).all()


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(6))
def test_no_point_of_the_ball_changes_the_label(norm: float, seed: int) -> None:
    net = network(seed)
    labels, rows = predicted(net), torch.arange(len(net.center))
    radius = certified_radii(net, labels, norm)
    generator = torch.Generator().manual_seed(seed)
    graph = net.graph(rows)
    for _ in range(300):
        step = torch.randn(net.center.shape, generator=generator, dtype=torch.float64).sign()
        step = step * torch.rand(net.center.shape, generator=generator, dtype=torch.float64).pow(3)
        size = torch.linalg.vector_norm(step.flatten(1), ord=norm, dim=1).clamp(min=1e-12)
        step = step * (radius.clamp(max=9.0) / size)[:, None, None]
        assert (graph.value((net.center + step).clamp(0, net.top)).argmax(1) == labels).all()


def test_a_margin_within_theta_certifies_nothing() -> None:
    net = network(0)
    labels = predicted(net)
    assert (certified_radii(net, labels, 2.0, theta=1e6) == 0).all()
    assert (certified_radii(net, (labels + 1) % 3, 2.0) == 0).all()


def test_a_whole_box_that_is_safe_is_infinite() -> None:
    net = network(1)
    net.weights[-1] = (net.weights[-1][0] * 1e-3, torch.tensor([5.0, 0.0, 0.0], dtype=torch.float64))
    for norm in NORMS:
        assert certified_radii(net, torch.zeros(5, dtype=torch.long), norm).isinf().all()


def test_words_that_cannot_move_are_safe() -> None:
    center = torch.zeros(1, 1, 2, dtype=torch.float64)
    net = Layers(center, [(torch.eye(2, dtype=torch.float64), torch.tensor([1.0, 0.0]).double())], top=0.0)
    assert certified_radii(net, torch.tensor([0]), 2.0).isinf().all()


def test_time_that_is_up_leaves_what_is_proven() -> None:
    net = network(2)
    labels = predicted(net)
    whole = certified_radii(net, labels, 2.0)
    calls = 0

    def check() -> None:
        nonlocal calls
        calls += 1
        if calls > 5:
            raise TimeUp

    part = certified_radii(net, labels, 2.0, check=check)
    assert (part <= whole).all()
    assert (part < whole).any()
    assert (part > 0).any()

    def up() -> None:
        raise TimeUp

    assert (certified_radii(net, labels, 2.0, check=up) == 0).all()


def test_bounds_that_are_no_numbers_prove_nothing() -> None:
    net = network(3)
    huge = (net.weights[0][0] * 1e308, net.weights[0][1])
    broken = Layers(net.center, [huge, (net.weights[1][0] * 1e308, net.weights[1][1])])
    radius = certified_radii(broken, torch.zeros(5, dtype=torch.long), 2.0)
    assert (radius == 0).all()


def test_many_rows_are_searched_in_parts_alike() -> None:
    net = network(4, rows=150, words=1)
    labels = predicted(net)
    together = certified_radii(net, labels, 2.0)
    for row in (0, 63, 64, 149):
        alone = Layers(net.center[row : row + 1], net.weights)
        found = float(certified_radii(alone, labels[row : row + 1], 2.0)[0])
        assert found == pytest.approx(float(together[row]), rel=0.01)


def test_margins_are_those_over_all_other_classes() -> None:
    forms = margin_forms(torch.tensor([1, 0]), 3)
    logits = torch.tensor([[5.0, 7.0, 1.0], [5.0, 7.0, 1.0]], dtype=torch.float64)
    assert (forms * logits[:, None]).sum(2).tolist() == [[2.0, 6.0], [-2.0, 4.0]]


def test_there_may_be_no_rows() -> None:
    assert certified_radii(network(0), torch.zeros(0, dtype=torch.long), 2.0).shape == (0,)
