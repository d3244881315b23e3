"""LSTM and BiLSTM as operations: the same logits, and bounds that hold for every point of a region."""

import itertools
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from lexproof.bounds.backward import Relaxation, interval_relaxation, linear_relaxation
from lexproof.bounds.region import SwapRegion
from lexproof.victims.lstm import BiLstmNet, BiLstmSettings, LstmNet, LstmSettings
from lexproof.victims.lstm_graph import lstm_graph

DIM = 3
KINDS = ["lstm", "bilstm"]


def random_net(kind: str, seed: int, *, units: int = 3, scale: float = 2.0) -> LstmNet | BiLstmNet:
    """A network in float64 with weights large enough to saturate gates."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if kind == "lstm":
            net: LstmNet | BiLstmNet = LstmNet(3, 3, LstmSettings(dim=DIM, units=units))
        else:
            net = BiLstmNet(3, 3, BiLstmSettings(dim=DIM, units=units))
    net.eval().requires_grad_(False)
    for weight in net.parameters():
        weight.mul_(scale)
    return net.double()


def random_texts(seed: int, length: int, rows: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Vectors (N, L, dim), open places (N, P), substitutes (N, P, 2, dim): one is no change, two are equal."""
    generator = torch.Generator().manual_seed(seed)
    count = int(torch.randint(0, min(length, 3) + 1, (1,), generator=generator))
    vectors = torch.randn(rows, length, DIM, generator=generator, dtype=torch.float64)
    places = torch.stack([torch.randperm(length, generator=generator)[:count] for _ in range(rows)])
    options = torch.randn(rows, count, 2, DIM, generator=generator, dtype=torch.float64)
    if count:
        options[0, 0, 1] = options[0, 0, 0]
        options[1, 0, 0] = vectors[1, places[1, 0]]
    return vectors, places, options


def changed(vectors: Tensor, places: Tensor, options: Tensor, budget: int) -> Iterator[Tensor]:
    """All texts with at most so many swaps, row by row in step."""
    for choice in itertools.product(range(options.shape[2] + 1), repeat=places.shape[1]):
        if sum(j > 0 for j in choice) <= budget:
            texts = vectors.clone()
            for p, j in enumerate(choice):
                if j:
                    texts[torch.arange(len(texts)), places[:, p]] = options[:, p, j - 1]
            yield texts


def ends(places: Tensor) -> tuple[int, int]:
    return (int(places.min()), int(places.max())) if places.numel() else (0, 0)


def region_of(vectors: Tensor, places: Tensor, options: Tensor, features, budget: int) -> SwapRegion:  # type: ignore[no-untyped-def]
    original = features(vectors)
    old = torch.gather(original, 1, places[:, :, None].expand(-1, -1, original.shape[2]))
    return SwapRegion(original, places, features(options) - old[:, :, None], torch.full((len(vectors),), budget))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [1, 2, 5])
def test_the_graph_is_the_network(kind: str, length: int) -> None:
    for seed in range(10):
        net = random_net(kind, seed)
        vectors, places, options = random_texts(seed, length)
        graph, features = lstm_graph(net, vectors, *ends(places))
        for texts in changed(vectors, places, options, budget=3):
            expected = net.logits(texts, torch.full((len(texts),), length))
            torch.testing.assert_close(graph.value(features(texts)), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_float32_weights_are_read_as_they_are(kind: str) -> None:
    net = random_net(kind, 0).float()
    vectors, _, _ = random_texts(0, 4)
    graph, features = lstm_graph(net, vectors.float().double(), 0, 3)
    wide = random_net(kind, 0)
    wide.load_state_dict(net.state_dict())
    expected = wide.logits(vectors.float().double(), torch.full((2,), 4))
    torch.testing.assert_close(graph.value(features(vectors.float().double())), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_steps_that_no_swap_reaches_are_constants(kind: str) -> None:
    net = random_net(kind, 1)
    vectors, _, _ = random_texts(1, 5)
    all_steps, _ = lstm_graph(net, vectors, 0, 4)
    few, _ = lstm_graph(net, vectors, 3, 3)  # 2 steps ahead, 4 back
    names = [[node.op.name for node in graph.nodes].count("LSTM cell state") for graph in (all_steps, few)]
    assert names == ([5, 2] if kind == "lstm" else [10, 6])


def assert_contains(relaxation: Relaxation, values: list[Tensor]) -> None:
    for box, value in zip(relaxation.boxes, values, strict=True):
        assert (box.low - 1e-9 <= value).all() and (value <= box.high + 1e-9).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("budget", [0, 1, 2, 3])
def test_bounds_hold_at_every_point(kind: str, budget: int) -> None:
    for seed in range(6):
        net = random_net(kind, seed, units=2 + seed % 3, scale=0.5 + seed % 3)
        vectors, places, options = random_texts(seed + 100, length=1 + seed % 5)
        graph, features = lstm_graph(net, vectors, *ends(places))
        region = region_of(vectors, places, options, features, budget)
        form = torch.tensor([[1.0, -1, 0], [1, 0, -1], [0, -1, 0]], dtype=torch.float64).expand(2, -1, -1)
        generator = torch.Generator().manual_seed(seed)
        found = []
        for relaxation in (interval_relaxation(graph, region), linear_relaxation(graph, region)):
            slopes = {
                number: torch.rand(tensor.shape, generator=generator, dtype=torch.float64)
                for number, tensor in relaxation.default_slopes(3).items()
            }
            found += [(relaxation, relaxation.lower(graph.last, form, choice)) for choice in (None, slopes)]
        for texts in changed(vectors, places, options, budget):
            values = graph.values(features(texts))
            exact = torch.einsum("nsc,nc->ns", form, values[-1])
            for relaxation, lower in found:
                assert (lower <= exact + 1e-9).all()
                assert_contains(relaxation, values)


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_are_exact_without_a_budget(kind: str) -> None:
    net = random_net(kind, 2)
    vectors, places, options = random_texts(5, 4)
    assert places.shape[1]
    graph, features = lstm_graph(net, vectors, *ends(places))
    relaxation = linear_relaxation(graph, region_of(vectors, places, options, features, 0))
    form = torch.eye(3, dtype=torch.float64).expand(2, -1, -1)
    torch.testing.assert_close(relaxation.lower(graph.last, form), graph.value(features(vectors)), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_are_differentiable_in_the_weights(kind: str) -> None:
    net = random_net(kind, 3).requires_grad_(True)
    vectors, places, options = random_texts(5, 4)
    graph, features = lstm_graph(net, vectors, *ends(places))
    region = region_of(vectors, places, options, features, 1)
    linear_relaxation(graph, region).lower(graph.last, torch.ones(2, 1, 3, dtype=torch.float64)).sum().backward()
    for name, weight in net.named_parameters():
        if name != "embedding.weight":
            assert weight.grad is not None and torch.isfinite(weight.grad).all() and weight.grad.any(), name
