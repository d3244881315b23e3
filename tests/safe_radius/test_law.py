"""Where a bound uses up the margin, learned from the radii tried."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from lexproof.safe_radius.law import Ends

TOLERANCE = 0.01
Loss = Callable[[Tensor], Tensor]


def searched(loss: Loss, *, first: float = 0.05, slope: float = 0.0, most: int = 40) -> tuple[float, int]:
    """The radius proven of a row of margin 1 whose bound loses so much, and the evaluations that took."""
    row = torch.tensor([0])
    ends = Ends(torch.ones(1, dtype=torch.float64), torch.full((1,), slope, dtype=torch.float64))
    radius = torch.tensor([first], dtype=torch.float64)
    for _ in range(most):
        left = 1 - loss(radius)
        ends.learn(row, radius, left, left > 0)
        radius, is_reached = ends.next(row, TOLERANCE)
        if bool(is_reached):
            break
    return float(ends.proven), ends.tried.shape[1]


@pytest.mark.parametrize("power", [1.5, 3.0, 5.0, 9.0])
def test_a_power_is_learned(power: float) -> None:
    found, count = searched(lambda radius: 0.3 * radius + 0.7 * radius**power, slope=0.3)
    assert 1 - 1.5 * TOLERANCE <= found <= 1.0
    assert count <= 6


@pytest.mark.parametrize("first", [0.01, 0.05, 0.3])
def test_a_pole_is_learned(first: float) -> None:
    """Bisection from the first radius proven and the first not proven would take eight to ten."""
    found, count = searched(
        lambda radius: torch.where(radius < 1, (radius / (1 - radius)).square() / 9, 12.0), first=first
    )
    assert 0.75 * (1 - 1.5 * TOLERANCE) <= found <= 0.75
    assert count <= 7


@pytest.mark.parametrize("end", [0.1, 0.5, 2.0])
def test_a_bound_that_jumps_is_bracketed(end: float) -> None:
    found, count = searched(lambda radius: torch.where(radius < end, 0.1 * radius, 10.0))
    assert end * (1 - 1.5 * TOLERANCE) <= found <= end
    assert count <= 25


def test_bounds_that_are_no_numbers_lie_beyond_the_end() -> None:
    found, _ = searched(lambda radius: torch.where(radius < 0.4, radius, math.nan))
    assert 0.4 * (1 - 1.5 * TOLERANCE) <= found <= 0.4


def test_a_first_radius_far_beyond_the_end_is_left_quickly() -> None:
    found, count = searched(lambda radius: 1e4 * radius, first=1.0, slope=1e4)
    assert 1e-4 * (1 - 1.5 * TOLERANCE) <= found <= 1e-4
    assert count <= 12


def test_what_loses_nothing_is_followed_outwards() -> None:
    ends = Ends(torch.ones(2, dtype=torch.float64), torch.zeros(2, dtype=torch.float64))
    rows, radius = torch.arange(2), torch.full((2,), 0.01, dtype=torch.float64)
    for _ in range(4):
        ends.learn(rows, radius, torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.bool))
        radius, is_reached = ends.next(rows, TOLERANCE)
        assert not is_reached.any()
    assert (radius > 10).all()


def test_rows_that_are_no_longer_asked_keep_what_they_know() -> None:
    ends = Ends(torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64))
    both, second = torch.arange(2), torch.tensor([1])
    ends.learn(both, torch.tensor([0.5, 0.5]).double(), torch.tensor([0.5, 0.5]).double(), torch.tensor([True, True]))
    before, _ = ends.next(both, TOLERANCE)
    ends.learn(second, torch.tensor([0.75]).double(), torch.tensor([0.1]).double(), torch.tensor([True]))
    after, _ = ends.next(both, TOLERANCE)
    assert float(ends.proven[0]) == 0.5
    assert float(before[0]) == pytest.approx(float(after[0]))
    assert float(ends.proven[1]) == 0.75
