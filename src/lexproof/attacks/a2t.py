"""A2T: words by the gradient at the original text, once, then greedy word by word; few words may change.

One backward pass ranks all words by the L1 norm of the loss gradient.  In that order each word is swapped for its most
harmful substitute if that helps, until the label flips or max(`at_least`, `max_share` of the words) swaps are made.

Reference: Yoo and Qi 2021, Towards Improving Adversarial Training of NLP Models.
Deviations: the paper averages the norm over a word's pieces, the victims sum it, so that a word of many pieces ranks
higher; gradients come from a victim that is never in training mode, so the order is not random through dropout.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from lexproof.attacks.base import Hunt
from lexproof.attacks.greedy import by_gradient, check_share, swap_limit, walk
from lexproof.errors import InputError
from lexproof.goal import Goal
from lexproof.search import Seed
from lexproof.space import Space


@dataclass(frozen=True, slots=True, kw_only=True)
class A2T:
    """Greedy search in the order of the gradient.

    `max_share`: swap at most this share of all words (None: what the space allows), `at_least`: but so many in short
    texts.
    """

    max_share: float | None = 0.1
    at_least: int = 4
    needs_gradients: ClassVar[bool] = True
    needs_scores: ClassVar[bool] = True
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {}, "code": {}, "benchmark": {"max_share": None}}

    def __post_init__(self) -> None:
        if self.max_share is not None:
            check_share("max_share", self.max_share)
        if self.at_least < 1:
            raise InputError(f"expected at_least >= 1, got {self.at_least}")

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """Deterministic: `seed` is not used."""
        del seed
        start = yield space.origin[None]
        order = yield from by_gradient(space, goal)
        limit = swap_limit(space, self.max_share, self.at_least)
        return (yield from walk(space, goal, start, order, prefer="harmful", limit=limit))
