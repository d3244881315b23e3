"""A region of points: some swaps fixed, a set of candidates free, a budget, and the phases of some units fixed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lexproof.certify.exact.additive import AdditiveNet, Floats, Ints

Phases = NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """All points `fixed` + at most `budget` of the candidates `free` (one a position), in the given phases.

    A unit with phase +1 has hidden >= 0 at every point of the region, one with phase -1 has hidden <= 0.  No free
    candidate stands at the position of a fixed one.
    """

    fixed: tuple[int, ...]
    hidden: Floats  # (H,) at the fixed swaps
    free: Ints
    budget: int
    phase: Phases

    @classmethod
    def whole(cls, net: AdditiveNet, budget: int) -> Region:
        """Every point with at most `budget` swaps."""
        return cls((), net.z0, np.arange(len(net.position)), budget, np.zeros(len(net.z0), np.int8))

    def keeping(self, free: Ints) -> Region:
        """The same with fewer free candidates."""
        return Region(self.fixed, self.hidden, free, self.budget, self.phase)

    def swapping(self, net: AdditiveNet, candidate: int, free: Ints) -> Region:
        """One more swap fixed; `free` must leave out its position."""
        fixed = (*self.fixed, candidate)
        return Region(fixed, self.hidden + net.change[candidate], free, self.budget - 1, self.phase)

    def phased(self, unit: int, sign: int) -> Region:
        """One more phase fixed."""
        phase = self.phase.copy()
        phase[unit] = sign
        return Region(self.fixed, self.hidden, self.free, self.budget, phase)


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Free candidates side by side so that a maximum over each position takes a few slices.

    Positions are put in order of falling number of candidates; first comes the first candidate of every position, then
    the second of those that have one, and so on.
    """

    free: Ints  # candidates in this order
    place: Ints  # (S,) number of the candidate's position, 0 .. places - 1
    ends: tuple[int, ...]  # where each of these slices ends
    places: int

    @classmethod
    def of(cls, position: Ints, free: Ints) -> Columns:
        """Arrange candidates."""
        order = free[np.argsort(position[free], kind="stable")]
        at = position[order]
        starts = np.flatnonzero(np.concatenate(([True], at[1:] != at[:-1])))
        counts = np.diff(np.append(starts, len(at)))
        rank = np.empty_like(starts)
        rank[np.argsort(-counts, kind="stable")] = np.arange(len(starts))
        slot = np.arange(len(at)) - np.repeat(starts, counts)
        place = np.repeat(rank, counts)
        final = np.argsort(slot * len(starts) + place)
        ends = tuple(np.cumsum(np.bincount(slot)).tolist())
        return cls(order[final], place[final], ends, len(starts))

    def most(self, rows: Floats) -> Floats:
        """The largest value at each position, or 0 if that is more: (..., S) to (..., places)."""
        best: Floats = np.maximum(rows[..., : self.places], 0.0)
        for begin, end in zip(self.ends, self.ends[1:], strict=False):
            part = best[..., : end - begin]
            np.maximum(part, rows[..., begin:end], out=part)
        return best
