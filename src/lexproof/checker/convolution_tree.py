"""Checks the proof tree of a one-layer max-pool convolution: every set of swaps is in one of its cases, and is proven.

The tree of a region (swaps F made, candidates C free, b more allowed) is the list of its children [c, tree] in order:

1. F itself is evaluated.
2. b = 1: F + c is evaluated for every c of C, and there are no children.
3. b > 1: sets whose first member, in the order of the children c_1, c_2, …, is c_i belong to child i: swaps F + c_i
   made, free those of C after removing c_1 … c_i at positions other than c_i's, b - 1 more allowed.  A free candidate d
   of the child is left out if the bound over F proves every set of the region with both c_i and d.
4. Sets without any child's candidate are proven by the bound over F.

The bound is that of `convolution_bound`; it has no parameters, so a tree needs none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lexproof.checker.convolution_bound import gains
from lexproof.checker.convolution_cells import Cells, cells_of
from lexproof.checker.networks import Convolution
from lexproof.checker.sums import TOLERANCE, least
from lexproof.checker.tokens import Index
from lexproof.errors import EvidenceError
from lexproof.points import FloatArray

_Region = tuple[tuple[int, ...], Index, int, Any]
"""Swaps made, free candidates, how many more are allowed, tree."""


def check_convolution(net: Convolution, label: int, rivals: list[int], proof: Any, radius: int, theta: float) -> int:
    """How many regions a proof has that no set of at most `radius` candidates has a margin of at most theta.

    Raises EvidenceError if it proves less.
    """
    keys = {"radius", "rivals"}
    if type(proof) is not dict or not keys <= proof.keys() or type(proof["radius"]) is not int:
        raise EvidenceError("expected a proof with a radius and a tree for each rival, got something else")
    most = min(radius, len(np.unique(net.position)))
    if not most <= proof["radius"] <= len(net.position) or type(proof["rivals"]) is not list:
        raise EvidenceError(f"expected a proof for {most} swaps, got one for {proof['radius']!r:.20}")
    if len(proof["rivals"]) != len(rivals):
        raise EvidenceError(f"expected a tree for each of {len(rivals)} rivals, got {len(proof['rivals'])}")
    # any number of swaps that is no smaller would do; solvers look at few of them
    cells = cells_of(net, 1 << max(proof["radius"] - 1, 0).bit_length())
    regions = 0
    for rival, tree in zip(rivals, proof["rivals"], strict=True):
        weight, bias = net.weight[label] - net.weight[rival], float(net.bias[label] - net.bias[rival])
        regions += _Walk(net, cells, weight, bias, theta).all(proof["radius"], tree)
    return regions


class _Walk:
    """The tree of one rival."""

    def __init__(self, net: Convolution, cells: Cells, weight: FloatArray, bias: float, theta: float) -> None:
        self._net, self._cells, self._weight, self._bias, self._theta = net, cells, weight, bias, theta

    def all(self, budget: int, tree: Any) -> int:
        """The number of regions, each of them checked."""
        left: list[_Region] = [((), np.arange(len(self._net.position)), budget, tree)]
        count = 0
        while left:
            left += self._region(*left.pop())
            count += 1
        return count

    def _region(self, fixed: tuple[int, ...], free: Index, budget: int, tree: Any) -> list[_Region]:
        """Check one region; returns those of its children."""
        children = _children(tree)
        values = self._net.values(list(fixed))
        margin = self._margin(np.maximum(values.max(axis=0), 0.0))
        self._proven(margin, fixed)
        if budget == 0 or not len(free):
            return []
        if budget == 1:
            self._evaluate_singles(fixed, values, free)
            return []
        bound = gains(self._cells, self._weight, values[self._cells.place, self._cells.unit], free, budget)
        below = []
        for c, tree in children:
            if c not in free:
                raise EvidenceError(f"expected a free candidate below {list(fixed)}, got {c}")
            free = free[free != c]
            below.append(((*fixed, c), self._left_with(margin + bound[c], bound, c, free, budget), budget - 1, tree))
        rest = margin + least(bound[free], self._net.position[free], budget)
        if not rest > self._theta - TOLERANCE:
            raise EvidenceError(
                f"expected a bound above {self._theta:.6g} of the sets that no child of {list(fixed)} holds, "
                f"got {rest:.6g}"
            )
        return below

    def _left_with(self, start: float, bound: FloatArray, c: int, free: Index, budget: int) -> Index:
        """Candidates of `free` that may stand beside c in a set that the bound, with c at `start`, does not prove."""
        position = self._net.position
        free = free[position[free] != position[c]]
        limit = self._theta + TOLERANCE
        # the rest of a set cannot take more than this, wherever its other member stands
        most = least(bound[free], position[free], budget - 2)
        kept = []
        for d in free[~(start + bound[free] + most > limit)].tolist():  # what is not a number proves nothing
            other = free[position[free] != position[d]]
            if not start + bound[d] + least(bound[other], position[other], budget - 2) > limit:
                kept.append(d)
        return np.array(kept, np.int64)

    def _margin(self, features: FloatArray) -> float:
        return float(features @ self._weight) + self._bias

    def _evaluate_singles(self, fixed: tuple[int, ...], values: FloatArray, free: Index) -> None:
        net, width = self._net, self._net.change.shape[1]
        before = np.vstack([np.zeros(values.shape[1]), np.maximum.accumulate(values, axis=0)])  # of places < t, or 0
        after = np.vstack([np.maximum.accumulate(values[::-1], axis=0)[::-1], np.zeros(values.shape[1])])
        for c in free.tolist():
            first = int(net.position[c]) + net.first
            low, high = max(first, 0), min(first + width, len(values))
            here = values[low:high] + net.change[c, low - first : high - first]
            features = np.maximum(np.maximum(before[low], after[high]), here.max(axis=0))
            self._proven(self._margin(np.maximum(features, 0.0)), (*fixed, c))

    def _proven(self, value: float, swaps: tuple[int, ...]) -> None:
        if not value > self._theta - TOLERANCE:
            raise EvidenceError(
                f"expected a margin above {self._theta:.6g} with candidates {list(swaps)}, got {value:.6g}"
            )


def _children(tree: Any) -> list[tuple[int, Any]]:
    if type(tree) is not list or not all(type(child) is list and len(child) == 2 for child in tree):
        raise EvidenceError("expected children as pairs of a candidate and a tree, got something else")
    if not all(type(child[0]) is int for child in tree):
        raise EvidenceError("expected the number of a candidate, got something else")
    return [(c, below) for c, below in tree]
