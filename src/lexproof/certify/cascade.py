"""The provers, from cheap to dear: each raises the radius that is proven, or finds a flip; the next goes on from there.

| prover | works on | gives |
|---|---|---|
| interval | victims that show their operations | a bound of the margin for every radius, in one pass |
| linear | the same | a tighter one, by backward relaxation with chosen slopes |
| branch-and-bound | the same; exact for `mlp` and one-layer `cnn` by solvers of their own | proof, or flip |
| milp | `mlp`, one-layer `cnn` | the same by HiGHS, much slower: a cross-check |
| enumeration | any victim | proof, or flip, by scoring every text |

What a prover cannot do is noted in `Cascade.missing` and left to the next: a victim without rules is enumerated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lexproof.certify.deadline import Check, TimeUp, deadline
from lexproof.certify.enumeration import Sweep, sweep_stratum, word_order
from lexproof.certify.exact.offered import Exact, exact_of
from lexproof.certify.exact.solved import Solved
from lexproof.certify.ledger import Ledger
from lexproof.certify.lowering import form_of, is_network, program_of, threshold
from lexproof.errors import InputError, NoRule, UnknownName
from lexproof.goal import Goal
from lexproof.points import AsText, FloatArray, IntArray, TimeLeft
from lexproof.search import Search
from lexproof.space import Space
from lexproof.victims.base import Victim

if TYPE_CHECKING:
    from lexproof.bounds.program import Program

PROVERS = ("interval", "linear", "branch-and-bound", "enumeration")
"""Those that are tried by default, in this order."""

UNDECIDED = "the provers that were asked did not settle it"

_ALL = (*PROVERS, "milp")
_SMALL = 3_000  # texts that are scored sooner than a branch and bound is set up
_TEXTS_A_PASS = 2  # texts that are scored in the time of one unit's backward pass
_TIE = "a tie within rounding"
_MAX_NODES = 200_000


def check_provers(names: Sequence[str]) -> tuple[str, ...]:
    """The names in the order in which they are tried; raises if one is unknown or there is none."""
    for name in names:
        if name not in _ALL:
            raise UnknownName("prover", name, _ALL)
    if not names:
        raise InputError(f"expected at least one prover, got none; choose from {', '.join(_ALL)}")
    return tuple(name for name in ("interval", "linear", "branch-and-bound", "milp", "enumeration") if name in names)


@dataclass(slots=True)
class Cascade:
    """Provers for one victim; `max_points` texts are scored at most, `max_nodes` nodes bounded (None: no limit)."""

    victim: Victim
    provers: tuple[str, ...] = PROVERS
    max_points: int | None = None
    max_nodes: int | None = _MAX_NODES
    record: bool = True  # whether exact solvers keep the tree of their proof
    missing: list[str] = field(default_factory=list)

    def __call__(self, space: Space, goal: Goal, ledger: Ledger, upto: int) -> Search[None]:
        """Raise `ledger.radius` from 0 or more to `upto`, or find a flip with at most so many swaps.

        What was settled is in the ledger at any moment, also if the budget is spent in between.
        """
        self.missing.clear()
        ledger.reason = ""
        exact = self._exact(space, goal)
        if exact is not None:
            for method in ("branch-and-bound", "milp"):
                if method in self.provers and self._is_open(ledger, upto):
                    yield from self._solve(space, goal, ledger, upto, exact, method)
            yield from self._enumerate(space, goal, ledger, upto, np.inf)
        else:
            yield from self._relax(space, goal, ledger, upto)

    def _relax(self, space: Space, goal: Goal, ledger: Ledger, upto: int) -> Search[None]:
        """What has no solver of its own: scoring texts while that is cheaper than a bound, then bounds, then both."""
        program, enough = None, float(_SMALL)
        yield from self._enumerate(space, goal, ledger, upto, enough)
        if self._is_open(ledger, upto):
            program = self._program(space)
        if program is not None:
            from lexproof.certify.curve import passes

            enough = max(_SMALL, _TEXTS_A_PASS * passes(program))
            yield from self._enumerate(space, goal, ledger, upto, enough)
        if program is not None and self._is_open(ledger, upto):
            try:
                self._bounds(program, goal, ledger, upto, deadline((yield TimeLeft())))
                yield from self._prune(program, space, goal, ledger, upto, enough)
            except TimeUp:
                ledger.reason = "time limit reached within a bound"
        yield from self._enumerate(space, goal, ledger, upto, np.inf)

    def _is_open(self, ledger: Ledger, upto: int) -> bool:
        """Whether more is to be settled: neither proven, nor broken at the next number of swaps, nor stuck at a tie."""
        return not ledger.is_settled(upto) and not ledger.reason.startswith(_TIE)

    def why(self, reason: str) -> str:
        """Why no more is settled: what stopped the provers, and what has no rule."""
        return "; ".join(part for part in (reason, *self.missing) if part)

    def _program(self, space: Space) -> Program | None:
        if not {"interval", "linear", "branch-and-bound"} & set(self.provers):
            return None
        try:
            return program_of(self.victim, space)
        except NoRule as error:
            self._miss(error)
            return None

    def _miss(self, error: NoRule) -> None:
        """Note what has no rule; of a victim that shows no operations only if there is no other way to answer."""
        shows = is_network(self.victim)
        if str(error) not in self.missing and (shows or "enumeration" not in self.provers):
            self.missing.append(str(error))

    # ------------------------------------------------------------------ bounds

    def _bounds(self, program: Program, goal: Goal, ledger: Ledger, upto: int, check: Check) -> None:
        from lexproof.certify.curve import certified

        methods = tuple(name for name in ("interval", "linear") if name in self.provers)
        radii = range(ledger.radius + 1, upto + 1)
        form = form_of(goal, self.victim.classes)
        for bound in certified(program, form, radii, threshold(goal), methods, check=check):
            ledger.proven(bound.method, bound.radius, bound.margin)

    # ------------------------------------------------------------------ branch and bound

    def _exact(self, space: Space, goal: Goal) -> Exact | None:
        if "branch-and-bound" not in self.provers and "milp" not in self.provers:
            return None
        try:
            return exact_of(self.victim, space, goal)
        except NoRule as error:
            if "milp" in self.provers:  # which is tried only if it is asked for
                self._miss(error)
            return None

    def _solve(self, space: Space, goal: Goal, ledger: Ledger, upto: int, exact: Exact, method: str) -> Search[None]:
        seconds = float((yield TimeLeft())[0, 0])
        try:
            solved = exact.solve(
                method,
                threshold(goal),
                upto,
                time_limit=seconds,
                max_nodes=self.max_nodes,
                record=self.record,
            )
        except NoRule as error:
            self._miss(error)
            return
        detail = {"nodes": solved.nodes, "proof": solved.proof}
        ledger.proven(method, min(upto, solved.lower - 1), threshold(goal), detail)
        ledger.reason = solved.reason
        if solved.upper is not None:
            yield from self._take(space, goal, ledger, exact.point(solved.swaps), solved)

    def _take(self, space: Space, goal: Goal, ledger: Ledger, point: IntArray, solved: Solved) -> Search[None]:
        """Believe a flip of the solver only after its text is scored."""
        scores = yield AsText(point[None])
        if goal.strict.reached(scores)[0] and space.accepts(point[None])[0]:
            ledger.found(point)
        elif solved.upper == solved.lower:
            # the scores of this very text are a tie, or the space does not allow it: others with as many swaps may flip
            ledger.reason = ""

    def _prune(
        self, program: Program, space: Space, goal: Goal, ledger: Ledger, upto: int, leaf: float
    ) -> Search[None]:
        if "branch-and-bound" not in self.provers:
            return
        from lexproof.certify.pruned import PrunedBranching

        form = form_of(goal, self.victim.classes)
        for k in range(ledger.radius + 1, upto + 1):
            search = PrunedBranching(
                program,
                form,
                threshold(goal),
                max_points=None if self.max_points is None else self.max_points - ledger.points,
                max_nodes=self.max_nodes,
                leaf_points=leaf,
            )
            if not search.covers(space):
                self._miss(NoRule("no bound rule where a condition on whole texts tells apart what reads alike"))
                return
            try:
                sweep = yield from search(space, goal, k)
            finally:
                ledger.points += search.effort.points
            if sweep.flip is not None:
                ledger.found(sweep.flip)
                return
            if sweep.tied or search.effort.stopped:
                ledger.reason = search.effort.stopped or _tie(k)
                return
            effort = {"nodes": search.effort.nodes, "points": search.effort.points}
            ledger.proven("branch-and-bound", k, threshold(goal), effort)

    # ------------------------------------------------------------------ enumeration

    def _sweep(self, space: Space, goal: Goal, order: NDArray[np.int64], ledger: Ledger) -> Search[Sweep]:
        swaps = ledger.radius + 1
        if _is_recurrent(self.victim):
            from lexproof.certify.recurrent import shares_states, sweep_tree

            # the first step enumerates; if it is the only one, what reads like fewer swaps was scored in it
            may_leave_out = space.predicate is None and len(ledger.steps) == 1
            if shares_states(self.victim, space, swaps, may_leave_out=may_leave_out):
                return sweep_tree(self.victim, space, goal, swaps)  # type: ignore[arg-type]
        return sweep_stratum(space, goal, order, swaps)

    def _enumerate(self, space: Space, goal: Goal, ledger: Ledger, upto: int, enough: float) -> Search[None]:
        """Score stratum after stratum of at most `enough` texts each."""
        order = None
        while "enumeration" in self.provers and self._is_open(ledger, upto):
            k = ledger.radius + 1
            if space.stratum(k) > enough:
                return
            if self.max_points is not None and ledger.points + space.stratum(k) > self.max_points:
                ledger.reason = ledger.reason or _too_many(space.stratum(k), k, self.max_points)
                return
            if order is None:
                order = yield from word_order(space, goal, self.victim.has_gradients)
            sweep = yield from self._sweep(space, goal, order, ledger)
            if sweep.flip is not None:
                ledger.found(sweep.flip)
                return
            if sweep.tied:
                ledger.reason = _tie(k)
                return
            ledger.enumerated(k, space.stratum(k), sweep.margin)
            ledger.reason = ""


def _is_recurrent(victim: Victim) -> bool:
    return victim.kind in ("lstm", "bilstm")


def settle_text(space: Space, goal: Goal, ledger: Ledger) -> Search[FloatArray]:
    """Whether the text itself keeps its label; its scores."""
    scores = yield space.origin[None]
    sweep = yield from sweep_stratum(space, goal, space.open, 0)
    if sweep.flip is not None:
        ledger.found(sweep.flip)
    elif sweep.tied:
        ledger.reason = "the text itself is a tie within rounding"
    else:
        ledger.enumerated(0, 1, sweep.margin)
    found: FloatArray = scores[0]
    return found


def _tie(swaps: int) -> str:
    return f"{_TIE} at {swaps} swaps"


def _too_many(texts: int, swaps: int, limit: int) -> str:
    return f"the {texts} texts with {swaps} swaps exceed max_points={limit}"
