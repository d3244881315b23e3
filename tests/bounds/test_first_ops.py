"""First layers over words: exact forms, and under a budget the exact range of every unit."""

import pytest
import torch
from swap_cases import normal, only, points_of, random_region

from lexproof.bounds.first_ops import SumOfWords, Windows
from lexproof.bounds.graph import Box, inner
from lexproof.bounds.linear_ops import Conv
from lexproof.bounds.region import SwapRegion

WIDTHS = [(1,), (2,), (3,), (4,), (5,), (2, 3), (1, 4, 5)]
BUDGETS = (0, 1, 2, 3, 9)


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def windows(widths: tuple[int, ...], filters: int = 2) -> Windows:
    return Windows(widths, filters, normal(generator(3), len(widths) * filters))


def features(widths: tuple[int, ...], filters: int = 2) -> int:
    return sum(widths) * filters


@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("length", [1, 2, 6])
def test_windows_are_convolutions(widths: tuple[int, ...], length: int) -> None:
    words = normal(generator(0), 2, length, 3)
    kernels = [normal(generator(width), 2, 3, width) for width in widths]
    op = windows(widths)
    biases = op.bias.split(2)
    expected = [Conv(kernel, bias).value(words) for kernel, bias in zip(kernels, biases, strict=True)]
    contributions = torch.cat([torch.einsum("nld,fdk->nlkf", words, kernel).flatten(2) for kernel in kernels], 2)
    torch.testing.assert_close(op.value(contributions), torch.cat(expected, 2))


@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("length", [1, 2, 6])
def test_forms_of_windows_are_pulled_without_loss(widths: tuple[int, ...], length: int) -> None:
    op, given = windows(widths), normal(generator(0), 2, length, features(widths))
    output = op.value(given)
    form = normal(generator(5), 2, 4, *output.shape[1:])
    (part,), constant = op.relax().pull(form)
    torch.testing.assert_close(inner(part, given) + constant, inner(form, output), rtol=0, atol=1e-12)


@pytest.mark.parametrize("length", [1, 4])
def test_forms_of_sums_are_pulled_without_loss(length: int) -> None:
    op, given = SumOfWords(normal(generator(1), 3), length), normal(generator(0), 2, length, 3)
    output = op.value(given)
    torch.testing.assert_close(output, given.sum(1) + op.bias)
    form = normal(generator(5), 2, 4, 3)
    (part,), constant = op.relax().pull(form)
    assert part.shape == (2, 4, length, 3)
    torch.testing.assert_close(inner(part, given) + constant, inner(form, output), rtol=0, atol=1e-12)


def check_range(op: SumOfWords | Windows, region: SwapRegion) -> None:
    found, loose = op.budgeted(region), op.interval(Box(*region.box()))
    for row in range(len(region.original)):
        values = op.value(points_of(region, row))
        torch.testing.assert_close(found.low[row], values.amin(0), rtol=0, atol=1e-12)
        torch.testing.assert_close(found.high[row], values.amax(0), rtol=0, atol=1e-12)
        alone = op.budgeted(only(region, row))
        torch.testing.assert_close(alone.low[0], found.low[row])
        torch.testing.assert_close(alone.high[0], found.high[row])
    assert (loose.low <= found.low + 1e-12).all()
    assert (loose.high >= found.high - 1e-12).all()


SHAPES = [
    {"length": 5},
    {"length": 5, "whole": True},
    {"length": 5, "places": 5, "depth": 1},
    {"length": 2, "places": 2, "whole": True},
    {"length": 1, "places": 1},
    {"length": 5, "places": 0},
    {"length": 5, "depth": 0},
    {"length": 3, "places": 0, "depth": 0},
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("widths", [(1,), (2,), (3,), (5,), (2, 3)])
def test_the_range_of_windows_is_exact(widths: tuple[int, ...], shape: dict[str, int]) -> None:
    check_range(windows(widths), random_region(11, width=features(widths), budgets=BUDGETS, **shape))  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_the_range_of_sums_is_exact(seed: int, shape: dict[str, int]) -> None:
    op = SumOfWords(normal(generator(seed), 3), shape["length"])
    check_range(op, random_region(seed, width=3, budgets=BUDGETS, **shape))  # type: ignore[arg-type]


@pytest.mark.parametrize("budget", [1, 2])
def test_gradients_of_the_range_match_differences(budget: int) -> None:
    widths = (2, 3)
    op, region = windows(widths), random_region(4, width=features(widths), budgets=(budget,))
    free = normal(generator(4), *region.changes.shape).requires_grad_()
    region = SwapRegion(region.original, torch.tensor([[0, 2, 3]]), free, region.budget)

    def ends(changes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return tuple(op.budgeted(SwapRegion(region.original, region.places, changes, region.budget)))  # type: ignore[return-value]

    assert torch.autograd.gradcheck(ends, (free,))
