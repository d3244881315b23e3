"""Lines of sigmoid and tanh: valid where a violation would be largest, touching the curve, for every free parameter."""

import math

import pytest
import torch
from torch import Tensor

from lexproof.bounds.curves import Sigmoid, Tanh
from lexproof.bounds.graph import Box, Lines

CURVES = [Tanh(), Sigmoid()]
ROUNDING = 1e-14


def boxes(seed: int = 0) -> Box:
    """Boxes of many sizes and places, one row of many units each: (5, 400)."""
    generator = torch.Generator().manual_seed(seed)

    def uniform(low: float, high: float) -> Tensor:
        return low + (high - low) * torch.rand(400, generator=generator, dtype=torch.float64)

    center, size = uniform(-6, 6), 10 ** uniform(-14, 1.2)
    far = 10 ** uniform(0, 8)
    rows = [
        (center - size, center + size),  # from tiny to wide
        (-(10 ** uniform(-9, 1.5)), 10 ** uniform(-9, 1.5)),  # around 0
        (uniform(0, 4), uniform(4, 30)),  # right of 0
        (-far, far * uniform(-0.9, 2)),  # huge
        (center, center),  # a single number
    ]
    lows, highs = torch.stack([low for low, _ in rows]), torch.stack([high for _, high in rows])
    return Box(torch.cat([lows, -highs], 1), torch.cat([highs, -lows], 1))


