"""The exact minimum of an additive network: a witness from above, proofs from below, until they meet.

    minimum   the smallest number of swaps with some margin_k <= theta
    decide    is there an adversarial point with at most k swaps?
    curve     bounds for every number of swaps, without any branching

All of them are exact up to the rounding of float64 (see `relu_hull`): a caller whose network rounds more states it by a
`theta` above 0.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import numpy as np

from lexproof.certify.exact.additive import AdditiveNet, Floats, Ints, Rival
from lexproof.certify.exact.ascent import Pace, ascend
from lexproof.certify.exact.beam import beam, least
from lexproof.certify.exact.record import Recorder
from lexproof.certify.exact.region import Region
from lexproof.certify.exact.relu_hull import HullBound
from lexproof.certify.exact.search import Search
from lexproof.certify.exact.small import first_adversarial, is_small, level
from lexproof.certify.exact.solved import Solved
from lexproof.errors import InputError

Clock = Callable[[], float]
_SLICE = 100  # nodes after which the lower end is raised by bounds alone before the search goes on
_ROUGH = Pace(1, 0.0)
_FINE = Pace(40, 0.2)


def minimum(
    net: AdditiveNet,
    *,
    theta: float = 0.0,
    max_swaps: int | None = None,
    time_limit: float | None = None,
    max_nodes: int | None = None,
    start: Sequence[int] | None = None,
    record: bool = False,
    max_record: int = 20_000,
    clock: Clock = time.perf_counter,
) -> Solved:
    """The smallest number of swaps with some margin_k <= theta, at most `max_swaps` (default: all positions).

    `start` is an adversarial point already known.  When time is up, or after `max_nodes` nodes, the best bracket so far
    is returned.
    """
    most = net.positions if max_swaps is None else max_swaps
    solver = _Solver(net, theta, most, time_limit, max_nodes, max_record if record else 0, clock)
    solver.start(start)
    solver.first()
    while not solver.is_closed and not solver.is_time_up():
        solver.prove(solver.goal)
    return solver.answer()


def decide(
    net: AdditiveNet,
    swaps: int,
    *,
    theta: float = 0.0,
    time_limit: float | None = None,
    max_nodes: int | None = None,
    start: Sequence[int] | None = None,
    record: bool = False,
    max_record: int = 20_000,
    clock: Clock = time.perf_counter,
) -> Solved:
    """Is there an adversarial point with at most `swaps` swaps?

    The answer has lower = swaps + 1 if there is none, else a witness with upper <= swaps (not always the least), and
    neither if time was up.
    """
    solver = _Solver(net, theta, swaps, time_limit, max_nodes, max_record if record else 0, clock)
    solver.start(start)
    if solver.upper is None:
        solver.first()
    if solver.upper is None and not solver.is_closed and not solver.is_time_up():
        solver.prove(swaps)
    return solver.answer(is_decision=True)


def curve(net: AdditiveNet, max_swaps: int, *, limit: float = inf) -> Floats:
    """Lower bounds (max_swaps + 1,) of the least margin over points with at most 0, 1, 2, … swaps: no branching.

    The last number of swaps whose bound exceeds theta is a certified radius; the bounds never increase.  No effort is
    spent on bounds that already exceed `limit`.
    """
    _check(0.0, max_swaps)
    bounds = np.full(max_swaps + 1, float(net.margins(net.z0).min()))
    for row in range(len(net.bias)):
        rival, dual = Rival.of(net, row, -inf), None
        for swaps in range(1, min(max_swaps, net.positions) + 1):
            hull = HullBound(rival, Region.whole(net, swaps))
            found = ascend(hull, hull.start() if dual is None else hull.warm(dual), _FINE, limit)
            dual = found.dual
            bounds[swaps] = min(bounds[swaps], found.bound.value)
    least: Floats = np.minimum.accumulate(bounds)
    return least


def _check(theta: float, most: int) -> None:
    if most < 0:
        raise InputError(f"expected max_swaps to be at least 0, got {most}")
    if theta != theta or abs(theta) == inf:
        raise InputError(f"expected theta to be a finite number, got {theta}")


class _Solver:
    """The bracket, and what moves its ends."""

    def __init__(
        self,
        net: AdditiveNet,
        theta: float,
        most: int,
        time_limit: float | None,
        max_nodes: int | None,
        max_record: int,
        clock: Clock,
    ) -> None:
        _check(theta, most)
        self.net, self.theta, self.most, self.max_record, self.clock = net, theta, most, max_record, clock
        self.begin = clock()
        self.until = inf if time_limit is None else self.begin + time_limit
        self.time_limit = time_limit
        self.max_nodes = inf if max_nodes is None else max_nodes
        self.lower, self.nodes = 0, 0
        self.upper: int | None = None
        self.swaps: tuple[int, ...] = ()
        self.trees: dict[int, tuple[int, Any]] = {}  # by rival: proven radius and its tree

    def is_time_up(self, search: Search | None = None) -> bool:
        """Whether time or nodes are used up, those of a search under way included."""
        nodes = self.nodes + (0 if search is None else search.nodes)
        return self.clock() >= self.until or nodes >= self.max_nodes

    @property
    def is_closed(self) -> bool:
        return self.lower > self.most if self.upper is None else self.lower >= self.upper

    @property
    def goal(self) -> int:
        """The number of swaps to decide next: one less than the best witness."""
        return self.most if self.upper is None else self.upper - 1

    def start(self, witness: Sequence[int] | None) -> None:
        """Begin with a point that the caller knows to be adversarial."""
        if witness is None:
            return
        if not all(0 <= c < len(self.net.position) for c in witness):
            raise InputError(f"expected candidates below {len(self.net.position)}, got {list(witness)}")
        if not self.net.is_adversarial(witness, self.theta):
            raise InputError(f"expected swaps that are adversarial at theta = {self.theta:g}, got {list(witness)}")
        self._take(tuple(witness))

    def _take(self, witness: tuple[int, ...] | None) -> None:
        """A witness, if it is better than the one known."""
        if witness is not None and len(witness) <= self.goal:
            assert self.net.is_adversarial(witness, self.theta), "every search evaluates its witness by itself"
            self.upper, self.swaps = len(witness), witness

    def first(self) -> None:
        """What is cheap: all points with few swaps, one bound of all points, and a beam."""
        points: Ints | None = None
        for radius in range(3):
            region = Region.whole(self.net, radius)
            if self.is_closed or (radius and self.is_time_up()) or not is_small(region):
                break
            points = self._evaluate(region)
        if not self.is_closed and not self.is_time_up() and self.upper is None:
            self._is_bounded(self.most, _ROUGH)
        if not self.is_closed and not self.is_time_up():
            self._take(beam(self.net, self.theta, self.goal, self.is_time_up, points))

    def _evaluate(self, region: Region) -> Ints:
        """Evaluate the points with exactly `region.budget` swaps; returns those of least margin."""
        radius = region.budget
        swaps, hidden = level(self.net, region, radius)
        margins = self.net.margins(hidden).min(axis=1)
        if (witness := first_adversarial(self.net, self.theta, swaps, margins)) is not None:
            self._take(witness)
            return swaps
        self.lower = radius + 1
        for row in range(len(self.net.bias)):
            self.trees[row] = (radius, {"points": radius})
        return swaps[least(margins)]

    def _is_bounded(self, radius: int, pace: Pace) -> bool:
        """Whether one bound a rival proves all points with at most `radius` swaps; the lower end is raised if so."""
        trees = {}
        for row in range(len(self.net.bias)):
            search = Search(Rival.of(self.net, row, self.theta), radius, Recorder(self.max_record))
            search.glance(pace)
            self.nodes += search.nodes
            self._take(search.witness)
            if not search.is_over or search.witness is not None:
                return False
            trees[row] = (radius, search.recorder.tree)
        known = {row: tree for row, tree in self.trees.items() if tree[0] > radius}
        self.trees, self.lower = trees | known, radius + 1
        return True

    def prove(self, radius: int) -> None:
        """Search each rival within `radius` swaps; either end of the bracket moves, or time is up."""
        margins = self.net.margins(self.net.z0)
        for row in margins.argsort(kind="stable").tolist():
            if self.trees[row][0] >= radius:
                continue
            search = Search(Rival.of(self.net, row, self.theta), radius, Recorder(self.max_record))
            self._run(search, radius)
            self.nodes += search.nodes
            if search.witness is not None:
                self._take(search.witness)
                return
            if not search.is_over:
                return
            self.trees[row] = (radius, search.recorder.tree)
        self.lower = max(self.lower, radius + 1)

    def _run(self, search: Search, radius: int) -> None:
        """Run a search; if it takes long, raise the lower end by bounds alone, so that there is something to show."""
        search.run(lambda: search.nodes >= _SLICE or self.is_time_up(search))
        if search.is_over or self.is_time_up(search):
            return
        self._climb(radius - 1)
        if self.goal >= radius:
            search.run(lambda: self.is_time_up(search))

    def _climb(self, most: int) -> None:
        """Raise the lower end by bounds alone; they fall as the number of swaps grows, so bisection finds its place."""
        while self.lower <= most and not self.is_time_up():
            middle = (self.lower + most + 1) // 2
            if not self._is_bounded(middle, _FINE):
                most = middle - 1

    def _reason(self) -> str:
        if self.nodes >= self.max_nodes:
            return f"branch and bound took max_nodes={self.max_nodes:g}"
        return f"the time limit of {self.time_limit:g} s was reached"

    def answer(self, is_decision: bool = False) -> Solved:
        """The bracket so far."""
        is_over = self.is_closed or (is_decision and self.upper is not None)
        reason = "" if is_over else self._reason()
        radii = [self.trees.get(row, (-1, None)) for row in range(len(self.net.bias))]
        trees = [{"swaps": radius, "tree": tree} for radius, tree in radii]
        is_whole = all(radius >= self.lower - 1 and tree is not None for radius, tree in radii)
        proof = {"rivals": trees} if self.max_record and is_whole else None
        seconds = self.clock() - self.begin
        return Solved(
            lower=self.lower,
            upper=self.upper,
            swaps=self.swaps,
            nodes=self.nodes,
            seconds=seconds,
            reason=reason,
            proof=proof,
        )
