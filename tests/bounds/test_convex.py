"""Tangents and chords of the square and the inverse square root."""

import pytest
import torch
from rule_checks import check_rule, random_points, uniform

from lexproof.bounds.convex import InverseRoot, Square
from lexproof.bounds.graph import Box


def around(center: torch.Tensor) -> Box:
    """Widths from nothing to wide: (4, 60)."""
    size = 10 ** uniform((4, 60), -12, 1, torch.Generator().manual_seed(2))
    size[:, ::10] = 0.0
    return Box(center - size, center + size)


def test_square() -> None:
    box = around(uniform((4, 60), -3, 3, torch.Generator().manual_seed(1)))
    check_rule(Square(), [box], [[point] for point in random_points(box, 20, torch.Generator().manual_seed(0))])
    lines = Square().relax(Box(torch.tensor([[-1.0]]), torch.tensor([[3.0]])), slopes=torch.tensor([[1.0]]))
    assert (lines.low[0].item(), lines.low_at.item()) == (6.0, -9.0)  # the tangent at 3
    assert (lines.high[0].item(), lines.high_at.item()) == (2.0, 3.0)  # the chord
    assert Square().interval(Box(torch.tensor([[-1.0, 2.0]]), torch.tensor([[3.0, 3.0]]))).low.tolist() == [[0.0, 4.0]]


@pytest.mark.parametrize("least", [1e-12, 0.5])
def test_inverse_root(least: float) -> None:
    """Also where the box reaches below what is possible, and over twelve orders of magnitude."""
    box = around(10 ** uniform((4, 60), -2, 1, torch.Generator().manual_seed(3)))
    box = Box(box.low, box.high.clamp(min=least))
    inside = Box(box.low.clamp(min=least), box.high)
    points = [[point] for point in random_points(inside, 20, torch.Generator().manual_seed(0))]
    check_rule(InverseRoot(least), [box], points, rounding=1e-9 * least**-0.5)
    lines = InverseRoot(1.0).relax(Box(torch.tensor([[-7.0]]), torch.tensor([[4.0]])))
    assert lines.high[0].item() == pytest.approx(-1 / 6)  # through (1, 1) and (4, 1/2)
    assert (lines.high[0] + lines.high_at).item() == pytest.approx(1)
    assert (lines.low[0] * 2.5 + lines.low_at).item() == pytest.approx(2.5**-0.5)


def test_unsettled_is_what_may_move() -> None:
    box = Box(torch.tensor([[1.0, 1.0]]), torch.tensor([[1.0, 2.0]]))
    for op in (Square(), InverseRoot(0.1)):
        assert op.unsettled(box)[0].tolist() == [[False, True]]


def test_gradients_at_a_single_number_are_finite() -> None:
    for op in (Square(), InverseRoot(0.1)):
        low, high = torch.tensor([[1.0, 2.0]]).requires_grad_(), torch.tensor([[1.0, 3.0]]).requires_grad_()
        lines = op.relax(Box(low, high))
        (lines.low[0] + lines.low_at + lines.high[0] + lines.high_at).sum().backward()
        assert torch.isfinite(low.grad).all() and torch.isfinite(high.grad).all() and low.grad.abs().max() > 0
