"""Smallest sets of swaps by mixed-integer programs, solved by HiGHS: the cross-check and the fallback.

A model has a bit a candidate, at most one of a position; it describes margin <= theta for one rival by linear rows over
these bits and more variables; the number of bits is least.  `milp` and `milp_maxpool` write such models.  With a
`budget` there is also  sum of bits <= budget,  and the ranges in the model are the exact ones within it: far fewer
units are open, and the others have smaller constants (budget tightening).

What the answer is worth.  A witness is rounded to bits and evaluated exactly; one that fails is excluded and the model
is solved again.  HiGHS lets a row be missed by 1e-6 and a bit be off an integer by 1e-6, which only adds points, so it
cannot make `lower` too large; against errors of its own arithmetic the ranges are widened by `WIDER` of their size and
theta is moved outward by `SLACK` times (1 + sum of |weight|), ten times what that tolerance on every unit can move a
margin.  Unlike the bounds of `relu_hull`, `lower` still rests on the solver: it is a cross-check, not a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from lexproof.certify.exact.additive import Floats, Ints
from lexproof.certify.exact.solved import Solved
from lexproof.errors import InputError

SLACK = 1e-5
WIDER = 1e-9
_OPTIMAL, _LIMIT, _INFEASIBLE = 0, 1, 2
_TRIES = 50  # points near theta that are excluded before giving up

Rows = list[tuple[Any, Any, Any]]  # matrix, least and greatest value of its rows


class Described(Protocol):
    """A network whose margins are described by linear rows over bits of candidates and more variables."""

    position: Ints  # (S,) of each candidate
    rivals: int

    def margin(self, row: int, swaps: Sequence[int]) -> float:
        """The margin over one rival at a point, exactly."""

    def describe(self, row: int, most: int) -> tuple[Rows, Floats, NDArray[np.bool_]]:
        """Rows over candidates and more variables for margin <= theta, the slack included, for at most so many swaps.

        With them the upper bounds of the further variables (lower ones are 0), and which of these are integers.
        """


def fewest_bits(
    net: Described, theta: float, time_limit: float | None, budget: int | None, clock: Callable[[], float]
) -> Solved:
    """The smallest number of swaps with some margin_k <= theta, within `budget` if one is given; one model a rival."""
    if budget is not None and budget < 0:
        raise InputError(f"expected budget to be at least 0, got {budget}")
    begin, limit, positions = clock(), inf if time_limit is None else time_limit, len(np.unique(net.position))
    most = positions if budget is None else budget
    best: tuple[int, ...] | None = None
    lower, nodes, reasons = most + 1, 0, []
    for row in range(net.rivals):
        cap = budget if best is None or budget is None else min(budget, len(best) - 1)
        one = _OneRival(net, row, theta, positions, cap).solve(lambda: limit - (clock() - begin))
        lower, nodes = min(lower, one.lower), nodes + one.nodes
        if one.witness is not None and (best is None or len(one.witness) < len(best)):
            best = one.witness
        reasons += [one.reason or f"the time limit of {limit:g} s was reached"] * (not one.is_over)
    upper = None if best is None else len(best)
    lower = lower if upper is None else min(lower, upper)
    reason = "" if lower > most or lower == upper else reasons[0]
    seconds = clock() - begin
    return Solved(lower=lower, upper=upper, swaps=best or (), nodes=nodes, seconds=seconds, reason=reason)


@dataclass(frozen=True, slots=True)
class _Found:
    lower: int
    witness: tuple[int, ...] | None
    nodes: int
    is_over: bool = True
    reason: str = ""  # why it is not, unless time was up


class _OneRival:
    """The model of one margin."""

    def __init__(self, net: Described, row: int, theta: float, positions: int, budget: int | None) -> None:
        self.net, self.row, self.theta, self.budget = net, row, theta, budget
        self.most = positions if budget is None else min(budget, positions)
        # a point beyond a budget is not asked for: none within it means at least one more
        self.beyond = self.most + 1 if budget is None else budget + 1

    def solve(self, left: Callable[[], float]) -> _Found:
        """Solve within the seconds left, excluding points that only the slack admits."""
        if self.net.margin(self.row, ()) <= self.theta:
            return _Found(0, (), 0)
        if self.most <= 0:
            return _Found(self.beyond, None, 0)
        model, lower, nodes = self._model(), 1, 0
        for _ in range(_TRIES):
            seconds = left()
            if seconds <= 0:
                return _Found(lower, None, nodes, False)
            answer = milp(**model, options={} if seconds == inf else {"time_limit": seconds})
            nodes += int(answer.mip_node_count or 0)
            if answer.status == _INFEASIBLE:
                return _Found(self.beyond, None, nodes)
            if answer.mip_dual_bound is not None and np.isfinite(answer.mip_dual_bound):
                lower = max(lower, min(ceil(answer.mip_dual_bound - 1e-3), self.beyond))
            reason = "" if answer.status == _LIMIT else f"HiGHS stopped: {answer.message}"
            if answer.x is None:
                return _Found(lower, None, nodes, False, reason)
            bits = answer.x[: len(self.net.position)] > 0.5
            swaps = tuple(np.flatnonzero(bits).tolist())
            if self.net.margin(self.row, swaps) <= self.theta:
                return _Found(lower, swaps, nodes, answer.status == _OPTIMAL, reason)
            self._exclude(model, bits)
        return _Found(lower, None, nodes, False, f"{_TRIES} points within rounding of theta were excluded")

    def _model(self) -> dict[str, Any]:
        rows, upper, is_whole = self.net.describe(self.row, self.most)
        count, more = len(self.net.position), len(upper)
        constraints = [LinearConstraint(*part) for part in (*self._choices(more), *rows)]
        return {
            "c": np.concatenate((np.ones(count), np.zeros(more))),
            "integrality": np.concatenate((np.ones(count), is_whole)),
            "bounds": Bounds(np.zeros(count + more), np.concatenate((np.ones(count), upper))),
            "constraints": constraints,
        }

    def _choices(self, more: int) -> Rows:
        """At most one candidate a position, and the budget."""
        count = len(self.net.position)
        _, place = np.unique(self.net.position, return_inverse=True)
        shape = (int(place.max()) + 1, count + more)
        rows: Rows = [(csr_array((np.ones(count), (place, np.arange(count))), shape=shape), -np.inf, 1.0)]
        if self.budget is not None:
            bits = np.concatenate((np.ones(count), np.zeros(more)))
            rows.append((csr_array(bits[None]), -np.inf, float(self.most)))
        return rows

    def _exclude(self, model: dict[str, Any], bits: NDArray[np.bool_]) -> None:
        """Rule this very point out: some bit differs."""
        row = np.zeros(len(model["c"]))
        row[: len(bits)] = np.where(bits, -1.0, 1.0)
        model["constraints"].append(LinearConstraint(csr_array(row[None]), 1.0 - bits.sum(), np.inf))
