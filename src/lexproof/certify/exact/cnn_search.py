"""Is there an adversarial point with at most k swaps?  Depth-first branch and bound over one rival of a reduced net.

A region is proven by its additive bound, else its children are looked at (`cnn_branching`), most harmful first and
many at a time; with one swap left all single swaps are evaluated exactly.  So the answer is exact: a set of candidates
with margin <= theta, or the tree of a proof that there is none.

The tree of a region is the list of its children [candidate, tree] in the order in which they were fixed; a region
without children is []: proven by its bound, or, with one swap left, by evaluation.  To check a tree of a region (fixed
swaps F, free candidates C, budget k; at the root F = {}, C = all, k = the radius), recompute the additive bound of
`cnn_rival` from the net, and verify

1. margin(F) > theta, from the definition of the net;
2. k = 1: margin(F + c) > theta for every c of C, from the definition; that is all;
3. k > 1, children c_1 … c_m: base + the k least of min(0, gain) over the positions of C - {c_1 … c_m} is > theta;
4. child i is a proof of: fixed F + c_i; budget k - 1; free the candidates of C - {c_1 … c_i} at other positions than
   c_i's, except each d with base + gain(c_i) + gain(d) + T > theta + GUARD, where T is the sum of the k - 2 least of
   min(0, gain) over the positions of C - {c_1 … c_i} other than those of c_i and d.

Sets whose first member in the order of children is c_i are in child i, those without any c_i are proven by 3, and
those left out in 4 by the bound: nothing is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from lexproof.certify.exact.cnn_branching import branch
from lexproof.certify.exact.cnn_net import Index
from lexproof.certify.exact.cnn_rival import Rival
from lexproof.points import BoolArray

GUARD = 1e-9
"""A bound has to exceed theta by this much, far above the rounding of its float64 sums."""

_ELEMENTS = 1_000_000  # numbers in one array of a batch of regions

Tree = list[Any]


class TimeUp(Exception):
    """The clock has run out, or the regions that may be looked at in all are used up."""


class NodesUp(Exception):
    """The regions that a search may look at are used up."""


@dataclass(slots=True)
class Effort:
    """What a search may spend and has spent."""

    deadline: float
    clock: Callable[[], float]
    max_record: int = 0  # regions of a proof that are recorded; past that there is no tree
    nodes: int = 0
    cap: float = inf  # number of nodes at which to stop
    proof_start: int = 0  # number of nodes before the present proof
    max_nodes: float = inf  # in all

    def check(self) -> None:
        """Raise TimeUp past the deadline or the last node, and NodesUp at the cap."""
        if self.clock() >= self.deadline or self.nodes >= self.max_nodes:
            raise TimeUp
        if self.nodes >= self.cap:
            raise NodesUp

    @property
    def is_recording(self) -> bool:
        """Whether the regions of the present proof fit into a tree."""
        return self.nodes - self.proof_start <= self.max_record


@dataclass(frozen=True, slots=True)
class Found:
    """A set of candidates with margin <= theta, or None, and then the tree of the proof if it was recorded."""

    swaps: tuple[int, ...] | None
    tree: Tree | None = None


@dataclass(slots=True)
class _Batch:
    budget: int
    paths: Index  # (B, depth)
    free: BoolArray  # (B, S)
    trees: list[Tree] = field(default_factory=list)  # of each region, filled while its children are found

    def split(self, size: int) -> tuple[_Batch | None, _Batch]:
        """What is left for later, and the last `size` regions."""
        if len(self.paths) <= size:
            return None, self
        head = _Batch(self.budget, self.paths[:-size], self.free[:-size], self.trees[:-size])
        return head, _Batch(self.budget, self.paths[-size:], self.free[-size:], self.trees[-size:])


def search(rival: Rival, budget: int, theta: float, effort: Effort) -> Found:
    """An adversarial set of at most `budget` candidates, or a proof that there is none; raises TimeUp or NodesUp."""
    tree: Tree = []
    count = len(rival.position)
    batch = max(1, _ELEMENTS // max(rival.size * rival.negative.width, count, 1))
    stack = [_Batch(budget, np.zeros((1, 0), np.int64), np.ones((1, count), np.bool_), [tree])]
    while stack:
        effort.check()
        later, here = stack.pop().split(batch)
        if later is not None:
            stack.append(later)
        effort.nodes += len(here.paths)
        found, below = _expand(rival, here, theta, effort)
        if found is not None:
            return Found(found)
        if below is not None:
            stack.append(below)
    return Found(None, tree if effort.is_recording else None)


def _expand(rival: Rival, batch: _Batch, theta: float, effort: Effort) -> tuple[tuple[int, ...] | None, _Batch | None]:
    """A flip among the fixed swaps (or singles on top of them), or the regions that remain to be looked at."""
    values = rival.values(batch.paths)
    base = rival.margins(values)
    worst = int(base.argmin())
    if base[worst] <= theta:
        return tuple(batch.paths[worst].tolist()), None
    if batch.budget == 0:
        return None, None
    if batch.budget == 1:
        row, candidate = np.nonzero(batch.free)
        margins = base[row] + rival.singles(values, row, candidate)
        worst = int(margins.argmin()) if len(margins) else -1
        if worst >= 0 and margins[worst] <= theta:
            return (*batch.paths[row[worst]].tolist(), int(candidate[worst])), None
        return None, None
    gain = rival.gains(values, batch.free, batch.budget)
    children = branch(base, gain, rival.position, batch.budget, theta + GUARD)
    if not len(children.row):
        return None, None
    trees: list[Tree] = [[] for _ in children.row]
    if effort.is_recording:
        for row, candidate, tree in zip(children.row.tolist(), children.candidate.tolist(), trees, strict=True):
            batch.trees[row].append([candidate, tree])
    worst_last = np.argsort(-children.bound, kind="stable")
    paths = np.column_stack([batch.paths[children.row], children.candidate])[worst_last]
    return None, _Batch(batch.budget - 1, paths, children.free[worst_last], [trees[at] for at in worst_last])
