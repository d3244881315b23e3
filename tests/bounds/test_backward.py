"""Whole graphs between linear bounds, against every point of their regions."""

from collections.abc import Iterator

import pytest
import torch
from graph_cases import LENGTH, MAKERS, ROUNDING, Maker, Weights, all_margins, case, deep_cnn, flat_cnn, mlp
from swap_cases import normal, only, points_of, random_region
from torch import Tensor

from lexproof.bounds.backward import Relaxation, interval_relaxation, linear_relaxation, margins
from lexproof.bounds.graph import Box, Graph, inner
from lexproof.bounds.region import SwapRegion


def values_of(graph: Graph, region: SwapRegion, row: int) -> list[Tensor]:
    """Every value of the graph at every point of a row."""
    points = points_of(region, row)
    return graph.repeated(len(points)).values(points)


def relaxations(graph: Graph, region: SwapRegion) -> Iterator[Relaxation]:
    yield interval_relaxation(graph, region)
    yield linear_relaxation(graph, region)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("seed", range(4))
def test_boxes_and_margins_hold_at_every_point(make: Maker, seed: int) -> None:
    graph, region = case(make, seed)
    rows = len(region.original)
    form = all_margins(rows)
    for relaxation in relaxations(graph, region):
        lower = relaxation.lower(graph.last, form)
        for row in range(rows):
            values = values_of(graph, region, row)
            for box, value in zip(relaxation.boxes, values, strict=True):
                assert (value >= box.low[row] - ROUNDING).all()
                assert (value <= box.high[row] + ROUNDING).all()
            least = inner(form[row : row + 1].expand(len(values[-1]), -1, -1), values[-1]).amin(0)
            assert (lower[row] <= least + ROUNDING).all()


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("seed", range(3))
def test_forms_of_every_value_hold_with_any_slopes(make: Maker, seed: int) -> None:
    graph, region = case(make, seed, places=2)
    generator = torch.Generator().manual_seed(seed)
    for relaxation in relaxations(graph, region):
        for at in range(1, graph.last + 1):
            form = normal(generator, len(region.original), 2, *relaxation.boxes[at].low.shape[1:])
            slopes = {
                number: torch.rand(default.shape, generator=generator, dtype=torch.float64)
                for number, default in relaxation.default_slopes(2).items()
            }
            lower = relaxation.lower(at, form, slopes)
            for row in range(len(region.original)):
                values = values_of(graph, region, row)[at]
                least = inner(form[row : row + 1].expand(len(values), *form.shape[1:]), values).amin(0)
                assert (lower[row] <= least + ROUNDING).all()


@pytest.mark.parametrize("make", MAKERS)
def test_bounds_of_one_point_are_its_value(make: Maker) -> None:
    graph, region = case(make, 3, budgets=(0, 0))  # type: ignore[arg-type]
    form = all_margins(2)
    expected = inner(form, graph.value(region.original))
    for relaxation in relaxations(graph, region):
        torch.testing.assert_close(relaxation.lower(graph.last, form), expected)


@pytest.mark.parametrize("shape", [{"places": 0}, {"depth": 0}, {"places": 0, "depth": 0}])
@pytest.mark.parametrize("make", MAKERS)
def test_no_swaps_at_all(make: Maker, shape: dict[str, int]) -> None:
    graph, region = case(make, 1, **shape)
    form = all_margins(len(region.original))
    for relaxation in relaxations(graph, region):
        torch.testing.assert_close(relaxation.lower(graph.last, form), inner(form, graph.value(region.original)))


@pytest.mark.parametrize("make", MAKERS)
def test_rows_together_are_rows_alone(make: Maker) -> None:
    graph, region = case(make, 5)
    form = all_margins(len(region.original))
    for number, relaxation in enumerate(relaxations(graph, region)):
        together = relaxation.lower(graph.last, form)
        for row in range(len(region.original)):
            own = only(region, row)
            alone = list(relaxations(graph.repeated(1), own))[number]
            for k in range(form.shape[1]):  # margin by margin, too
                torch.testing.assert_close(alone.lower(graph.last, form[:1, k : k + 1])[0, 0], together[row, k])


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("seed", range(3))
def test_a_budget_never_loosens_intervals(make: Maker, seed: int) -> None:
    """Boxes grow with the budget, and that of all positions holds all others."""
    graph, region = case(make, seed, budgets=(1,))  # type: ignore[arg-type]
    budgets = torch.arange(5)
    boxes = interval_relaxation(graph.repeated(5), region.repeat(budgets)).boxes
    for box in boxes:
        assert (box.low[1:] <= box.low[:-1] + ROUNDING).all()
        assert (box.high[1:] >= box.high[:-1] - ROUNDING).all()
        torch.testing.assert_close(box.low[3], box.low[4])  # 3 places: more swaps than places change nothing


