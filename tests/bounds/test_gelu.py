"""Lines of GELU: valid where a violation would be largest, touching the curve, for every free parameter."""

import math

import pytest
import torch
from rule_checks import check_rule, random_points, uniform
from torch import Tensor

from lexproof.bounds.gelu import Gelu, TanhGelu
from lexproof.bounds.graph import Box, Lines

CURVES = [Gelu(), TanhGelu()]
ROUNDING = 1e-13
Curve = Gelu | TanhGelu


def boxes(seed: int) -> Box:
    """Boxes of many sizes and places, with their mirror images: (6, 800)."""
    generator = torch.Generator().manual_seed(seed)

    def random(low: float, high: float) -> Tensor:
        return uniform((400,), low, high, generator)

    center, size = random(-6, 6), 10 ** random(-14, 1.2)
    bend, near = random(1.3, 1.5), 10 ** random(-9, 0)
    rows = [
        (center - size, center + size),  # from tiny to wide
        (-(10 ** random(-9, 1.5)), 10 ** random(-9, 1.5)),  # around 0
        (random(-1.41, 1.41), random(1.42, 30)),  # from the convex part into the concave one
        (bend - near, bend + near),  # around the bend
        (random(-20, -1.42), random(1.42, 20)),  # over both bends
        (center, center),  # a single number
    ]
    lows, highs = torch.stack([low for low, _ in rows]), torch.stack([high for _, high in rows])
    return Box(torch.cat([lows, -highs], 1), torch.cat([highs, -lows], 1))


def derivative(curve: Curve, x: Tensor) -> Tensor:
    with torch.enable_grad():
        x = x.detach().clone().requires_grad_()
        return torch.autograd.grad(reference(curve, x).sum(), x)[0]


def reference(curve: Curve, x: Tensor) -> Tensor:
    return torch.nn.functional.gelu(x, approximate="tanh" if isinstance(curve, TanhGelu) else "none")


def stationary(curve: Curve, box: Box, slope: Tensor) -> list[Tensor]:
    """Where the derivative is the slope: it rises between the bends and falls outside, so bisection finds all three."""
    bend = torch.full_like(slope, 1.4185 if isinstance(curve, TanhGelu) else math.sqrt(2))
    found = []
    for start, stop in ((-bend, bend), (bend * 20, bend), (-bend, -bend * 20)):
        small, large = start, stop  # the derivative is smaller at the first
        for _ in range(60):
            middle = (small + large) / 2
            is_small = derivative(curve, middle) < slope
            small, large = torch.where(is_small, middle, small), torch.where(is_small, large, middle)
        found.append(small.clamp(box.low, box.high))
    return found


def worst_points(curve: Curve, box: Box, slope: Tensor) -> Tensor:
    """Ends of the box and stationary points of the gap: nowhere else can it be least."""
    generator = torch.Generator().manual_seed(1)
    return torch.stack([*random_points(box, 10, generator), *stationary(curve, box, slope)])


