"""TextFooler: swap the words in order of importance, each for its most harmful substitute, until the label flips.

Importance of word i is the drop of the label's score when the word is hidden, plus, if that flips the label, the rise
of the new label's score.  For each word all substitutes are scored; if some flip the label, the one ranked first by the
candidates (the most similar) ends the search, otherwise the most harmful one is kept if it helps.

Reference: Jin, Jin, Zhou, Szolovits 2020, Is BERT Really Robust?
Deviations: the space fixes candidates, parts of speech and similarity beforehand; a step must improve on the *current*
text (the released code compares with the original and can accept a worse step: not repeated in any variant).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from lexproof.attacks.base import Hunt
from lexproof.attacks.greedy import Hide, Prefer, by_hiding, check_option, walk
from lexproof.goal import Goal
from lexproof.search import Seed
from lexproof.space import Space


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFooler:
    """Greedy search by word importance.

    `hide`: how a word is hidden to rank it, `masked` as in the released code or `deleted` as in the paper.
    `bonus`: add the rise of the new label's score when hiding a word flips the label.
    `prefer`: among substitutes that flip, the `similar` one (first in candidate order) or the most `harmful`.
    """

    hide: Hide = "masked"
    bonus: bool = True
    prefer: Prefer = "similar"
    needs_gradients: ClassVar[bool] = False
    needs_scores: ClassVar[bool] = True
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"hide": "deleted"},
        "code": {"hide": "masked"},
        "benchmark": {"hide": "deleted", "bonus": False},
    }

    def __post_init__(self) -> None:
        check_option("hide", self.hide, Hide)
        check_option("prefer", self.prefer, Prefer)

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """Deterministic: `seed` is not used."""
        del seed
        start = yield space.origin[None]
        order = yield from by_hiding(space, goal, start, self.hide, bonus=self.bonus)
        return (yield from walk(space, goal, start, order, prefer=self.prefer))
