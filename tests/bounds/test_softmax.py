"""Planes of softmax: random points, corners, and points that descend on the gap."""

import pytest
import torch
from rule_checks import check_rule, random_points, uniform
from torch import Tensor

from lexproof.bounds.graph import Box, inner
from lexproof.bounds.softmax import Softmax


def random_box(shape: tuple[int, ...], seed: int, widest: float = 1.0) -> Box:
    generator = torch.Generator().manual_seed(seed)
    center, size = uniform(shape, -3, 3, generator), 10 ** uniform(shape, -7, widest, generator)
    size = torch.where(uniform(shape, 0, 1, generator) < 0.2, 0.0, size)
    return Box(center - size, center + size)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_random_points_and_corners(size: int) -> None:
    box = random_box((200, 2, size), size)
    generator = torch.Generator().manual_seed(0)
    check_rule(Softmax(), [box], [[point] for point in random_points(box, 40, generator)])


@pytest.mark.parametrize("size", [2, 4])
def test_no_point_on_the_way_down_the_gap_is_below(size: int) -> None:
    """Projected descent on <form, softmax> - bound, the one place where a wrong plane would show."""
    box = random_box((60, size), 7 + size, 0.7)
    generator = torch.Generator().manual_seed(1)
    form = torch.cat([torch.eye(size, dtype=torch.float64), -torch.eye(size, dtype=torch.float64)])
    form = torch.cat([form, uniform((6, size), -1, 1, generator)]).expand(60, -1, -1)
    pulled = Softmax().relax(box).pull(form)

    def gap(x: Tensor) -> Tensor:  # x (N, S, n): every form its own point
        return (form * x.softmax(-1)).sum(-1) - (pulled.forms[0] * x).sum(-1) - pulled.constant

    low, high = box.low[:, None], box.high[:, None]
    point = torch.lerp(low.expand_as(form), high.expand_as(form), uniform(form.shape, 0, 1, generator))
    start = gap(point)
    for _ in range(150):
        point = point.detach().requires_grad_()
        (slope,) = torch.autograd.grad(gap(point).sum(), point)
        step = 0.1 * (high - low) * slope / slope.abs().amax(-1, keepdim=True).clamp(min=1e-12)
        point = (point - step).clamp(low, high)
    assert gap(point).min() >= -1e-12
    assert (gap(point) < start - 1e-6).any()  # it does descend


def test_range_is_exact_at_its_corners() -> None:
    box = random_box((50, 4), 3)
    found = Softmax().interval(box)
    for i in range(4):
        own = torch.arange(4) == i
        torch.testing.assert_close(found.low[:, i], torch.where(own, box.low, box.high).softmax(-1)[:, i])
        torch.testing.assert_close(found.high[:, i], torch.where(own, box.high, box.low).softmax(-1)[:, i])


def test_huge_scores_neither_overflow_nor_leave_the_unit_interval() -> None:
    low = torch.tensor([[-1e4, 0.0, 3.0], [700.0, 900.0, -900.0], [0.0, 0.0, 0.0]]).double()
    box = Box(low, low + torch.tensor([2e4, 1.0, 1e3]).double())
    generator = torch.Generator().manual_seed(0)
    check_rule(Softmax(), [box], [[point] for point in random_points(box, 30, generator)])
    found = Softmax().interval(box)
    assert found.low.min() >= 0 and found.high.max() <= 1


def test_shift_invariance() -> None:
    """The same number on all inputs changes no bound: forms of the inputs sum to 0."""
    box = random_box((20, 5), 9)
    form = uniform((20, 6, 5), -1, 1, torch.Generator().manual_seed(2))
    pulled, moved = (Softmax().relax(Box(box.low + by, box.high + by)).pull(form) for by in (0.0, 40.0))
    assert pulled.forms[0].sum(-1).abs().max() < 1e-12
    torch.testing.assert_close(pulled.forms[0], moved.forms[0], rtol=0, atol=1e-9)


def test_a_common_number_in_a_form_costs_nothing() -> None:
    """The outputs sum to 1: the form of all ones is exact, and adding it to another adds its number."""
    box = random_box((20, 5), 10)
    form = uniform((20, 6, 5), -1, 1, torch.Generator().manual_seed(3))
    one, other = (Softmax().relax(box).pull(form + by) for by in (0.0, 7.0))
    torch.testing.assert_close(one.constant + 7, other.constant)
    ones = Softmax().relax(box).pull(torch.ones_like(form))
    torch.testing.assert_close(ones.constant, torch.ones(20, 6, dtype=torch.float64))
    assert ones.forms[0].abs().max() < 1e-12


def test_the_common_number_is_the_best_one() -> None:
    """No other number taken off the form gives a higher bound in the middle of the box."""
    box = random_box((40, 4), 11, 0.3)
    form = uniform((40, 3, 4), -1, 1, torch.Generator().manual_seed(4))
    planes = Softmax().relax(box)
    middle = (box.low + box.high) / 2

    def at_middle(shift: Tensor) -> Tensor:
        rest = form - shift
        low, high = planes.low_at[:, None], planes.high_at[:, None]
        return (rest.clamp(min=0) * low + rest.clamp(max=0) * high).sum(-1) + shift[..., 0]

    pulled = planes.pull(form)
    found = inner(pulled.forms[0], middle) + pulled.constant
    for i in range(4):
        assert (found >= at_middle(form[..., i : i + 1]) - 1e-12).all()
    assert (found > at_middle(torch.zeros_like(form[..., :1])) + 1e-9).any()


def test_gradients_are_finite() -> None:
    box = random_box((20, 4), 12)
    low, high = box.low.clone().requires_grad_(), box.high.clone().requires_grad_()
    pulled = Softmax().relax(Box(low, high)).pull(uniform((20, 3, 4), -1, 1, torch.Generator().manual_seed(5)))
    (pulled.forms[0].sum() + pulled.constant.sum() + (pulled.forms[0] ** 2).sum()).backward()
    assert torch.isfinite(low.grad).all() and torch.isfinite(high.grad).all() and low.grad.abs().max() > 0
