"""Where to split a region: at a position (its word stays, or becomes one of its candidates) or at a unit's phase.

A few splits are tried out: their parts are bounded by a short ascent, and the split wins whose parts promise the
smallest tree.  If a split raises the bound by d_1 .. d_m in its m parts, a tree that closes the gap by such splits
alone has about exp(t * gap) leaves, t being the root of  sum exp(-t d_i) = 1;  the least t wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lexproof.certify.exact.additive import AdditiveNet, Floats
from lexproof.certify.exact.ascent import Ascended
from lexproof.certify.exact.region import Region
from lexproof.certify.exact.relu_hull import HullBound

_PHASES_FROM = 4  # below this budget, splitting at words was measured to be no worse
_PHASES = 2


@dataclass(frozen=True, slots=True)
class Split:
    """`kind` is "position" or "phase"; each part with its name: a candidate, None for "the word stays", or a sign."""

    kind: str
    where: int
    parts: list[tuple[int | None, Region]]


def splits(net: AdditiveNet, hull: HullBound, found: Ascended, region: Region) -> list[Split]:
    """Splits of `region` worth trying; `hull` and `found` bound a region that contains it."""
    mass = np.zeros(len(net.position))
    mass[hull.columns.free] = found.mix
    options = [_at_position(net, region, mass)]
    if region.budget >= _PHASES_FROM:
        gaps = _gaps(hull, found)
        gaps[region.phase != 0] = 0.0
        worst = np.argsort(-gaps, kind="stable")[:_PHASES]
        options += [_at_phase(region, int(unit)) for unit in worst if gaps[unit] > 0]
    return options


def _at_position(net: AdditiveNet, region: Region, mass: Floats) -> Split:
    """Split at the position that the minimizers swap most often."""
    at = net.position[region.free]
    where, inverse = np.unique(at, return_inverse=True)
    position = int(where[np.argmax(np.bincount(inverse, mass[region.free]))])
    there, rest = region.free[at == position], region.free[at != position]
    there = there[np.argsort(mass[there], kind="stable")]
    parts: list[tuple[int | None, Region]] = [(None, region.keeping(rest))]
    parts += [(int(candidate), region.swapping(net, int(candidate), rest)) for candidate in there]
    return Split("position", position, parts)


def _at_phase(region: Region, unit: int) -> Split:
    return Split("phase", unit, [(sign, region.phased(unit, sign)) for sign in (-1, 1)])


def _gaps(hull: HullBound, found: Ascended) -> Floats:
    """How much each unit's bound loses on the mean of the minimizers."""
    weight = hull.rival.weight
    mean = hull.region.hidden + found.mix @ hull.change
    gaps: Floats = np.maximum(weight, 0.0) * (found.mean - np.maximum(mean, 0.0))
    above = hull.upper(found.bound, found.mix)
    gaps[hull.bent] = hull.force * (above - found.mean[hull.bent])
    return gaps


def growth(raises: Sequence[float]) -> float:
    """The root t of sum exp(-t d_i) = 1: the growth of a tree that splits so, per unit of gap."""
    parts = np.asarray(raises)
    low, high = 0.0, 1.0
    while np.exp(-high * parts).sum() > 1:
        low, high = high, 2 * high
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if np.exp(-middle * parts).sum() > 1 else (low, middle)
    return high
