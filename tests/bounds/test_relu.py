"""Lines of ReLU."""

import pytest
import torch
from rule_checks import check_rule, random_points, uniform

from lexproof.bounds.graph import Box
from lexproof.bounds.relu import Relu


def boxes(seed: int) -> Box:
    """Settled and unsettled boxes of many sizes, points, and boxes that end at 0: (2, 45)."""
    generator = torch.Generator().manual_seed(seed)
    center, size = uniform((2, 40), -2, 2, generator), 10 ** uniform((2, 40), -12, 2, generator)
    odd = torch.tensor([[0.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [-1.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
    low, high = (
        torch.cat([center - size, odd[:, 0].expand(2, -1)], 1),
        torch.cat([center + size, odd[:, 1].expand(2, -1)], 1),
    )
    return Box(low, high)


@pytest.mark.parametrize("seed", range(5))
def test_lines_hold(seed: int) -> None:
    box = boxes(seed)
    points = random_points(box, 30, torch.Generator().manual_seed(seed))
    kink = torch.zeros_like(box.low).clamp(box.low, box.high)  # where the lines and the function part most
    check_rule(Relu(), [box], [(point,) for point in [*points, kink]], rounding=1e-10)


def test_the_line_above_is_the_chord() -> None:
    box = Box(torch.tensor([[-1.0]], dtype=torch.float64), torch.tensor([[3.0]], dtype=torch.float64))
    (form,), constant = Relu().relax(box).pull(torch.tensor([[[-1.0]]], dtype=torch.float64))
    assert (form.item(), constant.item()) == (-0.75, -0.75)


@pytest.mark.parametrize(
    ("low", "high", "slope"), [(-1.0, 3.0, 1.0), (-3.0, 1.0, 0.0), (-2.0, -1.0, 0.0), (1.0, 2.0, 1.0)]
)
def test_the_line_below_leaves_the_least_area_by_default(low: float, high: float, slope: float) -> None:
    box = Box(torch.tensor([[low]], dtype=torch.float64), torch.tensor([[high]], dtype=torch.float64))
    (form,), constant = Relu().relax(box).pull(torch.tensor([[[1.0]]], dtype=torch.float64))
    assert (form.item(), constant.item()) == (slope, 0.0)


def test_settled_units_are_exact_whatever_the_slopes() -> None:
    box = Box(
        torch.tensor([[1.0, -3.0, 0.0]], dtype=torch.float64), torch.tensor([[2.0, -1.0, 0.0]], dtype=torch.float64)
    )
    assert not Relu().unsettled(box)[0].any()
    slopes = torch.full((1, 1, 3), 0.3, dtype=torch.float64)
    for sign in (1.0, -1.0):
        (form,), constant = Relu().relax(box, slopes=slopes).pull(torch.full((1, 1, 3), sign, dtype=torch.float64))
        assert form[0, 0, :2].tolist() == [sign, 0.0]
        assert constant.item() == 0.0


@pytest.mark.parametrize("end", ["low", "high", "both"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_box_that_is_not_a_number_proves_nothing(end: str, sign: float) -> None:
    nan = torch.tensor([[float("nan")]], dtype=torch.float64)
    low = nan if end != "high" else torch.tensor([[-1.0]], dtype=torch.float64)
    high = nan if end != "low" else torch.tensor([[1.0]], dtype=torch.float64)
    (form,), constant = Relu().relax(Box(low, high)).pull(torch.tensor([[[sign]]], dtype=torch.float64))
    reached = torch.tensor([5.0], dtype=torch.float64).relu()  # what a unit without a box may give
    bound = form * 5.0 + constant
    assert not (bound > sign * reached).any()
