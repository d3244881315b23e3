"""TextFooler: swap the words in order of importance, each for its most harmful substitute, until the label flips.

Importance of word i is the drop of the label's score when the word is hidden, plus, if that flips the label, the rise
of the new label's score.  For each word all substitutes are scored; if some flip the label, the one ranked first by the
candidates (the most similar) ends the search, otherwise the most harmful one is kept if it helps.

Reference: Jin, Jin, Zhou, Szolovits 2020, Is BERT Really Robust?
Deviations: the space fixes candidates, parts of speech and similarity beforehand; a step must improve on the *current*
text (the released code compares with the original and can accept a worse step).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from lexproof.attacks.base import Hunt
from lexproof.goal import Goal, steady
from lexproof.points import DELETED, MASKED, FloatArray, Swaps
from lexproof.search import Seed, flips
from lexproof.space import Space


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFooler:
    """Greedy search by word importance.

    `hide`: how a word is hidden to rank it, `masked` as in the released code or `deleted` as in the paper.
    `bonus`: add the rise of the new label's score when hiding a word flips the label.
    `prefer`: among substitutes that flip, the `similar` one (first in candidate order) or the most `harmful`.
    """

    hide: Literal["masked", "deleted"] = "masked"
    bonus: bool = True
    prefer: Literal["similar", "harmful"] = "similar"
    needs_gradients: ClassVar[bool] = False

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """Deterministic: `seed` is not used."""
        del seed
        point = space.origin
        start = yield point[None]
        current = goal.progress(start)[0]
        hidden = np.full(len(space.open), MASKED if self.hide == "masked" else DELETED, np.int32)
        scores = yield Swaps.of(point, space.open.astype(np.int32), hidden)
        order = np.argsort(-self._importance(goal, start[0], scores), kind="stable")
        swapped = 0
        for position in space.open[order].tolist():
            if swapped == space.max_swaps:
                return None
            request = space.singles(point, [position])
            scores = yield request
            rows = flips(space, goal, request, scores)
            progress = goal.progress(scores)
            if len(rows):
                row = rows[0] if self.prefer == "similar" else rows[np.argmax(progress[rows])]
                point[position] = request.choices[row]
                return point
            best = int(progress.argmax())
            if progress[best] > current:
                point = point.copy()
                point[position] = request.choices[best]
                current = progress[best]
                swapped += 1
        return None

    def _importance(self, goal: Goal, start: FloatArray, hidden: FloatArray) -> FloatArray:
        gain: FloatArray = goal.progress(hidden) - goal.progress(start[None])[0]
        if not self.bonus or goal.target is not None:
            return gain
        predicted = hidden.argmax(axis=1)
        rise = steady(hidden[np.arange(len(hidden)), predicted]) - steady(start[predicted])
        return np.asarray(gain + np.where(predicted != goal.label, rise, 0.0))
