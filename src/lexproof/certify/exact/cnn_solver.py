"""The smallest number of swaps that fools a one-layer convolution with max-pool, and certified radii.

    minimum   a bracket on it, closed unless the time is up
    decide    whether at most k swaps suffice
    curve     lower bounds of the margin for 0, 1, 2, … swaps, without any branching

A point is adversarial if margin_k <= theta for some rival k.  Margins are sums of a few hundred float64 numbers, right
to far better than 1e-11, so a proof shows that every margin is above theta - 1e-11.  With theta = the rounding of a
float32 victim (more than that, in logits) it is a proof about the victim; theta = -tau asks for a margin of -tau.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import numpy as np

from lexproof.certify.exact.cnn_beam import beam
from lexproof.certify.exact.cnn_net import WindowedNet
from lexproof.certify.exact.cnn_rival import Rival, budget_class, rivals
from lexproof.certify.exact.cnn_search import GUARD, Effort, NodesUp, TimeUp, Tree, search
from lexproof.certify.exact.solved import Solved
from lexproof.errors import InputError
from lexproof.points import FloatArray

Proof = dict[str, Any]
"""{"radius": k, "rivals": [a tree of `cnn_search` for each rival]}: no set of at most k candidates is adversarial."""

_SHARE = 64  # nodes of the first attempt to decide all that is left at once
_TIME_UP = "the time limit was reached"


class _Reduced:
    """The rivals of a net for any budget, kept for the next budget of the same size."""

    def __init__(self, net: WindowedNet) -> None:
        self._net = net
        self._made: dict[int, list[Rival]] = {}

    def rivals(self, budget: int) -> list[Rival]:
        """Exact for sets of at most `budget` candidates."""
        size = budget_class(budget)
        if size not in self._made:
            self._made[size] = rivals(self._net, size)
        return self._made[size]


def decide(
    net: WindowedNet,
    swaps: int,
    *,
    theta: float,
    time_limit: float,
    record: bool = False,
    max_record: int = 20_000,
    clock: Callable[[], float] = time.perf_counter,
) -> Solved:
    """Whether at most `swaps` swaps suffice: lower = swaps + 1 says no, `swaps` of the answer is a witness."""
    _check(theta, swaps)
    begun = clock()
    effort = Effort(begun + time_limit, clock, max_record if record else -1)
    try:
        found, proof = _decide(_Reduced(net), min(swaps, net.positions), theta, effort)
    except TimeUp:
        return _solved(0, None, effort, begun, _TIME_UP)
    return _solved(0 if found is not None else swaps + 1, found, effort, begun, "", proof)


def minimum(
    net: WindowedNet,
    *,
    theta: float,
    max_swaps: int,
    time_limit: float,
    max_nodes: int | None = None,
    start: Sequence[int] | None = None,
    record: bool = False,
    max_record: int = 20_000,
    clock: Callable[[], float] = time.perf_counter,
) -> Solved:
    """The smallest number of swaps, up to `max_swaps`; `start` is a set of candidates that may be adversarial.

    After `time_limit` seconds or `max_nodes` nodes (but for the last batch) the best bracket so far is returned.

    `proof` has the radius lower - 1 (or, if fewer words can be swapped, their number).
    """
    _check(theta, max_swaps)
    begun = clock()
    effort = Effort(begun + time_limit, clock, max_record if record else -1)
    effort.max_nodes = inf if max_nodes is None else max_nodes
    bracket = _Bracket(net, theta, max_swaps, _adversarial(net, start, max_swaps, theta))
    reason = ""
    try:
        bracket.close(effort)
    except TimeUp:
        reason = _TIME_UP if effort.nodes < effort.max_nodes else f"branch and bound took max_nodes={max_nodes}"
    return _solved(bracket.lower, bracket.best, effort, begun, reason, bracket.proof)


class _Bracket:
    """What is known so far of the smallest number of swaps."""

    def __init__(self, net: WindowedNet, theta: float, max_swaps: int, best: tuple[int, ...] | None) -> None:
        self._reduced = _Reduced(net)
        self._theta, self._max_swaps = theta, max_swaps
        self._most = min(max_swaps, net.positions)
        is_flip = bool(net.margins([()]).min(initial=np.inf) <= theta)
        self.best = () if is_flip else best
        self.lower = 0 if is_flip else 1
        self.proof: Proof | None = None if is_flip else {"radius": 0, "rivals": [[] for _ in net.bias]}

    @property
    def _left(self) -> range:
        """Numbers of swaps that are still in question."""
        return range(self.lower, (self._most if self.best is None else len(self.best) - 1) + 1)

    def close(self, effort: Effort) -> None:
        """Raise `lower` by root bounds alone, find a witness, then decide what is left."""
        for budget in self._left:
            effort.check()
            heads = self._reduced.rivals(budget)
            if not all(_root_bound(rival, budget) > self._theta + GUARD for rival in heads):
                break
            effort.nodes += len(heads)
            self._take(budget, None, {"radius": budget, "rivals": [[] for _ in heads]})
        if self.lower == 1 and self._left:
            self._attempt(1, effort, inf)  # exact at once, so that a flip of one swap needs no beam
        if self.best is None and self._left:
            self.best = beam(self._reduced.rivals(self._most), self._theta, self._most, effort)
        self._decide_left(effort)
        if self.best is None:
            self.lower = self._max_swaps + 1

    def _decide_left(self, effort: Effort) -> None:
        """Step by step, since each step is an answer; before each, with a share of the effort, all at once."""
        share = _SHARE
        while self._left:
            last = self._left[-1]
            if last > self.lower and self._attempt(last, effort, share):
                continue
            share = max(share, effort.nodes // 2)
            self._attempt(self.lower, effort, inf)

    def _attempt(self, budget: int, effort: Effort, nodes: float) -> bool:
        """Whether this number of swaps was decided within so many nodes."""
        effort.cap = effort.nodes + nodes
        try:
            self._take(budget, *_decide(self._reduced, budget, self._theta, effort))
        except NodesUp:
            return False
        finally:
            effort.cap = inf
        return True

    def _take(self, budget: int, found: tuple[int, ...] | None, proof: Proof | None) -> None:
        if found is not None:
            self.best = found
        else:
            self.lower, self.proof = budget + 1, proof


def curve(net: WindowedNet, max_swaps: int) -> FloatArray:
    """Lower bounds (max_swaps + 1,) of the least margin of any rival over sets of at most 0, 1, 2, … candidates.

    The last number of swaps whose bound exceeds theta is a certified radius; the bounds never increase.
    """
    _check(0.0, max_swaps)
    bounds = np.full(max_swaps + 1, np.inf)
    reduced = _Reduced(net)
    for budget in range(max_swaps + 1):
        k = min(budget, net.positions)
        bounds[budget] = min(_root_bound(rival, k) for rival in reduced.rivals(k))
    return np.minimum.accumulate(bounds)


def _root_bound(rival: Rival, budget: int) -> float:
    """A lower bound of the margin over all sets of at most `budget` candidates; exact for a budget of 0 or 1."""
    values = rival.values(np.zeros((1, 0), np.int64))
    margin, position = float(rival.margins(values)[0]), rival.position
    if not budget or not len(position):
        return margin
    if budget == 1:
        gain = rival.singles(values, np.zeros(len(position), np.int64), np.arange(len(position)))
    else:
        gain = rival.gains(values, np.ones((1, len(position)), np.bool_), budget)[0]
    harm = np.minimum.reduceat(gain, np.unique(position, return_index=True)[1])
    return margin + float(np.sort(np.minimum(harm, 0.0))[:budget].sum())


def _decide(
    reduced: _Reduced, budget: int, theta: float, effort: Effort
) -> tuple[tuple[int, ...] | None, Proof | None]:
    trees: list[Tree | None] = []
    effort.proof_start = effort.nodes
    for rival in reduced.rivals(budget):
        found = search(rival, budget, theta, effort)
        if found.swaps is not None:
            return found.swaps, None
        trees.append(found.tree)
    return None, {"radius": budget, "rivals": trees} if all(tree is not None for tree in trees) else None


def _adversarial(net: WindowedNet, start: Sequence[int] | None, max_swaps: int, theta: float) -> tuple[int, ...] | None:
    """The given set if it is a witness, of at most `max_swaps` candidates."""
    if start is None or len(start) > max_swaps:
        return None
    if len(set(net.position[list(start)].tolist())) < len(start):
        raise InputError(f"expected candidates of different positions as a start, got {list(start)}")
    return tuple(start) if net.margins([start])[0].min(initial=np.inf) <= theta else None


def _solved(
    lower: int,
    found: tuple[int, ...] | None,
    effort: Effort,
    begun: float,
    reason: str,
    proof: Proof | None = None,
) -> Solved:
    return Solved(
        lower=lower,
        upper=None if found is None else len(found),
        swaps=() if found is None else found,
        nodes=effort.nodes,
        seconds=effort.clock() - begun,
        reason=reason,
        proof=proof,
    )


def _check(theta: float, swaps: int) -> None:
    if not np.isfinite(theta):
        raise InputError(f"expected a finite theta, got {theta}")
    if swaps < 0:
        raise InputError(f"expected at least 0 swaps, got {swaps}")
