"""Small regions of swaps and all of their points, written out one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product

import torch
from torch import Tensor

from lexproof.bounds.region import SwapRegion


def normal(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def random_region(
    seed: int,
    *,
    length: int = 5,
    width: int = 3,
    places: int = 3,
    depth: int = 2,
    budgets: Sequence[int] = (0, 1, 2, 9),
    whole: bool = False,
) -> SwapRegion:
    """A row for each budget, with duplicate substitutes and padding: places of 0 whose changes are 0.

    `whole`: whole numbers, so that ties are exact.
    """
    generator = torch.Generator().manual_seed(seed)
    rows = len(budgets)
    original, changes = normal(generator, rows, length, width), normal(generator, rows, places, depth, width)
    if whole:
        original, changes = original.round(), changes.round()
    at = torch.stack([torch.randperm(length, generator=generator)[:places] for _ in range(rows)])
    if depth > 1 and places:
        changes[:, 0, 1] = changes[:, 0, 0]  # a substitute twice
    if places > 1:
        changes[0, 1:], at[0, 1:] = 0.0, 0  # padding
        changes[-1, -1, depth // 2 :] = 0.0  # fewer substitutes than others
    return SwapRegion(original, at, changes, torch.tensor(list(budgets)))


def swap_sets(region: SwapRegion, row: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Every set of at most `budget` (place, substitute), at most one a place."""
    places, depth = region.changes.shape[1:3]
    for count in range(min(int(region.budget[row]), places) + 1):
        for chosen in combinations(range(places), count):
            for options in product(range(depth), repeat=count):
                yield tuple(zip(chosen, options, strict=True))


def points_of(region: SwapRegion, row: int) -> Tensor:
    """Every point of a row's region, with repeats: (M, L, d)."""
    points = []
    for swaps in swap_sets(region, row):
        point = region.original[row].clone()
        for place, option in swaps:
            point[region.places[row, place]] += region.changes[row, place, option]
        points.append(point)
    return torch.stack(points)


def only(region: SwapRegion, row: int) -> SwapRegion:
    """One row by itself."""
    at = slice(row, row + 1)
    return SwapRegion(region.original[at], region.places[at], region.changes[at], region.budget[at])
