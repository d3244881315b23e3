"""Perceptrons as functions of open words: the network's own logits, exact hidden layers, sound bounds."""

import pytest
import torch
from word_balls import check_bounds, check_values, random_tokens, scale_of, tokens_of

from lexproof.bounds.ball import NORMS, BallRegion
from lexproof.bounds.graph import Box
from lexproof.victims.ball_mlp import mlp_balls
from lexproof.victims.mlp import MlpNet
from small_victims import word_victim

SHAPES = ["mlp", "mlp-mean"]


def net_of(shape: str, seed: int) -> MlpNet:
    net = word_victim(shape, seed, max_length=12).net  # type: ignore[attr-defined]
    assert isinstance(net, MlpNet)
    return net


@pytest.mark.parametrize("shape", SHAPES)
def test_values_are_the_networks_logits_wherever_the_words_are(shape: str) -> None:
    check_values(net_of(shape, 1), random_tokens(1, 40, longest=12), mlp_balls)


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_with_as_many_open_tokens_are_one_network(shape: str) -> None:
    net = net_of(shape, 2)
    tokens = [tokens_of([3, 4, 5], [0]), tokens_of([3, 4, 5], [0, 2]), tokens_of([7], [0]), tokens_of([6, 6], [0, 1])]
    assert [rows for rows, _ in mlp_balls(net, scale_of(net), tokens)] == [[0, 2], [1, 3]]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_against_descent(shape: str, seed: int) -> None:
    check_bounds(net_of(shape, seed), random_tokens(seed, 12, longest=9, most=3), mlp_balls)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_range_of_a_hidden_unit_is_attained(shape: str, norm: float) -> None:
    net = net_of(shape, 3)
    ((_, network),) = mlp_balls(net, scale_of(net), [tokens_of([3, 4, 5, 6], [1, 2]), tokens_of([8, 9], [0, 1])])
    graph = network.graph(torch.arange(2))
    region = BallRegion(network.center, torch.tensor([0.2, 0.6]).double(), norm, network.low, network.high)
    low = network.relaxation(graph, region).boxes[1].low
    for unit in range(low.shape[1]):
        form = torch.zeros_like(low)[:, None]
        form[:, :, unit] = 1.0
        (given,), _ = graph.nodes[0].op.relax(Box(*region.box())).pull(form)
        given = given.requires_grad_()
        (point,) = torch.autograd.grad(region.minimum(given).sum(), given)  # where the form is least
        torch.testing.assert_close(graph.values(point[:, 0])[1][:, unit], low[:, unit])


def test_there_may_be_no_rows() -> None:
    net = net_of("mlp", 0)
    assert mlp_balls(net, scale_of(net), []) == []
