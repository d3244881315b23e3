"""BERT-Attack: words by masked importance, the first substitute that flips, else the largest drop; at most 0.4 L swaps.

Each word is hidden as unknown to rank it; in that order all substitutes of a word, in the order in which the masked
language model offers them, are tried on the current text.  The first that flips ends the search, otherwise the one
with the largest drop against the *current* text is kept, and the search gives up after `max_share` of the words.

Reference: Li, Ma, Guo, Xue, Qiu 2020, BERT-ATTACK: Adversarial Attack Against BERT Using BERT.
Deviations: all substitutes of a word are asked for at once, where the released code stops asking at the first flip
(same answers, at most one word's substitutes more); every word is ranked (the released code leaves out the last one); a
word that no substitute helps keeps its original (there, the last one tried stays).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from lexproof.attacks.base import Hunt
from lexproof.attacks.greedy import by_hiding, check_share, swap_limit, walk
from lexproof.goal import Goal
from lexproof.search import Seed
from lexproof.space import Space


@dataclass(frozen=True, slots=True, kw_only=True)
class BertAttack:
    """Greedy search in the order of masked importance.

    `bonus`: rank with TextFooler's bonus for words whose hiding flips the label (released code) or without (paper).
    `max_share`: give up after this share of all words, at least one.
    """

    bonus: bool = True
    max_share: float = 0.4
    needs_gradients: ClassVar[bool] = False
    needs_scores: ClassVar[bool] = True
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"bonus": False},
        "code": {"bonus": True},
        "benchmark": {"bonus": False},
    }

    def __post_init__(self) -> None:
        check_share("max_share", self.max_share)

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """Deterministic: `seed` is not used."""
        del seed
        start = yield space.origin[None]
        order = yield from by_hiding(space, goal, start, "masked", bonus=self.bonus)
        return (yield from walk(space, goal, start, order, prefer="similar", limit=swap_limit(space, self.max_share)))
