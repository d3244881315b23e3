"""Regions that are small enough to evaluate every point: at most two swaps among not too many candidates."""

from __future__ import annotations

import numpy as np

from lexproof.certify.exact.additive import AdditiveNet, Floats, Ints
from lexproof.certify.exact.region import Region

_PAIRS = 4096  # pairs at which evaluating them all was measured to be as quick as bounding them


def is_small(region: Region) -> bool:
    """Whether evaluating all points is quicker than bounding them."""
    count = len(region.free)
    return region.budget <= 1 or not count or (region.budget == 2 and count * (count - 1) <= 2 * _PAIRS)


def all_points(net: AdditiveNet, region: Region) -> tuple[Ints, Floats]:
    """Every point of a region with a budget of at most 2: (points, 2) candidates, -1 for none, and hidden layers.

    Phases are not looked at: points outside of them are there too.
    """
    levels = [level(net, region, radius) for radius in range(region.budget + 1)]
    swaps = [np.pad(chosen, ((0, 0), (0, 2 - chosen.shape[1])), constant_values=-1) for chosen, _ in levels]
    return np.concatenate(swaps), np.concatenate([hidden for _, hidden in levels])


def level(net: AdditiveNet, region: Region, radius: int) -> tuple[Ints, Floats]:
    """The points with exactly `radius` of the free candidates, at most 2: (points, radius), and hidden layers."""
    free, hidden = region.free, region.hidden[None]
    if not radius:
        return np.zeros((1, 0), np.int64), hidden
    change = net.change[free]
    hidden = hidden + change
    if radius == 1:
        return free[:, None], hidden
    position = net.position[free]
    first, second = np.nonzero(position[:, None] < position)  # each pair once, at different positions
    return np.stack((free[first], free[second]), axis=1), hidden[first] + change[second]


def first_adversarial(
    net: AdditiveNet, theta: float, swaps: Ints, margins: Floats, fixed: tuple[int, ...] = ()
) -> tuple[int, ...] | None:
    """The point of least margin that is adversarial when evaluated by itself, or None.

    Sums of many points at once round in another order: a margin that equals theta in one may be above it in the other.
    """
    found = np.flatnonzero(margins <= theta)
    for row in found[np.argsort(margins[found], kind="stable")]:
        witness = (*fixed, *(c for c in swaps[row].tolist() if c >= 0))
        if net.is_adversarial(witness, theta):
            return witness
    return None
