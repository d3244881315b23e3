"""Random affine forms over small balls, and numbers that they stand for."""

from __future__ import annotations

import torch
from torch import Tensor

from lexproof.bounds.affine_forms import AffineForms
from lexproof.bounds.ball import BallRegion

ROWS, WORDS, DIM = 3, 2, 2
SIZE = WORDS * DIM


def ball(seed: int, norm: float, radii: tuple[float, ...] = (0.0, 0.2, 3.0)) -> BallRegion:
    """A point, a small ball and one that the box stops on all sides; a coordinate that cannot move."""
    generator = torch.Generator().manual_seed(seed)
    center = torch.rand(ROWS, WORDS, DIM, generator=generator, dtype=torch.float64)
    high = torch.ones_like(center)
    center[:, 1, 1], high[:, 1, 1] = 0.0, 0.0
    return BallRegion(center, torch.tensor(radii, dtype=torch.float64), norm, torch.zeros_like(center), high)


def points(region: BallRegion, count: int, seed: int) -> Tensor:
    """Points of each ball: its center, random ones, ones at the border and as near to corners as the ball allows."""
    generator = torch.Generator().manual_seed(seed)
    steps = torch.randn(count, *region.center.shape, generator=generator, dtype=torch.float64)
    steps[count // 3 :] *= 99
    steps[2 * count // 3 :] = steps[2 * count // 3 :].sign() * 99
    steps[0] = 0.0
    length = torch.linalg.vector_norm(steps.flatten(2), ord=region.norm, dim=2).clamp(min=1e-12)
    steps = steps * (region.radius / length).clamp(max=1.0)[:, :, None, None]
    return (region.center + steps).clamp(region.low, region.high)


def symbols(blocks: dict[int, int], count: int, seed: int) -> dict[int, Tensor]:
    """Values of the symbols of each block, of so many symbols: (count, ROWS, symbols), a third of them at corners."""
    generator = torch.Generator().manual_seed(seed)
    found = {}
    for block, size in blocks.items():
        values = 2 * torch.rand(count, ROWS, size, generator=generator, dtype=torch.float64) - 1
        values[: count // 3] = values[: count // 3].sign()
        found[block] = values
    return found


def forms(
    seed: int, width: int, shared: tuple[int, ...], own: tuple[int, ...] = (), size: float = 0.3, symbols_: int = 4
) -> AffineForms:
    """Random ones with these blocks; some coefficients are 0."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        found = torch.randn(*shape, generator=generator, dtype=torch.float64)
        return found * (torch.rand(*shape, generator=generator) > 0.2)

    return AffineForms.of(
        normal(ROWS, width),
        normal(ROWS, SIZE, width),
        {block: size * normal(ROWS, symbols_, width).float() for block in shared},
        {block: size * normal(ROWS, width) for block in own},
        0.01 * normal(ROWS, width).abs(),
    )


def values(given: AffineForms, region: BallRegion, at: Tensor, chosen: dict[int, Tensor], slack: Tensor) -> Tensor:
    """The numbers at points (count, ROWS, WORDS, DIM), for symbols and a share `slack` in [-1, 1] of the slack."""
    moved = (at - region.center).flatten(2)
    total = given.center + torch.einsum("crd,rdf->crf", moved, given.inputs) + slack * given.slack
    for block, coefficients in given.shared.items():
        total = total + torch.einsum("crs,rsf->crf", chosen[block], coefficients.double())
    for block, sizes in given.own.items():
        total = total + chosen[block] * sizes
    return total
