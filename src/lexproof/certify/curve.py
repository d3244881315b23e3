"""Certified-radius curve: lower bounds of the margin for every number of swaps, from one sweep.

Guarantee: `Curve.margins[r]` is at most the margin over every rival, in logits, of every text with at most r swaps.
So the largest r with a margin above the threshold is a certified radius.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lexproof.bounds.backward import Check, Relaxation, interval_relaxation, linear_relaxation, unsettled_units
from lexproof.bounds.program import Program
from lexproof.bounds.slopes import optimized

_CELLS = 1 << 24  # numbers that the changes of the rows of one pass may hold
_STEPS = 20  # of slope ascent
_UNITS = 4_000  # units times radii that one pass may tighten


@dataclass(frozen=True, slots=True)
class Bound:
    """The least margin that a method guarantees for up to `radius` swaps."""

    radius: int
    method: str
    margin: float


def interval_margin(relaxation: Relaxation, form: Tensor) -> Tensor:
    """The margins (N, K) from the last box but one: forms of the logits through the last layer, then intervals."""
    graph = relaxation.graph
    pulled = graph.nodes[-1].op.relax().pull(form.expand(len(relaxation.boxes[-1].low), -1, -1))
    box = relaxation.boxes[graph.nodes[-1].inputs[0]]
    (part,) = pulled.forms
    flat = part.flatten(2)
    low, high = box.low.flatten(1)[:, None], box.high.flatten(1)[:, None]
    least: Tensor = (flat.clamp(min=0) * low + flat.clamp(max=0) * high).sum(2) + pulled.constant
    return least


def linear_margin(relaxation: Relaxation, form: Tensor, steps: int, enough: float, check: Check | None) -> Tensor:
    """The margins (N, K) by the backward bound with chosen slopes, or by its own boxes if these say more.

    The boxes of a linear relaxation lie within those of intervals, so it is never looser than intervals.
    """
    rows = form.expand(len(relaxation.boxes[-1].low), -1, -1)
    by_lines = optimized(relaxation, relaxation.graph.last, rows, steps=steps, enough=enough, check=check)
    return torch.maximum(by_lines, interval_margin(relaxation, form))


def certified(
    program: Program,
    form: Tensor,
    radii: range,
    theta: float,
    methods: tuple[str, ...],
    *,
    steps: int = _STEPS,
    check: Check | None = None,
) -> Iterator[Bound]:
    """Bounds above `theta` for larger and larger radii, up to the first that no method proves.

    `form` (K, classes) gives the margins; `methods` are `interval` and `linear`, tried in this order.  The slopes of
    the linear bound are chosen by so many `steps` of ascent where its default ones do not suffice.  `check` is called
    now and then; what it raises ends the work.
    """
    left = list(radii)
    for method, ask in (("interval", _interval), ("linear", _linear)):
        if method not in methods:
            continue
        rows = _rows(program, method)
        while left:
            margins = ask(program, form, left[:rows], check).tolist()
            proven = [(radius, margin) for radius, margin in zip(left, margins, strict=False) if theta < margin < inf]
            if not proven:
                break
            yield Bound(proven[-1][0], method, proven[-1][1])
            left = [other for other in left if other > proven[-1][0]]
            if len(proven) < len(margins):
                break
    # slopes are worth choosing at the first radius that is open: farther ones are looser still
    while left and steps and "linear" in methods:
        margin = _ascended(program, form, left[0], theta, steps, check)
        if not theta < margin < inf:  # what overflowed proves nothing
            return
        yield Bound(left[0], "linear", margin)
        left = left[1:]


def margins_of(program: Program, form: Tensor, radii: range, method: str) -> NDArray[np.float64]:
    """For each radius the interval bound of the least margin, or the better of it and the linear one."""
    rows, found = _rows(program, method), []
    for start in range(0, len(radii), rows):
        part = list(radii[start : start + rows])
        best = _interval(program, form, part, None)
        if method == "linear":
            best = torch.maximum(best, _linear(program, form, part, None))
        found.append(best.detach().numpy())
    return np.concatenate(found)


def _rows(program: Program, method: str) -> int:
    """Radii that are worth bounding in one pass: as many as memory holds; fewer where a pass is long."""
    rows = max(1, _CELLS // max(1, program.region.changes[0].numel()))
    return rows if method == "interval" else max(1, min(rows, _UNITS // max(1, passes(program))))


def passes(program: Program) -> int:
    """How many units a linear bound would tighten one by one with one swap allowed."""
    return unsettled_units(interval_relaxation(program.graph, program.budgeted(1).region))


def _interval(program: Program, form: Tensor, radii: list[int], check: Check | None) -> Tensor:
    del check
    region = program.region.repeat(torch.tensor(radii))
    relaxation = interval_relaxation(program.graph.repeated(len(radii)), region)
    return interval_margin(relaxation, form).amin(1)


def _linear(program: Program, form: Tensor, radii: list[int], check: Check | None) -> Tensor:
    return linear_margin(_relaxed(program, radii, check), form, 0, float("inf"), check).amin(1)


def _ascended(program: Program, form: Tensor, radius: int, theta: float, steps: int, check: Check | None) -> float:
    return float(linear_margin(_relaxed(program, [radius], check), form, steps, theta, check).min())


def _relaxed(program: Program, radii: list[int], check: Check | None) -> Relaxation:
    region = program.region.repeat(torch.tensor(radii))
    return linear_relaxation(program.graph.repeated(len(radii)), region, check)