def gaps(curve: Curve, box: Box, lines: Lines) -> tuple[Tensor, Tensor]:
    below, above = (worst_points(curve, box, slope) for slope in (lines.low[0], lines.high[0]))
    return (
        reference(curve, below) - lines.low[0] * below - lines.low_at,
        lines.high[0] * above + lines.high_at - reference(curve, above),
    )


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_default_lines_hold_and_touch(curve: Curve) -> None:
    box = boxes(0)
    for gap in gaps(curve, box, curve.relax(box)):
        assert gap.min() >= -ROUNDING
        assert gap.amin(0).max() <= 1e-7  # every line touches, up to the bisection


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
@pytest.mark.parametrize("share", [0.0, 1.0, None])
def test_any_choice_holds(curve: Curve, share: float | None) -> None:
    box = boxes(3)
    shape = (len(box.low), 2, 2, *box.low.shape[1:])  # 2 forms
    generator = torch.Generator().manual_seed(2)
    slopes = uniform(shape, 0, 1, generator) if share is None else torch.full(shape, share, dtype=torch.float64)
    lines = curve.relax(box, slopes=slopes)
    assert lines.high[0].shape == (len(box.low), 2, *box.low.shape[1:])
    for s in range(2):
        own = Lines((lines.low[0][:, s],), lines.low_at[:, s], (lines.high[0][:, s],), lines.high_at[:, s])
        assert min(gap.min() for gap in gaps(curve, box, own)) >= -ROUNDING


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_default_is_the_best_in_the_middle(curve: Curve) -> None:
    box = boxes(5)
    middle = (box.low + box.high) / 2
    lines, spelled = curve.relax(box), curve.relax(box, slopes=curve.slopes(box))
    above, below = lines.high[0] * middle + lines.high_at, lines.low[0] * middle + lines.low_at
    torch.testing.assert_close(spelled.high[0] * middle + spelled.high_at, above, rtol=0, atol=1e-9)
    torch.testing.assert_close(spelled.low[0] * middle + spelled.low_at, below, rtol=0, atol=1e-9)
    for share in (0.0, 0.3, 1.0):
        other = curve.relax(box, slopes=torch.full((len(box.low), 2, *box.low.shape[1:]), share, dtype=torch.float64))
        assert (above <= other.high[0] * middle + other.high_at + 1e-7).all()
        assert (below >= other.low[0] * middle + other.low_at - 1e-7).all()


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_forms_and_interval(curve: Curve) -> None:
    box = boxes(6)
    generator = torch.Generator().manual_seed(3)
    check_rule(curve, [box], [[point] for point in random_points(box, 5, generator)], rounding=1e-9)
    wide = torch.linspace(-9, 9, 20001, dtype=torch.float64)
    found = curve.interval(Box(torch.tensor([[-9.0, -0.5]]).double(), torch.tensor([[9.0, 0.2]]).double()))
    assert found.low[0, 0].item() == pytest.approx(reference(curve, wide).min().item(), abs=1e-7)
    assert found.high[0, 0].item() == pytest.approx(9)
    assert found.low[0, 1].item() == pytest.approx(reference(curve, wide.new_tensor(-0.5)).item())
    assert torch.equal(curve.unsettled(box)[0], box.high > box.low)


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_value_and_huge_boxes(curve: Curve) -> None:
    x = torch.linspace(-60, 60, 999, dtype=torch.float64)
    torch.testing.assert_close(curve.value(x), reference(curve, x), rtol=0, atol=1e-13)
    ends = torch.tensor([[-1e8, 1e8, -1e8, 3.0, -1e6]]).double()
    box = Box(ends, torch.tensor([[1e8, 2e8, -1e7, 1e8, 0.5]]).double())
    lines = curve.relax(box)
    for x in random_points(box, 20, torch.Generator().manual_seed(0)):
        assert (lines.low[0] * x + lines.low_at <= reference(curve, x) + 1e-6).all()
        assert (lines.high[0] * x + lines.high_at >= reference(curve, x) - 1e-6).all()


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_bend_and_turn(curve: Curve) -> None:
    """The constants: the second derivative changes its sign at the bend, the first at the turn."""
    with torch.enable_grad():
        x = torch.tensor([curve._bend - 1e-6, curve._bend + 1e-6], dtype=torch.float64, requires_grad=True)
        first = torch.autograd.grad(curve.value(x).sum(), x, create_graph=True)[0]
        second = torch.autograd.grad(first.sum(), x)[0]
    assert second[0] > 0 > second[1]
    turn = derivative(curve, torch.tensor([curve._least - 1e-9, curve._least + 1e-9], dtype=torch.float64))
    assert turn[0] < 0 < turn[1]


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_gradients_are_finite(curve: Curve) -> None:
    extreme = boxes(8)
    low, high = extreme.low.clone().requires_grad_(), extreme.high.clone().requires_grad_()
    lines = curve.relax(Box(low, high))
    sum((part.sum() for part in (lines.low[0], lines.low_at, lines.high[0], lines.high_at)), low.sum() * 0).backward()
    assert torch.isfinite(low.grad).all() and torch.isfinite(high.grad).all()
    assert low.grad.abs().max() > 0
