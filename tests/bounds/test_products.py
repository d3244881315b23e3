"""Planes of products and of the halves of an LSTM step, against their values on corners and random points."""

import itertools

import pytest
import torch
from torch import Tensor

from lexproof.bounds.gates import CellState, HiddenState
from lexproof.bounds.graph import Box, Op
from lexproof.bounds.products import Product

UNITS = 60


def random_box(generator: torch.Generator, width: int) -> Box:
    """Points, tiny and wide boxes, on either side of 0 and around it: (2, width)."""
    center = 3 * torch.randn(2, width, generator=generator, dtype=torch.float64)
    size = 10 ** (8 * torch.rand(2, width, generator=generator, dtype=torch.float64) - 7)
    size[:, ::7] = 0.0
    return Box(center - size, center + size)


def points(box: Box, generator: torch.Generator, count: int) -> list[Tensor]:
    shares = torch.rand(count, *box.low.shape, generator=generator, dtype=torch.float64)
    return [box.low, box.high, *(torch.lerp(box.low, box.high, share) for share in shares)]


def random_slopes(op: Op, boxes: tuple[Box, ...], forms: int, generator: torch.Generator) -> Tensor:
    default = op.slopes(*boxes)
    assert default is not None and default.min() >= 0 and default.max() <= 1
    shape = (len(default), forms, *default.shape[1:])
    slopes = torch.rand(shape, generator=generator, dtype=torch.float64)
    return torch.where(torch.rand(shape, generator=generator) < 0.3, slopes.round(), slopes)


def widths(op: Op) -> tuple[int, int]:
    return (3 * UNITS, UNITS) if isinstance(op, CellState) else (UNITS, UNITS)


def violation(op: Op, seed: int, forms: int, choose: str) -> float:
    """How far a pulled form is above the form of the value, at worst, over corners and random points."""
    generator = torch.Generator().manual_seed(seed)
    boxes = tuple(random_box(generator, width) for width in widths(op))
    slopes = None if choose == "default" else random_slopes(op, boxes, forms, generator)
    form = torch.randn(2, forms, UNITS, generator=generator, dtype=torch.float64)
    form[torch.rand(form.shape, generator=generator) < 0.1] = 0.0
    pulled = op.relax(*boxes, slopes=slopes).pull(form)
    assert [tuple(part.shape) for part in pulled.forms] == [(2, forms, width) for width in widths(op)]
    worst = -torch.inf
    interval = op.interval(*boxes)
    for x, y in itertools.product(*(points(box, generator, 6) for box in boxes)):
        value = op.value(x, y)
        assert (interval.low - 1e-12 <= value).all() and (value <= interval.high + 1e-12).all()
        exact = torch.einsum("nsu,nu->ns", form, value)
        bound = sum(torch.einsum("nsu,nu->ns", part, given) for part, given in zip(pulled.forms, (x, y), strict=True))
        worst = max(worst, float((bound + pulled.constant - exact).max()))
    return worst


@pytest.mark.parametrize("op", [Product(), CellState(), HiddenState()], ids=lambda op: op.name)
@pytest.mark.parametrize("choose", ["default", "random"])
def test_planes_hold(op: Op, choose: str) -> None:
    for seed in range(10):
        assert violation(op, seed, forms=5, choose=choose) <= 1e-11


