"""Bound-pruned word branching: the simple prover, but subtrees that a linear bound rules out are never scored.

A node is a region: swaps F that are made, free candidates C, and a budget k of further ones.  Its linear bound is an
additive function of the swaps, base + sum of gains, at most the margin of every text of the region.  A candidate c is
*eliminated* if base + gain(c) + (the k - 1 best gains at other positions) exceeds the threshold for every rival: then
no text of the region that contains c is a flip.  The survivors c_1 … c_m are scored as F + c_i by the victim itself,
and give the children F + c_i with the free candidates c_(i+1) … c_m at other positions and the budget k - 1.

Guarantee: if the search ends without a flip or a tie, every text of the space with at most k swaps keeps its label.
Proof: take a text of a node's region that differs from F.  If it contains an eliminated candidate it is proven.  Else
let c_i be its first survivor: it is F + c_i, which is scored, or lies in the region of that child.  Induction over k.
No text is scored twice.  Small subtrees are expanded without a bound: scoring them is cheaper.

Swaps that change no token are no candidates: a text with them reads like one without.  Where a condition on whole texts
may still tell the two apart, the guarantee needs that there are no such swaps (`covers`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lexproof.bounds.backward import linear_relaxation
from lexproof.bounds.program import Program
from lexproof.bounds.region import SwapRegion
from lexproof.certify.deadline import Check, deadline
from lexproof.certify.enumeration import Sweep, judge
from lexproof.goal import Goal
from lexproof.points import BoolArray, Fresh, IntArray, Swaps, TimeLeft
from lexproof.search import Search
from lexproof.space import Space

Index = NDArray[np.int64]

_BATCH = 16_384  # texts a request
_SMALL_NODES = 256  # nodes that are scored together without a bound
_CELLS = 1 << 23  # numbers that the changes of the nodes of one pass may hold


@dataclass(slots=True)
class Effort:
    """What the proof of a budget took: nodes bounded, texts scored; and whether it stopped at a limit."""

    nodes: int = 0
    points: int = 0
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class _Node:
    """Swaps made, as slots of the program, and free candidates in the order in which they branch."""

    fixed: tuple[int, ...]
    free: Index
    budget: int


class PrunedBranching:
    """The search over one space; `theta` is the threshold of the margin in logits."""

    def __init__(
        self,
        program: Program,
        form: Tensor,
        theta: float,
        *,
        max_points: int | None,
        max_nodes: int | None,
        leaf_points: float,
    ) -> None:
        self.program, self.form, self.theta = program, form, theta
        self.max_points, self.max_nodes, self.leaf_points = max_points, max_nodes, leaf_points
        slots = program.swaps[0].reshape(-1, 2)
        self.slots: Index = np.flatnonzero(slots[:, 1] > 0)
        self.word, self.choice = slots[:, 0], slots[:, 1]
        self.depth = program.swaps.shape[2]
        self.effort = Effort()

    def covers(self, space: Space) -> bool:
        """Whether all that is a flip in the space is one among the texts of the program."""
        return space.predicate is None or len(self.slots) == space.sizes.sum()

    def __call__(self, space: Space, goal: Goal, budget: int) -> Search[Sweep]:
        """Whether a text with 1 … budget swaps is a flip; `effort.stopped` is not empty if that was not settled.

        Raises TimeUp within a bound.
        """
        stack = _Stack([_Node((), self.slots, budget)] if len(self.slots) and budget else [])
        least, tied = float("inf"), False
        while node := stack.pop():
            is_small = self._is_small(node)
            if not is_small and self._are_spent("max_nodes", self.effort.nodes + 1, self.max_nodes, budget):
                break
            batch = self._batch(stack, node) if is_small else self._bounded(stack, node, deadline((yield TimeLeft())))
            for request, opened in self._requests(space, batch):
                if self._are_spent("max_points", self.effort.points + len(request), self.max_points, budget):
                    return Sweep(least, None, tied)
                self.effort.points += len(request)
                sweep = yield from self._judged(space, goal, request)
                least, tied = min(least, sweep.margin), tied or sweep.tied
                if sweep.flip is not None:
                    return Sweep(least, sweep.flip, tied)
                stack.put(opened)
        return Sweep(least, None, tied)

    def _judged(self, space: Space, goal: Goal, request: Swaps) -> Search[Sweep]:
        """What these texts hold."""
        return (yield from judge(space, goal, request, (yield Fresh(request))))

    def _are_spent(self, name: str, used: int, limit: int | None, budget: int) -> bool:
        if limit is not None and used > limit:
            self.effort.stopped = f"proving {budget} swaps took more than {name}={limit}"
        return bool(self.effort.stopped)

    def _batch(self, stack: _Stack, first: _Node) -> list[_Node]:
        """Small nodes from the top of the stack, to be scored without a bound."""
        return [first, *stack.like(self._is_small, _SMALL_NODES - 1)]

    def _bounded(self, stack: _Stack, first: _Node, check: Check) -> list[_Node]:
        """The survivors of large nodes from the top of the stack."""
        room = max(1, _CELLS // max(1, self.program.region.changes[0].numel()))
        if self.max_nodes is not None:
            room = min(room, self.max_nodes - self.effort.nodes)
        nodes = [first, *stack.like(lambda node: not self._is_small(node), room - 1)]
        self.effort.nodes += len(nodes)
        kept = []
        for budget in sorted({node.budget for node in nodes}):
            group = [node for node in nodes if node.budget == budget]
            kept += self._survivors(group, budget, check)
        return kept

    def _is_small(self, node: _Node) -> bool:
        return node.budget == 1 or not _are_more(self.word[node.free], node.budget, self.leaf_points)

    # ------------------------------------------------------------------ bounds

    def _survivors(self, nodes: list[_Node], budget: int, check: Check) -> list[_Node]:
        """The nodes with the candidates that are not eliminated, the most harmful first; none for what is proven."""
        base, gains = self._additive(nodes, budget, check)  # (N, K), (N, K, P, J)
        gains = np.where(np.isnan(gains), -np.inf, gains)  # an overflow: it must not be sorted behind all numbers
        best = np.minimum(gains.min(3), 0.0)
        order = np.sort(best, axis=2)
        sums = np.concatenate([np.zeros((*best.shape[:2], 1)), np.cumsum(order, axis=2)], 2)
        most = min(budget, best.shape[2])
        with_own, without = sums[:, :, most, None], sums[:, :, most - 1, None]
        # the k - 1 best gains at other positions: if the position is among the k best, those without it
        is_among = best <= order[:, :, most - 1, None]
        with np.errstate(invalid="ignore"):
            others = np.where(is_among, with_own - best, without)
            reach = (base[:, :, None, None] + gains + others[:, :, :, None]).min(1).reshape(len(nodes), -1)
        kept = []
        for node, value in zip(nodes, reach, strict=True):
            mine = value[node.free]
            left = node.free[~((mine > self.theta) & (mine < np.inf))]  # what overflowed proves nothing
            if len(left):
                order_ = np.argsort(value[left], kind="stable")
                kept.append(replace(node, free=left[order_]))
        return kept

    def _additive(
        self, nodes: list[_Node], budget: int, check: Check
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        whole = self.program.region
        count, (places, depth, width) = len(nodes), whole.changes.shape[1:]
        open_ = np.zeros((count, places * depth), np.bool_)
        original = whole.original.expand(count, -1, -1).clone()
        for n, node in enumerate(nodes):
            open_[n, node.free] = True
            for slot in node.fixed:
                original[n, whole.places[0, slot // depth]] += whole.changes[0, slot // depth, slot % depth]
        is_open = torch.from_numpy(open_).reshape(count, places, depth, 1)
        changes = torch.where(is_open, whole.changes.expand(count, -1, -1, width), 0.0)
        region = SwapRegion(
            original, whole.places.expand(count, -1), changes, torch.full((count,), budget, dtype=torch.long)
        )
        relaxation = linear_relaxation(self.program.graph.repeated(count), region, check)
        given, constant = relaxation.pull(relaxation.graph.last, self.form.expand(count, -1, -1))
        base, gains = region.additive(given)
        return (base + constant).detach().numpy(), gains.detach().numpy()

    # ------------------------------------------------------------------ texts

    def _requests(self, space: Space, nodes: list[_Node]) -> Iterator[tuple[Swaps, list[Iterator[_Node]]]]:
        """F + c for every survivor c of every node, and the children that follow."""
        rows = 0
        batch: list[_Node] = []
        for node in nodes:
            batch.append(node)
            rows += len(node.free)
            if rows >= _BATCH:
                yield self._request(space, batch)
                rows, batch = 0, []
        if batch:
            yield self._request(space, batch)

    def _request(self, space: Space, nodes: list[_Node]) -> tuple[Swaps, list[Iterator[_Node]]]:
        bases: IntArray = np.zeros((len(nodes), space.n), np.int32)
        for n, node in enumerate(nodes):
            made = np.array(node.fixed, np.int64)
            bases[n, self.word[made]] = self.choice[made]
        free = np.concatenate([node.free for node in nodes])
        row = np.repeat(np.arange(len(nodes), dtype=np.int32), [len(node.free) for node in nodes])
        children = [self._children(node) for node in nodes if node.budget > 1]
        return Swaps(bases, row, self.word[free].astype(np.int32), self.choice[free].astype(np.int32)), children

    def _children(self, node: _Node) -> Iterator[_Node]:
        """One after the other, the most harmful first: all at once would be as many numbers as pairs of candidates."""
        words = self.word[node.free]
        for i, slot in enumerate(node.free.tolist()):
            later: BoolArray = words[i + 1 :] != words[i]
            if later.any():
                yield _Node((*node.fixed, slot), node.free[i + 1 :][later], node.budget - 1)


class _Stack:
    """Nodes to come: families of children, each made only when it is reached."""

    def __init__(self, nodes: list[_Node]) -> None:
        self._families: list[Iterator[_Node]] = [iter(nodes)]

    def put(self, families: list[Iterator[_Node]]) -> None:
        """The first family comes next."""
        self._families += reversed(families)

    def pop(self) -> _Node | None:
        """The next node, None if there is none."""
        while self._families:
            node = next(self._families[-1], None)
            if node is not None:
                return node
            self._families.pop()
        return None

    def like(self, wanted: Callable[[_Node], bool], most: int) -> Iterator[_Node]:
        """The next nodes as long as they are wanted, so many at most."""
        for _ in range(most):
            node = self.pop()
            if node is None:
                return
            if not wanted(node):
                self._families.append(iter([node]))
                return
            yield node


def _are_more(words: IntArray, budget: int, limit: float) -> bool:
    """Whether more than `limit` texts have 1 … budget swaps of candidates with these words.

    Elementary symmetric polynomials of the numbers of candidates a word, by number of swaps until the limit is passed.
    """
    sizes = np.unique(words, return_counts=True)[1].astype(np.float64)
    counts = np.ones(len(sizes) + 1)  # of texts with k swaps among the first words
    total = 0.0
    for _ in range(min(budget, len(sizes))):
        counts = np.concatenate([[0.0], np.cumsum(sizes * counts[:-1])])
        total += counts[-1]
        if total > limit:
            return True
    return False
