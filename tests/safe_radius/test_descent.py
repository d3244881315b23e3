"""Descent to the nearest flip: exact where it is known, hardly beaten by dense sampling, honest about what it found."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import lexproof as lp  # noqa: E402
from lexproof.certify.deadline import TimeUp  # noqa: E402
from lexproof.safe_radius.descent import Flips, nearest_flip  # noqa: E402
from lexproof.safe_radius.halfspace import least_step  # noqa: E402
from lexproof.victims.balls import Item, opened  # noqa: E402
from lexproof.victims.base import Victim  # noqa: E402
from small_victims import SHAPES, WORDS, transformer_victim, word_victim  # noqa: E402

NORMS = [1.0, 2.0, math.inf]
KINDS = [*SHAPES, "transformer"]


class Function:
    """Rows that all evaluate one function of vectors (M, K, d)."""

    def __init__(self, center: Any, logits: Callable[[Any], Any], low: float = 0.0, high: float = 1.0) -> None:
        self.center = center.double()
        self.low, self.high = torch.full_like(self.center, low), torch.full_like(self.center, high)
        self.value = logits

    def graph(self, rows: Any) -> Function:
        del rows
        return self


def norms(points: Any, norm: float) -> Any:
    return torch.linalg.vector_norm(points.flatten(1), ord=norm, dim=1)


def leads(logits: Any, labels: Any) -> Any:
    own = labels[:, None]
    return (logits - logits.gather(1, own)).scatter(1, own, -math.inf).amax(1)


def check(network: Any, labels: Any, norm: float, flips: Flips, theta: float = 0.0) -> None:
    """What is returned is what it is said to be, by another evaluation."""
    logits = network.graph(torch.arange(len(labels))).value(flips.vectors)
    found = flips.found
    assert (flips.vectors >= network.low).all() and (flips.vectors <= network.high).all()
    assert (leads(logits, labels)[found] > theta).all()
    assert (logits.argmax(1) == flips.predicted)[found].all()
    torch.testing.assert_close(flips.distance[found], norms(flips.vectors - network.center, norm)[found])
    assert (flips.distance[~found] == math.inf).all()
    assert (flips.vectors[~found] == network.center[~found]).all()
    assert (flips.predicted[~found] == labels[~found]).all()


# ---------------------------------------------------------------------- where the answer is known


@pytest.mark.parametrize("theta", [0.0, 0.3])
@pytest.mark.parametrize("norm", NORMS)
def test_linear_networks_are_solved_exactly(norm: float, theta: float) -> None:
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(4, 6, generator=generator).double()
    network = Function(torch.rand(60, 2, 3, generator=generator), lambda given: given.flatten(1) @ weight.T)
    # boxes that bind, too small ones, and coordinates of width 0
    small = torch.rand(60, 1, 1, generator=generator) * (torch.rand(60, 2, 3, generator=generator) > 0.2)
    network.low, network.high = network.center * (1 - small), network.center + (1 - network.center) * small
    labels = network.value(network.center).argmax(1)
    flips = nearest_flip(network, labels, norm, theta=theta)
    check(network, labels, norm, flips, theta)
    center = network.center.flatten(1)
    best = torch.full((60,), math.inf).double()
    for rival in range(4):
        form = weight[labels] - weight[rival]
        need = (form * center).sum(1) + theta
        step = least_step(form, need, center - network.low.flatten(1), network.high.flatten(1) - center, norm)
        reaches = (-(form * step).sum(1) >= need - 1e-9) & (labels != rival)
        best = torch.where(reaches, torch.minimum(best, norms(step, norm)), best)
    assert (best < math.inf).any() and (best == math.inf).any()
    assert (flips.found == (best < math.inf)).all()
    assert (flips.distance >= best * (1 - 1e-9)).all()
    found = flips.found
    assert (flips.distance[found] <= best[found] * 1.001 + 1e-9).all()


@pytest.mark.parametrize("norm", NORMS)
def test_a_text_of_another_class_is_its_own_flip(norm: float) -> None:
    network = Function(torch.rand(3, 1, 2), lambda given: torch.stack([given[:, 0, 0], given[:, 0, 0] + 1], 1))
    flips = nearest_flip(network, torch.zeros(3, dtype=torch.long), norm)
    assert flips.found.all()
    assert (flips.distance == 0).all()
    assert (flips.vectors == network.center).all()
    assert (flips.predicted == 1).all()


def test_a_tie_is_no_flip_and_what_never_flips_is_not_found() -> None:
    tied = Function(torch.rand(3, 2, 2), lambda given: given[:, :1, 0] * torch.zeros(1, 3).double() + 1)
    labels = torch.tensor([0, 1, 2])
    flips = nearest_flip(tied, labels, 2.0)
    assert not flips.found.any()
    check(tied, labels, 2.0, flips)


def test_not_a_number_is_no_flip() -> None:
    broken = Function(torch.rand(2, 1, 2), lambda given: given[:, 0] * math.nan)
    flips = nearest_flip(broken, torch.tensor([0, 1]), 2.0)
    assert not flips.found.any()


@pytest.mark.parametrize("norm", NORMS)
def test_a_flip_is_found_where_the_gradient_of_the_text_is_0(norm: float) -> None:
    # flat around the text, and class 1 in one corner only
    def logits(given: Any) -> Any:
        rise = torch.relu(given[:, 0] - 0.8).sum(1)
        return torch.stack([torch.full_like(rise, 0.5), rise], 1)

    network = Function(torch.full((2, 1, 4), 0.3), logits)
    labels = torch.zeros(2, dtype=torch.long)
    flips = nearest_flip(network, labels, norm)
    assert flips.found.all()
    check(network, labels, norm, flips)
    nearest = {1.0: 0.5 * 3 + 0.4, 2.0: 2 * 0.625, math.inf: 0.625}[norm]  # 0.2 a coordinate at most, 0.5 needed
    assert (flips.distance >= nearest * 0.999 - 0.2).all()
    assert (flips.distance <= nearest * 1.2).all()


# ---------------------------------------------------------------------- networks of words


def victim_of(kind: str, folder: Path, seed: int = 2) -> Victim:
    return transformer_victim(folder, seed) if kind == "transformer" else word_victim(kind, seed, scale=0.7)


def items(seed: int) -> list[Item]:
    """Texts with repeated and unknown words; one word, the first and the last, several words."""
    rng = np.random.default_rng(seed)
    texts = [lp.Text.from_words([str(word) for word in rng.choice([*WORDS[:9], "never"], 5)]) for _ in range(4)]
    return [Item(text, words) for text in texts for words in ((0,), (4,), (1, 2), (0, 2, 3))]


def sampled(network: Any, labels: Any, norm: float, count: int, seed: int) -> Any:
    """The distance of the nearest flip among random points: anywhere, near the text, at corners, along few axes."""
    generator = torch.Generator().manual_seed(seed)
    center, low, high = network.center.flatten(1), network.low.flatten(1), network.high.flatten(1)
    best = torch.full((len(labels),), math.inf).double()
    graph = network.graph(torch.arange(len(labels)))
    for number in range(count):
        share = torch.rand(center.shape, generator=generator).double()
        share = share.round() if number % 3 == 1 else share
        way = (low + share * (high - low) - center) * torch.rand(len(center), 1, generator=generator)
        if number % 3 == 2:
            way = way * (torch.rand(center.shape, generator=generator) < 0.3)
        points = torch.minimum(torch.maximum(center + way, low), high)
        flipped = leads(graph.value(points.reshape(network.center.shape)), labels) > 0
        best = torch.where(flipped, torch.minimum(best, norms(points - center, norm)), best)
    return best


@pytest.mark.parametrize("kind", KINDS)
def test_sampling_finds_hardly_anything_nearer(kind: str, tmp_path: Path) -> None:
    found = opened(victim_of(kind, tmp_path), items(1))
    ratios: list[float] = []
    for number, group in enumerate(found.groups):
        network, norm = group.network, NORMS[number % 3]
        labels = network.graph(torch.arange(len(group.items))).value(network.center).argmax(1)
        flips = nearest_flip(network, labels, norm)
        check(network, labels, norm, flips)
        best = sampled(network, labels, norm, 300, number)
        ratios += (flips.distance / best)[best < math.inf].tolist()
    # whatever sampling finds is found; local minima keep a few flips from being the nearest
    assert len(ratios) >= 4
    assert max(ratios) < 1.5
    assert np.mean(np.array(ratios) > 1.001) < 0.2
    assert np.mean(ratios) < 1


def test_answers_depend_on_the_seed_and_the_row_alone() -> None:
    victim = word_victim("cnn-deep", 2, scale=0.7)
    (group, *_) = opened(victim, [Item(item.text, (2,)) for item in items(3)]).groups
    network = group.network
    labels = network.graph(torch.arange(len(group.items))).value(network.center).argmax(1)
    one, two = nearest_flip(network, labels, 1.0, seed=4), nearest_flip(network, labels, 1.0, seed=4)
    assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))

    class Alone:
        center, low, high = (part[3:4] for part in (network.center, network.low, network.high))

        def graph(self, rows: Any) -> Any:
            return network.graph(rows + 3)

    alone = nearest_flip(Alone(), labels[3:4], 1.0, seed=4)
    torch.testing.assert_close(alone.distance, one.distance[3:4])


def test_no_rows_no_flips() -> None:
    network = Function(torch.zeros(0, 2, 3), lambda given: given[:, 0])
    flips = nearest_flip(network, torch.zeros(0, dtype=torch.long), 2.0)
    assert flips.vectors.shape == (0, 2, 3)
    assert len(flips.distance) == len(flips.predicted) == len(flips.found) == 0


@pytest.mark.parametrize("restarts", [0, 3])
def test_any_number_of_random_starts(restarts: int) -> None:
    network = Function(torch.full((1, 1, 2), 0.2), lambda given: torch.stack([1 - given[:, 0, 0], given[:, 0, 0]], 1))
    flips = nearest_flip(network, torch.tensor([0]), 2.0, restarts=restarts, steps=3)
    assert float(flips.distance) == pytest.approx(0.3, rel=1e-3)


@pytest.mark.parametrize("allowed", [0, 4, 20])
def test_what_is_found_before_the_time_is_up_is_kept(allowed: int) -> None:
    calls = 0

    def clock() -> None:
        nonlocal calls
        calls += 1
        if calls > allowed:
            raise TimeUp

    generator = torch.Generator().manual_seed(0)
    center = torch.rand(70, 1, 3, generator=generator) * 0.4  # three blocks of rows
    network = Function(center, lambda given: torch.stack([1.5 - given.sum((1, 2)), given.sum((1, 2))], 1))
    labels = torch.zeros(70, dtype=torch.long)
    flips = nearest_flip(network, labels, 2.0, check=clock)
    check(network, labels, 2.0, flips)
    assert calls == allowed + 1
    assert bool(flips.found.any()) == (allowed > 0)
    assert not flips.found[32:].any()
