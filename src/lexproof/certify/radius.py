"""The certified-radius curve of a text: what bounds alone prove, for every number of swaps, from one sweep."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lexproof.certify.exact.offered import exact_of
from lexproof.certify.lowering import form_of, program_of, threshold
from lexproof.errors import NoRule
from lexproof.goal import Goal
from lexproof.space import Space
from lexproof.victims.base import Victim

_MOST_PASSES = 50_000  # units that a linear bound tightens one by one: about a minute


@dataclass(frozen=True, slots=True)
class CertifiedCurve:
    """`margins[r]`: no text with at most r swaps has a smaller difference of logits between its label and a rival.

    `radius` is the largest r with a margin above `threshold`, -1 if the text itself has none: no flip within it.
    `bound` names where the margins come from: `hull` or `windows` (the root bounds of the exact solvers), `linear`, or
    `interval` for a network so large that linear bounds of all its units would take minutes.
    """

    margins: tuple[float, ...]
    threshold: float
    bound: str

    @property
    def radius(self) -> int:
        """The certified radius."""
        proven = [math.isfinite(margin) and margin > self.threshold for margin in self.margins]
        return proven.index(False) - 1 if False in proven else len(proven) - 1


def curve_of(victim: Victim, space: Space, goal: Goal) -> CertifiedCurve:
    """The curve for 0 … max_swaps swaps; NoRule for a victim that shows no operations."""
    try:
        margins, bound = _of_solver(victim, space, goal)
    except NoRule:
        margins, bound = _of_program(victim, space, goal)
    # a bound for more swaps also holds for fewer: what is looser than a later one is replaced by it
    best = np.maximum.accumulate(margins[::-1])[::-1]
    return CertifiedCurve(tuple(best.tolist()), threshold(goal), bound)


def _of_solver(victim: Victim, space: Space, goal: Goal) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], str]:
    from lexproof.certify.exact import cnn_solver, solver
    from lexproof.certify.exact.additive import AdditiveNet

    net = exact_of(victim, space, goal).net
    if isinstance(net, AdditiveNet):
        return solver.curve(net, space.max_swaps), "hull"
    return cnn_solver.curve(net, space.max_swaps), "windows"


def _of_program(victim: Victim, space: Space, goal: Goal) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], str]:
    from lexproof.certify.curve import margins_of, passes

    program = program_of(victim, space)
    method = "linear" if passes(program) <= _MOST_PASSES else "interval"
    return margins_of(program, form_of(goal, victim.classes), range(space.max_swaps + 1), method), method
