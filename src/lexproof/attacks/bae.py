"""BAE (replacement): words by deletion importance, the most similar substitute that flips, else the most harmful one.

Word i is deleted to rank it.  In that order all substitutes of a word are scored on the current text; among those that
flip, the first in candidate order ends the search (rank the candidates by similarity to make it the most similar one),
otherwise the one with the lowest score of the label is kept if it helps.

Reference: Garg and Ramakrishnan 2020, BAE: BERT-based Adversarial Examples for Text Classification (BAE-R).
Deviations: a step must improve on the current text.  Inserting words needs texts of another length, which a space of
swaps does not hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from lexproof.attacks.base import Hunt
from lexproof.attacks.greedy import Prefer, by_hiding, check_option, walk
from lexproof.goal import Goal
from lexproof.search import Seed
from lexproof.space import Space


@dataclass(frozen=True, slots=True, kw_only=True)
class Bae:
    """Greedy search in the order of deletion importance.

    `prefer`: among substitutes that flip, the `similar` one (first in candidate order) or the most `harmful`.
    """

    prefer: Prefer = "similar"
    needs_gradients: ClassVar[bool] = False
    needs_scores: ClassVar[bool] = True
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {}, "code": {}, "benchmark": {}}

    def __post_init__(self) -> None:
        check_option("prefer", self.prefer, Prefer)

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """Deterministic: `seed` is not used."""
        del seed
        start = yield space.origin[None]
        order = yield from by_hiding(space, goal, start, "deleted")
        return (yield from walk(space, goal, start, order, prefer=self.prefer))