@pytest.mark.parametrize("make", [mlp, flat_cnn])
@pytest.mark.parametrize("seed", range(6))
def test_with_given_slopes_the_linear_bound_falls_with_the_budget(make: Maker, seed: int) -> None:
    """What holds for linear bounds: one ReLU layer over an exact first layer, with the same slopes below.

    A wider box has a chord above that lies higher, and the region is larger.  Slopes chosen by the box may do better on
    a wider one, and so may planes of a max-pool.
    """
    graph, region = case(make, seed, budgets=(1,))  # type: ignore[arg-type]
    relaxation = linear_relaxation(graph.repeated(5), region.repeat(torch.arange(5)))
    for share in (0.0, 0.4, 1.0):
        slopes = {number: torch.full_like(slope, share) for number, slope in relaxation.default_slopes(2).items()}
        lower = relaxation.lower(graph.last, all_margins(5), slopes)
        assert (lower[1:] <= lower[:-1] + ROUNDING).all()


def test_linear_boxes_are_inside_intervals() -> None:
    tighter = 0
    for make in MAKERS:
        for seed in range(3):
            graph, region = case(make, seed)
            rough, fine = relaxations(graph, region)
            for a, b in zip(rough.boxes, fine.boxes, strict=True):
                assert (b.low >= a.low - ROUNDING).all()
                assert (b.high <= a.high + ROUNDING).all()
                tighter += int((b.low > a.low + 1e-6).any())
    assert tighter > 10


def test_units_are_tightened_in_parts_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, region = case(deep_cnn, 1)
    whole = linear_relaxation(graph, region)
    monkeypatch.setattr("lexproof.bounds.backward._CELLS", 1)  # one unit at a time
    parts = linear_relaxation(graph, region)
    for a, b in zip(whole.boxes, parts.boxes, strict=True):
        torch.testing.assert_close(a.low, b.low)
        torch.testing.assert_close(a.high, b.high)


def test_margins_of_one_class_have_no_rival() -> None:
    assert margins(3, 1, [0, 2]).tolist() == [[-1.0, 1.0, 0.0], [0.0, 1.0, -1.0]]
    assert margins(1, 0, []).shape == (0, 1)


def test_boxes_that_do_not_meet_keep_a_point() -> None:
    one, other = torch.tensor([[1.0]]), torch.tensor([[2.0]])
    met = Box(one, one).meet(Box(other, other))
    assert (met.low <= met.high).all()


# ---------------------------------------------------------------------- gradients


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("tight", [False, True])
def test_bounds_are_differentiable_in_the_weights(make: Maker, tight: bool) -> None:
    """The gradient of the least margin matches differences, weight by weight."""
    weights = Weights(2)
    graph, width = make(weights)
    region = random_region(2, length=LENGTH, width=width, budgets=(2,))
    contributions = normal(weights.generator, *region.changes.shape)
    weights.made.append(contributions)

    def bound() -> Tensor:
        own = SwapRegion(region.original, torch.tensor([[0, 2, 3]]), contributions, region.budget)
        relaxation = (linear_relaxation if tight else interval_relaxation)(graph, own)
        return relaxation.lower(graph.last, all_margins(1)).sum()

    for tensor in weights.made:
        tensor.requires_grad_()
    gradients = torch.autograd.grad(bound(), weights.made, allow_unused=True)
    step, seen = 1e-6, 0
    for tensor, gradient in zip(weights.made, gradients, strict=True):
        found = torch.zeros_like(tensor) if gradient is None else gradient
        assert torch.isfinite(found).all()
        flat = tensor.detach().view(-1)
        for k in range(0, len(flat), 3):
            kept = float(flat[k])
            with torch.no_grad():
                ends = []
                for moved in (kept + step, kept - step):
                    flat[k] = moved
                    ends.append(float(bound()))
                flat[k] = kept
            assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(float(found.reshape(-1)[k]), abs=1e-6)
            seen += abs(ends[0] - ends[1]) > 1e-9
    assert seen > 3
