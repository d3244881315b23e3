"""What the greedy attacks share: ranking words by importance, walking through them, and replaying stored swaps.

With P(x) the progress of a text towards the goal (1 - score of the label, or score of the target), the importance of
word i is

    I_i = P(x with word i hidden) - P(x)  [+ rise of the new label's score, if hiding the word flips the label]

`walk` visits words in a given order: it scores all substitutes of a word on the *current* text, ends at a flip,
otherwise keeps the most harmful substitute if it helps.  `replay` makes swaps that were chosen beforehand, one by one.

Two rules hold for every walk, whatever public code does: a step is compared with the current text, never with the
original one, and any substitute that flips ends the search, even if another one has a lower score of the label (with
three or more labels these differ).  Where the space has a predicate, all steps obey it, not only the flip.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, get_args

import numpy as np

from lexproof.attacks.base import Hunt, first_accepted
from lexproof.errors import InputError
from lexproof.goal import Goal, steady
from lexproof.points import DELETED, MASKED, FloatArray, IntArray, Points, Sensitivity, Swaps
from lexproof.search import Search
from lexproof.space import Space, allowed_swaps

Hide = Literal["masked", "deleted"]
Prefer = Literal["similar", "harmful"]
"""Among substitutes that flip: the first in candidate order (candidates put the most similar first), or the worst."""


def check_option(name: str, value: object, kind: Any) -> None:
    """InputError unless the value is one of a Literal's."""
    options = get_args(kind)
    if value not in options:
        raise InputError(f"expected {name} out of {', '.join(options)}, got {value!r}")


def check_share(name: str, value: float) -> None:
    """InputError unless the value is a share of words."""
    if not 0 < value <= 1:
        raise InputError(f"expected {name} in (0, 1], got {value}")


def swap_limit(space: Space, share: float | None, at_least: int = 1) -> int:
    """Swaps that an attack makes at most: this share of all words, but at least so many; never more than the space."""
    if share is None:
        return space.max_swaps
    return min(space.max_swaps, max(at_least, allowed_swaps(space.n, share)))


# ---------------------------------------------------------------------- rankings


def ranked(positions: IntArray, importance: FloatArray) -> IntArray:
    """Positions by importance, the largest first; equals in the order of the text."""
    return positions[np.argsort(-importance, kind="stable")]


def hidden(space: Space, hide: Hide) -> Swaps:
    """The original text with each word that has substitutes hidden in turn."""
    probe = MASKED if hide == "masked" else DELETED
    return Swaps.of(space.origin, space.open.astype(np.int32), np.full(len(space.open), probe, np.int32))


def importance(goal: Goal, start: FloatArray, scores: FloatArray, *, bonus: bool) -> FloatArray:
    """I_i from the scores of the original text (1, classes) and those with each word hidden (B, classes)."""
    gain: FloatArray = goal.progress(scores) - goal.progress(start)[0]
    if not bonus or goal.target is not None:
        return gain
    predicted = scores.argmax(axis=1)
    rise = steady(scores[np.arange(len(scores)), predicted]) - steady(start[0, predicted])
    return np.asarray(gain + np.where(predicted != goal.label, rise, 0.0))


def by_hiding(space: Space, goal: Goal, start: FloatArray, hide: Hide, *, bonus: bool = False) -> Search[IntArray]:
    """Open positions by importance: one query a word."""
    scores = yield hidden(space, hide)
    return ranked(space.open.astype(np.int32), importance(goal, start, scores, bonus=bonus))


def by_gradient(space: Space, goal: Goal) -> Search[IntArray]:
    """Open positions by the L1 norm of the gradient at the original text: one query in all.

    The gradient is that of the label's (or target's) score; that of its log loss is a multiple of it and gives the
    same order.
    """
    norms = yield Sensitivity(space.origin[None], goal.label if goal.target is None else goal.target)
    return ranked(space.open.astype(np.int32), steady(norms[0, space.open]))


# ---------------------------------------------------------------------- steps


def flip_row(
    space: Space, goal: Goal, points: Points, scores: FloatArray, progress: FloatArray, prefer: Prefer
) -> int | None:
    """The row of the preferred flip that the space accepts."""
    rows = goal.reached(scores).nonzero()[0]
    if not len(rows):
        return None
    if prefer == "harmful":
        rows = rows[np.argsort(-progress[rows], kind="stable")]
    return first_accepted(space, points, rows)


def helpful_row(space: Space, points: Points, progress: FloatArray, current: float) -> int | None:
    """The row of the most harmful accepted text that is nearer to the goal than the current one."""
    best = int(progress.argmax())
    if progress[best] <= current:
        return None
    if space.predicate is None:
        return best
    order = np.argsort(-progress, kind="stable")
    return first_accepted(space, points, order[progress[order] > current])


def walk(
    space: Space, goal: Goal, start: FloatArray, order: IntArray, *, prefer: Prefer, limit: int | None = None
) -> Hunt:
    """Word by word in this order, all substitutes of a word at once, until a flip or `limit` swaps."""
    point = space.origin
    current = goal.progress(start)[0]
    left = space.max_swaps if limit is None else limit
    for position in order.tolist():
        if not left:
            return None
        request = space.singles(point, [position])
        scores = yield request
        progress = goal.progress(scores)
        row = flip_row(space, goal, request, scores, progress, prefer)
        if row is not None:
            point[position] = request.choices[row]
            return point
        row = helpful_row(space, request, progress, current)
        if row is not None:
            point = point.copy()  # the engine may still hold the request on the old one
            point[position] = request.choices[row]
            current = progress[row]
            left -= 1
    return None


# ---------------------------------------------------------------------- stored swaps


Plan = Iterable[tuple[int, IntArray]]
"""Positions in the order in which to swap them, each with its substitutes, best first."""


def replay(space: Space, goal: Goal, plan: Plan) -> Hunt:
    """Swap word after word for its stored substitute, whatever the current text scores, until a flip.

    One query a step.  Where the space's predicate rejects a text, the word's next stored substitute takes its place.
    """
    point, left = space.origin, space.max_swaps
    for position, choices in plan:
        if not left:
            return None
        swaps = Swaps.of(point, np.full(len(choices), position, np.int32), choices)
        row = first_accepted(space, swaps, np.arange(len(choices)))
        if row is None:
            continue
        point = point.copy()
        point[position] = choices[row]
        scores = yield point[None]
        if goal.reached(scores)[0]:
            return point
        left -= 1
    return None


def strongest(space: Space, drops: FloatArray) -> FloatArray:
    """The largest of each open word's drops, which are in the order of `space.singles()`."""
    ends = np.cumsum(space.sizes[space.open])
    largest: FloatArray = np.maximum.reduceat(drops, ends - space.sizes[space.open]) if len(ends) else np.empty(0)
    return largest


def helpful_plan(space: Space, drops: FloatArray, weight: FloatArray) -> Iterator[tuple[int, IntArray]]:
    """Open positions by weight with the substitutes that help, most harmful first; words that nothing helps stay."""
    ends = np.cumsum(space.sizes[space.open])
    for place in np.argsort(-weight, kind="stable").tolist():
        position = int(space.open[place])
        own = drops[ends[place] - space.sizes[position] : ends[place]]
        order = np.argsort(-own, kind="stable")
        choices = order[own[order] > 0].astype(np.int32) + np.int32(1)
        if len(choices):
            yield position, choices