def per_unit_gap(op: Op, seed: int, sign: float, slopes: Tensor | None) -> Tensor:
    """The least distance of each unit from its plane over corners and many points: (2, U)."""
    generator = torch.Generator().manual_seed(seed)
    boxes = tuple(random_box(generator, width) for width in widths(op))
    form = sign * torch.eye(UNITS, dtype=torch.float64).expand(2, -1, -1)
    if slopes is not None:
        slopes = slopes[:, None].expand(-1, UNITS, *slopes.shape[1:])
    pulled = op.relax(*boxes, slopes=slopes).pull(form)
    least = torch.full((2, UNITS), torch.inf, dtype=torch.float64)
    for x, y in itertools.product(*(points(box, generator, 8) for box in boxes)):
        bound = sum(torch.einsum("nsu,nu->ns", part, given) for part, given in zip(pulled.forms, (x, y), strict=True))
        least = torch.minimum(least, sign * op.value(x, y) - bound - pulled.constant)
    return least


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_each_unit_lies_on_its_side(sign: float) -> None:
    for op in (Product(), CellState(), HiddenState()):
        for seed in range(5):
            assert per_unit_gap(op, seed, sign, None).min() >= -1e-12


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("end", [0.0, 1.0])
def test_an_end_plane_touches_corners(sign: float, end: float) -> None:
    """With all the weight on one plane, x y is met at two edges of the box."""
    gap = per_unit_gap(Product(), 3, sign, torch.full((2, 2, UNITS), end, dtype=torch.float64))
    assert gap.abs().max() <= 1e-12


def test_product_by_hand() -> None:
    """x in [1, 3], y in [-2, 4]: in the middle x y = 2, and all planes miss it by 2 * 6 / 4 = 3."""
    box = [Box(torch.full((1, 1), low).double(), torch.full((1, 1), high).double()) for low, high in ((1, 3), (-2, 4))]
    for share in (0.0, 0.25, 1.0):
        lines = Product().relax(*box, slopes=torch.full((1, 2, 1), share).double())
        assert (lines.low[0] * 2 + lines.low[1] * 1 + lines.low_at).item() == pytest.approx(-1)
        assert (lines.high[0] * 2 + lines.high[1] * 1 + lines.high_at).item() == pytest.approx(5)


def test_a_fixed_factor_is_exact() -> None:
    """If one input of a product is a single number, both planes are the product."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, 9, generator=generator, dtype=torch.float64)
    y = Box(x.abs() - 2, x.abs() + 1)
    lines = Product().relax(Box(x, x), y)
    for at in (y.low, y.high):
        torch.testing.assert_close(lines.low[0] * x + lines.low[1] * at + lines.low_at, x * at)
        torch.testing.assert_close(lines.high[0] * x + lines.high[1] * at + lines.high_at, x * at)
    assert not any(mask.any() for mask in Product().unsettled(Box(x, x), y))
    assert all(mask.all() for mask in Product().unsettled(y, y))


def test_the_cell_asks_for_what_matters() -> None:
    """A state that moves under a gate that does not is multiplied by a number: its box is not needed."""
    low = torch.zeros(1, 6, dtype=torch.float64)
    high = torch.tensor([[1.0, 0, 0, 1, 0, 0]], dtype=torch.float64)  # i and f of two units, then g
    cell = Box(low[:, :2], low[:, :2] + 1)
    gates, state = CellState().unsettled(Box(low, high), cell)
    assert gates.tolist() == [[True, False, False, True, False, False]]
    assert state.tolist() == [[False, True]]
    out, state = HiddenState().unsettled(Box(low[:, :2], high[:, :2]), cell)
    assert out.tolist() == [[True, False]] and state.tolist() == [[True, True]]


@pytest.mark.parametrize("op", [Product(), CellState(), HiddenState()], ids=lambda op: op.name)
def test_planes_are_differentiable(op: Op) -> None:
    generator = torch.Generator().manual_seed(1)
    boxes = tuple(random_box(generator, width) for width in widths(op))
    ends = [end.clone().requires_grad_() for box in boxes for end in box]
    slopes = random_slopes(op, boxes, 2, generator).requires_grad_()
    form = torch.randn(2, 2, UNITS, generator=generator, dtype=torch.float64)
    relaxed = op.relax(Box(ends[0], ends[1]), Box(ends[2], ends[3]), slopes=slopes)
    pulled = relaxed.pull(form)
    (pulled.constant.sum() + sum(part.square().sum() for part in pulled.forms)).backward()
    for tensor in (*ends, slopes):
        assert tensor.grad is not None and torch.isfinite(tensor.grad).all() and tensor.grad.any()
