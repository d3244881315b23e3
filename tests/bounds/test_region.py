"""Regions of swaps against all of their points."""

import pytest
import torch
from swap_cases import normal, only, points_of, random_region

from lexproof.bounds.region import SwapRegion, least_sum, least_sum_of_positions

SHAPES = [
    {},
    {"whole": True},
    {"places": 1},
    {"places": 0},
    {"depth": 1},
    {"depth": 0},
    {"places": 0, "depth": 0},
    {"length": 1, "places": 1, "whole": True},
    {"places": 5, "depth": 1, "whole": True},
]


def forms(region: SwapRegion, seed: int) -> torch.Tensor:
    found = normal(torch.Generator().manual_seed(seed), len(region.original), 4, *region.original.shape[1:])
    found[:, 0] = found[:, 0].sign()  # ties between gains
    found[:, 1] = 0.0
    return found


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(4))
def test_minimum_is_that_of_all_points(shape: dict[str, int], seed: int) -> None:
    region = random_region(seed, **shape)  # type: ignore[arg-type]
    form = forms(region, seed)
    found = region.minimum(form)
    for row in range(len(region.original)):
        values = torch.einsum("sld,mld->sm", form[row], points_of(region, row))
        torch.testing.assert_close(found[row], values.amin(1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_box_is_the_least_box_of_all_points(shape: dict[str, int]) -> None:
    region = random_region(7, **shape)  # type: ignore[arg-type]
    low, high = region.box()
    for row in range(len(region.original)):
        points = points_of(region, row)
        torch.testing.assert_close(low[row], points.amin(0), rtol=0, atol=1e-12)
        torch.testing.assert_close(high[row], points.amax(0), rtol=0, atol=1e-12)
    assert torch.equal(region.center, region.original)


def test_additive_is_the_form_of_every_single_swap() -> None:
    region = random_region(3, budgets=(1, 1))
    form = forms(region, 3)
    base, gains = region.additive(form)
    for row in range(2):
        torch.testing.assert_close(base[row], torch.einsum("sld,ld->s", form[row], region.original[row]))
        for place in range(region.changes.shape[1]):
            for option in range(region.changes.shape[2]):
                point = region.original[row].clone()
                point[region.places[row, place]] += region.changes[row, place, option]
                value = torch.einsum("sld,ld->s", form[row], point)
                torch.testing.assert_close(base[row] + gains[row, :, place, option], value)


def test_rows_with_different_budgets_are_rows_asked_alone() -> None:
    region = random_region(5, budgets=(3, 0, 1, 2, 7))
    form = forms(region, 5)
    together, (low, high) = region.minimum(form), region.box()
    for row in range(5):
        torch.testing.assert_close(together[row], only(region, row).minimum(form[row : row + 1])[0])
        alone_low, alone_high = only(region, row).box()
        torch.testing.assert_close(low[row], alone_low[0])
        torch.testing.assert_close(high[row], alone_high[0])


def test_repeat_is_every_row_with_every_budget() -> None:
    region = random_region(6, budgets=(1, 2))
    budgets = torch.tensor([0, 2, 5])
    repeated = region.repeat(budgets)
    form = forms(region, 6)
    found = repeated.minimum(form.repeat_interleave(3, 0)).reshape(2, 3, -1)
    for column, budget in enumerate(budgets):
        alone = SwapRegion(region.original, region.places, region.changes, budget.repeat(2))
        torch.testing.assert_close(found[:, column], alone.minimum(form))


def test_least_sum_takes_one_gain_a_position() -> None:
    gains = torch.tensor([[[[-3.0, -2.0], [1.0, -1.0], [4.0, 5.0]]]])  # (1, 1, 3, 2)
    for budget, expected in enumerate((0.0, -3.0, -4.0, -4.0, -4.0)):
        assert least_sum(gains, torch.tensor([budget])).item() == expected


@pytest.mark.parametrize("bad", [float("nan"), -float("inf")])
def test_what_is_not_a_number_is_never_left_out_of_a_minimum(bad: float) -> None:
    best = torch.tensor([[-1.0, bad, -2.0, 0.0]], dtype=torch.float64)
    for budget in (1, 2, 4):
        found = least_sum_of_positions(best, torch.tensor([budget])).item()
        assert not found > -1e300


@pytest.mark.parametrize("budget", [1, 2, 5])
def test_gradients_of_the_minimum_match_differences(budget: int) -> None:
    region = random_region(9, budgets=(budget,))
    form = normal(torch.Generator().manual_seed(1), 1, 2, *region.original.shape[1:]).requires_grad_()
    assert torch.autograd.gradcheck(region.minimum, (form,))
