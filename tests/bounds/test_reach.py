"""How far forms reach over a region: never less than the exact range, and hardly more."""

import pytest
import torch
from torch import Tensor

from lexproof.bounds.ball import NORMS, BallRegion
from lexproof.bounds.reach import reach
from lexproof.bounds.region import SwapRegion

RADII = (0.0, 1e-9, 0.05, 0.4, 1.0, 1.9, 2.5, 99.0)
DIM = 6


def region(norm: float) -> BallRegion:
    generator = torch.Generator().manual_seed(1)
    center = torch.rand(len(RADII), 1, DIM, generator=generator, dtype=torch.float64)
    high = torch.ones_like(center)
    center[:, :, 0] = center[:, :, 0].round()
    center[:, :, 1], high[:, :, 1] = 0.0, 0.0
    return BallRegion(center, torch.tensor(RADII, dtype=torch.float64), norm, torch.zeros_like(center), high)


def forms() -> Tensor:
    """Random ones, zeros, single coordinates, ties, many sizes, and one that only the fixed coordinate has."""
    generator = torch.Generator().manual_seed(2)
    found = torch.randn(len(RADII), 30, DIM, generator=generator, dtype=torch.float64)
    found[:, 0] = 0.0
    found[:, 1, 1:] = 0.0
    found[:, 2] = found[:, 2].sign()
    found[:, 3] *= 1e8
    found[:, 4] *= 1e-12
    found[:, 5, 2:] *= 1e-9
    found[:, 6, [0, 2, 3, 4, 5]] = 0.0
    return found


def exact(ball: BallRegion, given: Tensor) -> tuple[Tensor, Tensor]:
    at = torch.einsum("nsd,nd->ns", given, ball.center.flatten(1))
    return ball.minimum(given[:, :, None]) - at, -ball.minimum(-given[:, :, None]) - at


@pytest.mark.parametrize("norm", NORMS)
def test_the_range_is_never_smaller(norm: float) -> None:
    ball, given = region(norm), forms()
    size = given.abs().sum(2)
    for found, true, side in zip(reach(ball, given), exact(ball, given), (1, -1), strict=True):
        assert torch.isfinite(found).all()
        assert (side * (found - true) <= 1e-12 * size + 1e-90).all()


@pytest.mark.parametrize("norm", NORMS)
def test_the_range_is_hardly_larger(norm: float) -> None:
    ball, given = region(norm), forms()
    for found, true in zip(reach(ball, given), exact(ball, given), strict=True):
        lost = (found - true).abs() / true.abs().clamp(min=1e-15)
        assert lost[:, 7:].mean() < 0.01 and lost[:, 7:].max() < 0.2
        assert lost[[0, -1]].max() < 1e-6  # a point, and all of the box


def test_many_coordinates_are_nearly_exact() -> None:
    """The dual bound is flat at its best level: of 50 coordinates, moderately stopped, next to nothing is lost."""
    generator = torch.Generator().manual_seed(3)
    center = torch.rand(4, 1, 50, generator=generator, dtype=torch.float64)
    radius = torch.tensor([0.1, 0.5, 1.0, 1.5], dtype=torch.float64)
    ball = BallRegion(center, radius, 2.0, torch.zeros_like(center), torch.ones_like(center))
    given = torch.randn(4, 200, 50, generator=generator, dtype=torch.float64)
    for found, true in zip(reach(ball, given), exact(ball, given), strict=True):
        assert ((found - true).abs() / true.abs()).max() < 2e-3


def test_other_regions_are_exact() -> None:
    generator = torch.Generator().manual_seed(4)
    original = torch.randn(2, 3, 2, generator=generator, dtype=torch.float64)
    changes = torch.randn(2, 2, 2, 2, generator=generator, dtype=torch.float64)
    swaps = SwapRegion(original, torch.tensor([[0, 2], [1, 2]]), changes, torch.tensor([1, 2]))
    given = torch.randn(2, 5, 6, generator=generator, dtype=torch.float64)
    low, high = reach(swaps, given)
    at = torch.einsum("nsd,nd->ns", given, original.flatten(1))
    wide = given.unflatten(2, (3, 2))
    torch.testing.assert_close(low, swaps.minimum(wide) - at)
    torch.testing.assert_close(high, -swaps.minimum(-wide) - at)
