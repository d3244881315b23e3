"""Slopes chosen by ascent: never worse than the default, never above the truth."""

import pytest
import torch
from graph_cases import BUDGETS, LENGTH, MAKERS, ROUNDING, Maker, Weights, all_margins, case
from swap_cases import points_of, random_region

from lexproof.bounds.backward import linear_relaxation
from lexproof.bounds.graph import inner
from lexproof.bounds.slopes import optimized, optimized_slopes

ROWS = len(BUDGETS)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("seed", range(2))
def test_ascent_raises_the_bound_and_keeps_it_valid(make: Maker, seed: int) -> None:
    graph, region = case(make, seed)
    relaxation, form = linear_relaxation(graph, region), all_margins(ROWS)
    default = relaxation.lower(graph.last, form)
    best, slopes = optimized_slopes(relaxation, graph.last, form, steps=15)
    assert (best >= default - ROUNDING).all()
    for tensor in slopes.values():
        assert tensor.min() >= 0
        assert tensor.max() <= 1
    # the slopes that are returned are those of the bound that is returned, row by row and form by form
    torch.testing.assert_close(relaxation.lower(graph.last, form, slopes), best)
    for row in range(ROWS):
        logits = graph.repeated(len(points_of(region, row))).value(points_of(region, row))
        least = inner(form[row : row + 1].expand(len(logits), -1, -1), logits).amin(0)
        assert (best[row] <= least + ROUNDING).all()


def test_ascent_is_worth_it() -> None:
    gained = []
    for make in MAKERS:
        graph, region = case(make, 1)
        relaxation, form = linear_relaxation(graph, region), all_margins(ROWS)
        gained.append(
            float((optimized(relaxation, graph.last, form, steps=20) - relaxation.lower(graph.last, form)).max())
        )
    assert max(gained) > 0.01
    assert sum(gain > 1e-6 for gain in gained) >= 4


def test_no_steps_are_the_default() -> None:
    graph, region = case(MAKERS[0], 1)
    relaxation, form = linear_relaxation(graph, region), all_margins(ROWS)
    best, slopes = optimized_slopes(relaxation, graph.last, form, steps=0)
    torch.testing.assert_close(best, relaxation.lower(graph.last, form))
    assert {number: tensor.shape for number, tensor in slopes.items()} == {2: (ROWS, 2, 5)}


def test_ascent_ends_once_all_bounds_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, region = case(MAKERS[0], 1)
    relaxation, form = linear_relaxation(graph, region), all_margins(ROWS)
    asked = []
    lower = type(relaxation).lower
    monkeypatch.setattr(type(relaxation), "lower", lambda *given: asked.append(1) or lower(*given))
    optimized(relaxation, graph.last, form, steps=7, enough=-1e9)
    assert len(asked) == 1
    asked.clear()
    optimized(relaxation, graph.last, form, steps=7, enough=1e9)
    assert len(asked) == 8


def test_ascent_works_inside_inference_of_others() -> None:
    graph, region = case(MAKERS[0], 1)
    relaxation, form = linear_relaxation(graph, region), all_margins(ROWS)
    with torch.no_grad():
        best = optimized(relaxation, graph.last, form, steps=10)
    assert not best.requires_grad
    torch.testing.assert_close(best, optimized(relaxation, graph.last, form, steps=10))


@pytest.mark.parametrize("make", MAKERS)
def test_ascent_leaves_weights_under_training_alone(make: Maker) -> None:
    """Their gradients are not touched, and the bound with the slopes found may be differentiated afterwards."""
    weights = Weights(1)
    graph, width = make(weights)
    for tensor in weights.made:
        tensor.requires_grad_()
    relaxation = linear_relaxation(graph, random_region(1, length=LENGTH, width=width, budgets=(2,)))
    best, slopes = optimized_slopes(relaxation, graph.last, all_margins(1), steps=3)
    assert all(tensor.grad is None for tensor in weights.made)
    assert not any(tensor.requires_grad for tensor in [best, *slopes.values()])
    bound = relaxation.lower(graph.last, all_margins(1), slopes)
    torch.testing.assert_close(bound.detach(), best)
    bound.sum().backward()
    assert any(tensor.grad is not None and tensor.grad.abs().max() > 0 for tensor in weights.made)


@pytest.mark.parametrize("make", MAKERS)
def test_ascent_on_any_value(make: Maker) -> None:
    """Slopes of operations that come later, or that the value does not depend on, are left alone."""
    graph, region = case(make, 2)
    relaxation = linear_relaxation(graph, region)
    for at in range(1, graph.last):
        form = torch.ones(ROWS, 1, *relaxation.boxes[at].low.shape[1:], dtype=torch.float64)
        best, slopes = optimized_slopes(relaxation, at, form, steps=3)
        assert (best >= relaxation.lower(at, form) - ROUNDING).all()
        assert all(number <= at for number in slopes)
