"""The exact number of flips of a space too large to enumerate, by branching that leaves out what a bound rules out.

`lexproof.certify.pruned` visits the texts of a space in a tree: a text that it does not score is proven not to flip,
and none is scored twice.  If it does not stop at the first flip, the flips it scores are all flips of the space.

Guarantee: `flips_by_swaps` gives, for every k, the exact number of texts with k swaps that flip as the victim decides
on the text (what lies within rounding is scored as text), or None where a limit was reached first.

Swaps that change no token that is read are no candidates of that tree.  A flip F with k swaps at positions P stands for
all texts that make such swaps besides: with z_i of them at position i, e_j(z_i : i not in P) texts with k + j swaps.

It pays where few texts flip and the bound rules most out.  Not for a space with a condition on whole texts, whose
number of texts is not known, nor for transformers, one bound of which takes longer than all the draws of a sample.

Symbols: e_j = the j-th elementary symmetric polynomial, as in `lexproof.strata`.
"""

from __future__ import annotations

import numpy as np

from lexproof.certify.curve import passes
from lexproof.certify.deadline import TimeUp
from lexproof.certify.enumeration import Sweep
from lexproof.certify.lowering import form_of, program_of, threshold
from lexproof.certify.pruned import PrunedBranching
from lexproof.errors import NoRule
from lexproof.goal import Goal
from lexproof.points import AsText, BoolArray, Fresh, IntArray, Swaps, dense
from lexproof.search import Search
from lexproof.space import Space
from lexproof.victims.base import Victim

_LEAF_POINTS = 200  # texts of a subtree that are scored sooner than bounded
_TEXTS_A_PASS = 2  # texts that are scored in the time of one unit's backward pass
_MOST_SWAPS = 300  # beyond which the size of a space takes long to find


class FlipCounter(PrunedBranching):
    """The branching without a stop at flips; `flips[k]` of them have k swaps, the text itself left out."""

    flips: list[int]
    _stands_for: dict[tuple[int, ...], list[int]]
    _unread: IntArray

    def count(self, space: Space, goal: Goal) -> Search[list[int] | None]:
        """The flips of the space by number of swaps; None if a limit was reached."""
        read = np.bincount(self.word[self.slots], minlength=space.n)
        self._unread = (space.sizes - read).astype(np.int32)
        self.flips, self._stands_for = [0] * (space.max_swaps + 1), {}
        try:
            yield from self(space, goal, space.max_swaps)
        except TimeUp:
            return None
        return None if self.effort.stopped else self.flips

    def _judged(self, space: Space, goal: Goal, request: Swaps) -> Search[Sweep]:
        flipped = yield from flips_among(goal, request)
        for point in dense(request[flipped]):
            swapped = np.flatnonzero(point)
            alike = self._alike(tuple(sorted(self._unread[swapped][self._unread[swapped] > 0].tolist())))
            for j, texts in enumerate(alike[: space.max_swaps - len(swapped) + 1]):
                self.flips[len(swapped) + j] += texts
        return Sweep(float("inf"), None, False)

    def _alike(self, taken: tuple[int, ...]) -> list[int]:
        """e_0, e_1, … of the numbers of unread swaps at all positions but those that have `taken`."""
        if taken not in self._stands_for:
            left = self._unread[self._unread > 0].tolist()
            for size in taken:
                left.remove(size)
            row = [1] + [0] * min(len(left), len(self.flips) - 1)
            for size in left:
                for j in range(len(row) - 1, 0, -1):
                    row[j] += size * row[j - 1]
            self._stands_for[taken] = row
        return self._stands_for[taken]


def flips_by_swaps(
    victim: Victim, space: Space, goal: Goal, *, max_points: int, max_nodes: int
) -> Search[list[int] | None]:
    """The exact number of flips with 0, 1, … swaps, or None if it takes more than these limits allow.

    `max_points` texts are scored at most and `max_nodes` nodes bounded; a bound that takes longer than scoring
    `max_points` texts is not begun.  A text that is a flip itself is given up at once: nothing can be ruled out.
    """
    if space.predicate is not None or not 0 < space.max_swaps <= _MOST_SWAPS:
        return None
    if (yield from flips_among(goal, space.origin[None]))[0]:
        return None
    try:
        program = program_of(victim, space)
    except NoRule:
        return None
    if _TEXTS_A_PASS * passes(program) > max_points:
        return None
    counter = FlipCounter(
        program,
        form_of(goal, victim.classes),
        threshold(goal),
        max_points=max_points,
        max_nodes=max_nodes,
        leaf_points=min(_LEAF_POINTS, max_points),
    )
    return (yield from counter.count(space, goal))


def flips_among(goal: Goal, request: Swaps | IntArray) -> Search[BoolArray]:
    """Which of these points flip; those within rounding are settled by their text."""
    scores = yield Fresh(request)
    flipped = goal.strict.reached(scores)
    near = np.abs(goal.margin(scores)) <= goal.slack
    if near.any():
        flipped[near] = goal.strict.reached((yield AsText(dense(request[near]))))
    return flipped
