"""CLARE (replacements): the best substitute of every word, chosen on the original text, then made from the best down.

    Delta_i = max over substitutes w of  P(x with w at i) - P(x),      w_i* attains it

All substitutes of all words are scored in one request; then words are swapped for their w_i* in the order of Delta
until the label flips.  With `rescan` everything is scored again after every swap, on the current text, and the most
harmful swap of all is made: the plain greedy search that TextAttack runs, stronger and more expensive.

Reference: Li, Zhang, Peng, Chen, Brockett, Sun, Dolan 2021, Contextualized Perturbation for Textual Adversarial Attack.
Deviations: replacements only, since inserting and merging change the number of words; a word is left alone if no
substitute hurts, where the paper goes on through all actions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from lexproof.attacks.base import Hunt, point_of
from lexproof.attacks.greedy import flip_row, helpful_plan, helpful_row, replay, strongest
from lexproof.goal import Goal
from lexproof.points import FloatArray, IntArray
from lexproof.search import Seed
from lexproof.space import Space


@dataclass(frozen=True, slots=True, kw_only=True)
class Clare:
    """Stored best substitutes in the order of their drop.

    `rescan`: score all remaining swaps anew after every swap.
    """

    rescan: bool = False
    needs_gradients: ClassVar[bool] = False
    needs_scores: ClassVar[bool] = True
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {}, "code": {}, "benchmark": {"rescan": True}}

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """Deterministic: `seed` is not used."""
        del seed
        start = yield space.origin[None]
        if self.rescan:
            return (yield from _rescanned(space, goal, start))
        scores = yield space.singles()
        drops = goal.progress(scores) - goal.progress(start)[0]
        return (yield from replay(space, goal, helpful_plan(space, drops, strongest(space, drops))))


def _rescanned(space: Space, goal: Goal, start: FloatArray) -> Hunt:
    """The most harmful swap of all words not swapped yet, again and again."""
    point: IntArray = space.origin
    current = goal.progress(start)[0]
    for _ in range(space.max_swaps):
        request = space.singles(point, space.open[point[space.open] == 0])
        scores = yield request
        progress = goal.progress(scores)
        row = flip_row(space, goal, request, scores, progress, "harmful")
        flipped = row is not None
        if row is None:
            row = helpful_row(space, request, progress, current)
        if row is None:
            return None
        point = point_of(request, row)
        if flipped:
            return point
        current = progress[row]
    return None