def worst_points(curve: Tanh | Sigmoid, box: Box, slope: Tensor) -> list[Tensor]:
    """Ends of the box, and where the curve's derivative is the slope: nowhere else is the line's gap least."""
    scale = 1.0 if isinstance(curve, Tanh) else 2.0  # sigmoid(x) = 1/2 + tanh(x / 2) / 2
    height = (1 - (slope * scale**2).clamp(max=1)).clamp(min=0).sqrt()
    stationary = scale * torch.atanh(height.clamp(max=math.nextafter(1.0, 0.0)))
    inside = [stationary.clamp(box.low, box.high), (-stationary).clamp(box.low, box.high)]
    shares = torch.rand(40, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    return [box.low, box.high, *inside, *(torch.lerp(box.low, box.high, share) for share in shares)]


def gaps(curve: Tanh | Sigmoid, box: Box, lines: Lines) -> tuple[Tensor, Tensor]:
    """How far the curve is above the line below it, and below the line above it, at the worst points."""
    below = [curve.value(x) - lines.low[0] * x - lines.low_at for x in worst_points(curve, box, lines.low[0])]
    above = [lines.high[0] * x + lines.high_at - curve.value(x) for x in worst_points(curve, box, lines.high[0])]
    return torch.stack(below), torch.stack(above)


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_default_lines_hold_and_touch(curve: Tanh | Sigmoid) -> None:
    box = boxes()
    for gap in gaps(curve, box, curve.relax(box)):
        assert gap.min() >= -ROUNDING
        assert gap.amin(0).max() <= 1e-6  # every line touches, up to how well its point is found


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
@pytest.mark.parametrize("share", [0.0, 1.0, None])
def test_any_choice_holds(curve: Tanh | Sigmoid, share: float | None) -> None:
    box = boxes(seed=3)
    generator = torch.Generator().manual_seed(2)
    shape = (len(box.low), 3, 2, *box.low.shape[1:])  # 3 forms
    slopes = torch.rand(shape, generator=generator, dtype=torch.float64) if share is None else torch.full(shape, share)
    lines = curve.relax(box, slopes=slopes.double())
    assert lines.high[0].shape == (len(box.low), 3, *box.low.shape[1:])
    for s in range(3):
        own = Lines((lines.low[0][:, s],), lines.low_at[:, s], (lines.high[0][:, s],), lines.high_at[:, s])
        assert min(gap.min() for gap in gaps(curve, box, own)) >= -ROUNDING


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_default_slopes_are_the_default(curve: Tanh | Sigmoid) -> None:
    box = boxes(seed=4)
    slopes = curve.slopes(box)
    assert slopes is not None and slopes.shape == (len(box.low), 2, *box.low.shape[1:])
    assert slopes.min() >= 0 and slopes.max() <= 1
    lines, again = curve.relax(box), curve.relax(box, slopes=slopes[:, None])
    moderate = box.high - box.low < 100
    torch.testing.assert_close(lines.high_at[moderate], again.high_at[:, 0][moderate], rtol=0, atol=1e-9)
    torch.testing.assert_close(lines.low_at[moderate], again.low_at[:, 0][moderate], rtol=0, atol=1e-9)


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_default_lines_beat_constants_and_others(curve: Tanh | Sigmoid) -> None:
    """In the middle of the box, where the area is decided, no other choice is closer than the default."""
    box = boxes(seed=5)
    middle = (box.low + box.high) / 2
    lines = curve.relax(box)
    above, below = lines.high[0] * middle + lines.high_at, lines.low[0] * middle + lines.low_at
    assert (above <= curve.value(box.high) + ROUNDING).all() and (below >= curve.value(box.low) - ROUNDING).all()
    for share in (0.0, 0.3, 1.0):
        other = curve.relax(box, slopes=torch.full((len(box.low), 2, *box.low.shape[1:]), share, dtype=torch.float64))
        assert (above <= other.high[0] * middle + other.high_at + 1e-7).all()
        assert (below >= other.low[0] * middle + other.low_at - 1e-7).all()


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_a_strip_holds_and_touches(curve: Tanh | Sigmoid) -> None:
    """Both lines are met by the curve: no smaller error serves that slope."""
    box = boxes(seed=9)
    slope, height, error = curve.strip(box)
    both = Lines((slope,), height - error, (slope,), height + error)
    for gap in gaps(curve, box, both):
        assert gap.min() >= -ROUNDING
        assert gap.amin(0).max() <= 1e-9
    assert error[4].max() <= 1e-15  # a single number


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_a_strip_is_as_narrow_as_parallel_lines_can_be_where_the_curve_bends_one_way(curve: Tanh | Sigmoid) -> None:
    box = Box(torch.tensor([[0.1, 0.5, 1.0]]).double(), torch.tensor([[0.4, 2.0, 5.0]]).double())
    slope, _, error = curve.strip(box)
    shares = torch.linspace(0, 1, 2001, dtype=torch.float64)[:, None, None]
    x = torch.lerp(box.low, box.high, shares)
    for factor in (0.9, 0.99, 1.01, 1.1):
        left = curve.value(x) - factor * slope * x
        assert (left.amax(0) - left.amin(0) > 2 * error).all()


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_interval_and_unsettled(curve: Tanh | Sigmoid) -> None:
    box = boxes(seed=6)
    found = curve.interval(box)
    assert torch.equal(found.low, curve.value(box.low)) and torch.equal(found.high, curve.value(box.high))
    (unsettled,) = curve.unsettled(box)
    assert torch.equal(unsettled, box.high > box.low)


def test_lines_by_hand() -> None:
    """On [-1, 100] the chord's tangent from -1; on [1, 3] the chord below and the tangent at 2 above."""
    box = Box(torch.tensor([[1.0]], dtype=torch.float64), torch.tensor([[3.0]], dtype=torch.float64))
    lines = Tanh().relax(box)
    assert lines.low[0].item() == pytest.approx((math.tanh(3) - math.tanh(1)) / 2)
    assert lines.high[0].item() == pytest.approx(1 - math.tanh(2) ** 2)
    assert lines.high_at.item() == pytest.approx(math.tanh(2) - 2 * (1 - math.tanh(2) ** 2))
    wide = Tanh().relax(Box(box.low - 2, box.high + 97), slopes=torch.zeros(1, 2, 1, dtype=torch.float64))
    assert (-wide.high[0] + wide.high_at).item() == pytest.approx(math.tanh(-1), abs=1e-6)


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_lines_are_differentiable_in_the_box(curve: Tanh | Sigmoid) -> None:
    generator = torch.Generator().manual_seed(7)
    low = -3 * torch.rand(1, 30, generator=generator, dtype=torch.float64) - 0.1
    high = low + 0.1 + 5 * torch.rand(1, 30, generator=generator, dtype=torch.float64)

    def heights(low: Tensor, high: Tensor) -> Tensor:
        lines = curve.relax(Box(low, high), slopes=torch.full((1, 2, 30), 0.3, dtype=torch.float64))
        return torch.cat([lines.low[0], lines.low_at, lines.high[0], lines.high_at])

    low.requires_grad_(), high.requires_grad_()
    assert torch.autograd.gradcheck(heights, (low, high), eps=1e-4, atol=1e-3)
    extreme = boxes(seed=8)
    low, high = extreme.low.clone().requires_grad_(), extreme.high.clone().requires_grad_()
    heights_of = curve.relax(Box(low, high))
    sum(
        (part.sum() for part in (heights_of.low[0], heights_of.low_at, heights_of.high[0], heights_of.high_at)),
        low.sum() * 0,
    ).backward()
    assert torch.isfinite(low.grad).all() and torch.isfinite(high.grad).all()
