"""Intervals of word models over swaps, against every swapped text and against the prover."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from lexproof.bounds.backward import interval_relaxation
from lexproof.certify.curve import interval_margin
from lexproof.certify.lowering import form_of, program_of
from lexproof.goal import Goal
from lexproof.space import Space
from lexproof.victims.swap_sets import SwapSets, changes
from lexproof.victims.word_candidates import token_candidates
from lexproof.victims.word_intervals import Swapping, features
from small_victims import SHAPES, word_space, word_victim

MORE = {
    **{shape: {} for shape in SHAPES},
    "cnn-flat": {"widths": (2, 3)},  # of several widths, for which certify has no rule
    "cnn-widths": {"layers": 2},
}


def spaces(count: int) -> list[Space]:
    """Spaces of several lengths, with repeated words and words without substitutes."""
    return [word_space(seed, words=5, options=3, max_swaps=5) for seed in range(count)]


def together(victim: Any, given: list[Space]) -> SwapSets:
    """The swaps of several texts as one padded batch."""
    found = [token_candidates(victim.bind(space)) for space in given]
    lengths = torch.tensor([len(own.ids) for own in found])
    ids = torch.zeros(len(found), int(lengths.max()), dtype=torch.long)
    for row, own in zip(ids, found, strict=True):
        row[: len(own.ids)] = torch.from_numpy(own.ids)
    text = np.repeat(np.arange(len(found)), [len(own) for own in found])
    at, token = (np.concatenate([getattr(own, name) for own in found]) for name in ("at", "token"))
    return SwapSets.of(ids, lengths, text, at, token)


def bounds(victim: Any, sets: SwapSets, gold: list[int], scale: float = 1.0, budget: int | None = None) -> Any:
    budgets = None if budget is None else torch.full((len(gold),), budget)
    with torch.no_grad():
        return features(victim.net, Swapping(sets, scale, budgets)).margins(torch.tensor(gold)).numpy()


def truth(victim: Any, space: Space, label: int, budget: int) -> np.ndarray:
    """The least margin over each class of all texts with at most so many swaps."""
    points = space.points()
    points = points[np.count_nonzero(points, axis=1) <= budget]
    logits = np.log(victim.scores(space.render(points)))
    return (logits[:, [label]] - logits).min(axis=0)


@pytest.mark.parametrize("budget", [None, 0, 1, 2])
@pytest.mark.parametrize("shape", MORE)
def test_no_swapped_text_has_a_smaller_margin(shape: str, budget: int | None) -> None:
    slack = []
    for seed in range(2):
        victim = word_victim(shape, seed, scale=0.6, **MORE[shape])
        given, gold = spaces(8), [k % 3 for k in range(8)]
        found = bounds(victim, together(victim, given), gold, budget=budget)
        for space, label, least in zip(given, gold, found, strict=True):
            true = truth(victim, space, label, space.n if budget is None else budget)
            assert (least <= true + 1e-4).all()
            slack.append(true - least)
    if budget == 0:
        assert np.abs(slack).max() < 1e-4  # nothing may be swapped: the margins themselves
    else:
        assert np.max(slack) > 1e-3  # otherwise the texts are too easy to tell a wrong bound


@pytest.mark.parametrize("shape", SHAPES)
def test_the_bounds_are_those_of_the_interval_prover(shape: str) -> None:
    victim, given, gold = word_victim(shape, 3, scale=0.6), spaces(10), [k % 3 for k in range(10)]
    sets = together(victim, given)
    for budget in (None, 1, 2):
        found = bounds(victim, sets, gold, budget=budget)
        for space, label, least in zip(given, gold, found, strict=True):
            program = program_of(victim, space).budgeted(space.n if budget is None else budget)
            relaxation = interval_relaxation(program.graph, program.region)
            wanted = interval_margin(relaxation, form_of(Goal(label), 3))[0]
            np.testing.assert_allclose(np.delete(least, label), wanted.detach().numpy(), atol=2e-5)
            assert least[label] == 0


@pytest.mark.parametrize("shape", SHAPES)
def test_boxes_grow_with_the_scale_and_the_budget(shape: str) -> None:
    victim, gold = word_victim(shape, 5, scale=0.6), [0] * 8
    sets = together(victim, spaces(8))
    by_scale = [bounds(victim, sets, gold, scale=scale) for scale in (0.0, 0.3, 0.7, 1.0)]
    by_budget = [bounds(victim, sets, gold, budget=budget) for budget in (0, 1, 2, 5)] + [bounds(victim, sets, gold)]
    for wider in (by_scale, by_budget):
        for small, large in pairwise(wider):
            assert (large <= small + 1e-5).all()
        assert (wider[-1] < wider[0] - 1e-3).any()
    np.testing.assert_allclose(by_scale[0], by_budget[0], atol=1e-5)
    np.testing.assert_allclose(by_budget[-2], by_budget[-1], atol=1e-5)
    if "lstm" not in shape:
        assert (by_budget[1] > by_budget[-1] + 1e-4).any()


@pytest.mark.parametrize("shape", MORE)
def test_gradients_of_margins_are_slopes(shape: str) -> None:
    victim = word_victim(shape, 2, scale=0.6, **MORE[shape])
    net, sets, gold = victim.net.double().requires_grad_(True), together(victim, spaces(4)), torch.tensor([0, 1, 2, 0])

    def total() -> torch.Tensor:
        return features(net, Swapping(sets, 0.8)).margins(gold).sum()

    torch.autograd.backward(total())
    rng = torch.Generator().manual_seed(0)
    for weight in net.parameters():
        direction = torch.randn(weight.shape, generator=rng, dtype=weight.dtype)
        if weight is net.embedding.weight:
            direction[0] = 0  # the vector of <pad> stays 0
        sides = []
        for step in (1e-6, -2e-6):
            with torch.no_grad():
                weight += step * direction
                sides.append(float(total()))
        with torch.no_grad():
            weight += 1e-6 * direction
        assert weight.grad is not None
        slope = (sides[0] - sides[1]) / 2e-6
        assert float((weight.grad * direction).sum()) == pytest.approx(slope, rel=1e-4, abs=1e-4)


def test_changes_are_ends_over_all_substitutes() -> None:
    table = torch.randn(9, 4, requires_grad=True, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        table[5] = table[2]  # two tokens with the same ends: gradients must not count twice
    ids, lengths = torch.tensor([[1, 2, 3], [4, 1, 0]]), torch.tensor([3, 2])
    swaps = [(0, 0, 2), (0, 0, 5), (0, 2, 7), (1, 1, 8), (1, 1, 8), (1, 0, 4), (1, 2, 6), (0, 0, 6)]
    sets = SwapSets.of(ids, lengths, *(np.array(part) for part in zip(*swaps, strict=True)))
    assert [len(column) for column in sets.columns] == [3, 3, 1, 1]  # twice, itself, or after the end: left out
    low, high = changes(table[sets.tokens], sets.columns, 0.5)
    weights = torch.arange(1.0, low.numel() + 1).view(low.shape)
    torch.autograd.backward((weights * (low - 2 * high)).sum())
    got = table.grad
    table.grad = None
    wanted = {0: [1, 2, 5, 6], 2: [3, 7], 4: [1, 8]}
    total = torch.zeros(())
    for place, least, largest, weight in zip(sets.places.tolist(), low, high, weights, strict=True):
        rows = table[wanted[place]]
        assert torch.allclose(least, 0.5 * (rows.min(0).values - rows[0]), atol=1e-6)
        assert torch.allclose(largest, 0.5 * (rows.max(0).values - rows[0]), atol=1e-6)
        total = total + (weight * 0.5 * (rows.min(0).values - rows[0] - 2 * (rows.max(0).values - rows[0]))).sum()
    torch.autograd.backward(total)
    assert got is not None and table.grad is not None
    assert torch.allclose(got.sum(0), table.grad.sum(0), atol=1e-5)
    assert torch.allclose(got[[1, 3, 4, 6, 7, 8]], table.grad[[1, 3, 4, 6, 7, 8]], atol=1e-5)
    assert torch.allclose(got[2] + got[5], table.grad[2] + table.grad[5], atol=1e-5)
