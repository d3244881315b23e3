"""Branch and bound over one margin: an adversarial point within a budget, or a proof that there is none.

Depth first, so a point is found early and the open regions stay few.  A search can be interrupted at any moment and
taken up again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lexproof.certify.exact.additive import Rival
from lexproof.certify.exact.ascent import Ascended, Pace, ascend
from lexproof.certify.exact.branching import growth, splits
from lexproof.certify.exact.record import Recorder
from lexproof.certify.exact.region import Region
from lexproof.certify.exact.relu_hull import Dual, HullBound
from lexproof.certify.exact.small import all_points, first_adversarial, is_small

_ROOT = Pace(100, 0.2)
_NODE = Pace(30, 0.05)
_LOOK = Pace(10, 0.05)
_FEW = Pace(5, 0.2)
_SHRUNK = 0.85  # bound again if no more than this share of the candidates is left
_CLOSED = 1.2  # what a proven part counts as a raise of the bound, in gaps


@dataclass(slots=True)
class Node:
    """A region that is not proven yet, with what is known about it."""

    region: Region
    dual: Dual | None  # of a region that contains it
    value: float
    slot: Any  # where the rest of its proof is recorded
    hull: HullBound | None = None
    found: Ascended | None = None


class Search:
    """Is there a point with at most `budget` swaps whose margin over one rival is at most theta?"""

    def __init__(self, rival: Rival, budget: int, recorder: Recorder) -> None:
        self.rival = rival
        self.recorder = recorder
        self.nodes = 0
        self.witness: tuple[int, ...] | None = None
        self._stack = [Node(Region.whole(rival.net, budget), None, -np.inf, recorder.root)]
        self._pace = _ROOT

    @property
    def is_over(self) -> bool:
        """Whether the question is answered: by a witness, or by a proof."""
        return self.witness is not None or not self._stack

    def run(self, is_time_up: Callable[[], bool]) -> None:
        """Work until the question is answered or time is up."""
        while not self.is_over and not is_time_up():
            node = self._stack.pop()
            if not self._close(node, self._pace, rounds=6) and self.witness is None:
                self._branch(node)
            self._pace = _NODE

    def glance(self, pace: Pace) -> None:
        """One bound of the whole region: that is enough where few words can be swapped, or none that matter."""
        if self._close(self._stack[0], pace, rounds=1):
            self._stack.pop()

    # ------------------------------------------------------------------ one region

    def _close(self, node: Node, pace: Pace, rounds: int) -> bool:
        """Whether the region is proven; if not, the node is left with fewer candidates and a better bound.

        Or there is a witness.
        """
        self.nodes += 1
        for _ in range(rounds):
            if is_small(node.region):
                return self._evaluate(node)
            hull = HullBound(self.rival, node.region)
            if hull.is_empty:
                self.recorder.empty(node.slot)
                return True
            dual = hull.start() if node.dual is None else hull.warm(node.dual)
            found = ascend(hull, dual, _FEW if node.region.budget == 2 else pace)
            if found.witness is not None:
                self.witness = found.witness
                return False
            node.dual, node.hull, node.found = found.dual, hull, found
            node.value = max(node.value, found.bound.value)
            if self._is_proven(node, hull, found):
                return True
            if len(node.region.free) > _SHRUNK * len(hull.columns.free):
                return False
            pace = _NODE if pace is _ROOT else pace
        return is_small(node.region) and self._evaluate(node)

    def _is_proven(self, node: Node, hull: HullBound, found: Ascended) -> bool:
        """Whether the bound proves the region; if not, candidates that it proves leave the region."""
        dual, bound = self.recorder.rounded(hull, found)
        if bound.value > self.rival.theta:
            self.recorder.leaf(node.slot, dual)
            return True
        alive = hull.survivors(bound)
        if not alive.all():
            free = hull.columns.free
            node.slot = self.recorder.drop(node.slot, dual, free[~alive])
            node.region = node.region.keeping(free[alive])
        return False

    def _evaluate(self, node: Node) -> bool:
        """Evaluate every point of the region."""
        region, net = node.region, self.rival.net
        swaps, hidden = all_points(net, region)
        self.witness = first_adversarial(net, self.rival.theta, swaps, self.rival.margin(hidden), region.fixed)
        if self.witness is None:
            self.recorder.points(node.slot, region.budget)
        return self.witness is None

    # ------------------------------------------------------------------ splits

    def _branch(self, node: Node) -> None:
        """Try splits, keep the parts of the best one that are still open."""
        assert node.hull is not None and node.found is not None
        gap = max(self.rival.theta - node.value, 1e-12)
        best, least = None, np.inf
        for split in splits(self.rival.net, node.hull, node.found, node.region):
            slots = [self.recorder.slot() for _ in split.parts]
            regions = [region for _, region in split.parts]
            parts = [Node(region, node.dual, node.value, slot) for region, slot in zip(regions, slots, strict=True)]
            is_open = self._try(parts)
            if self.witness is not None:
                return
            raised = [(part.value - node.value) / gap for part in parts]
            score = growth([min(max(r, 1e-3), 1.0) if o else _CLOSED for r, o in zip(raised, is_open, strict=True)])
            if score < least:
                least, best = score, (split, slots, parts, is_open)
            if not any(is_open):
                break
        assert best is not None
        split, slots, parts, is_open = best
        self.recorder.split(node.slot, split, slots)
        self._stack += [part for part, still in zip(parts, is_open, strict=True) if still]

    def _try(self, parts: list[Node]) -> list[bool]:
        """Bound the parts of a split shortly: whether each is still open (up to the first witness)."""
        is_open = []
        for part in parts:
            is_open.append(not self._close(part, _LOOK, rounds=1))
            if self.witness is not None:
                break
        return is_open
