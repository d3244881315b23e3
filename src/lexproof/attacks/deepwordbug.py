"""DeepWordBug: words by what they add to the text read from either end, each for its first typo.

    head_i = F(w_1 … w_i) - F(w_1 … w_{i-1})        tail_i = F(w_i … w_n) - F(w_{i+1} … w_n)
    importance = head + `tail_weight` * tail

with F the label's score; parts of the text are scored by deleting the rest.  The words ranked highest are replaced by
their first substitute, in that order, and the text is checked after each (`step="first"`, one query a swap).
`step="greedy"` tries all substitutes of a word and keeps the most harmful one instead.

Reference: Gao, Lanchantin, Soffa, Qi 2018, Black-box Generation of Adversarial Text Sequences to Evade Deep Learning
Classifiers.
Deviations: the paper transforms the top m words (as far as the edit distance allows) and checks once; checking after
each finds the same flips and others with fewer swaps.  m is the space's number of swaps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from lexproof.attacks.base import Hunt
from lexproof.attacks.greedy import by_hiding, check_option, ranked, replay, walk
from lexproof.errors import InputError
from lexproof.goal import Goal
from lexproof.points import DELETED, FloatArray, IntArray
from lexproof.search import Search, Seed
from lexproof.space import Space

Rank = Literal["combined", "head", "tail", "masked", "deleted"]
Step = Literal["first", "greedy"]

_CELLS = 1 << 18  # words of probes asked for at once, so that a long text does not fill the memory


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepWordBug:
    """Typos in the words that matter most.

    `rank`: by `head`, `tail` or both `combined` (paper), or by hiding the word, `masked` or `deleted`.
    `tail_weight`: weight of the tail in the combined score.
    `step`: each word's `first` substitute, or `greedy` over all of them.
    """

    rank: Rank = "combined"
    tail_weight: float = 1.0
    step: Step = "first"
    needs_gradients: ClassVar[bool] = False
    needs_scores: ClassVar[bool] = True
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},
        "code": {},
        "benchmark": {"rank": "masked", "step": "greedy"},
    }

    def __post_init__(self) -> None:
        check_option("rank", self.rank, Rank)
        check_option("step", self.step, Step)
        if not 0 <= self.tail_weight < np.inf:
            raise InputError(f"expected tail_weight >= 0 and finite, got {self.tail_weight}")

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """Deterministic: `seed` is not used."""
        del seed
        start = yield space.origin[None]
        if self.rank == "masked" or self.rank == "deleted":
            order = yield from by_hiding(space, goal, start, self.rank)
        else:
            order = yield from self._by_reading(space, goal)
        if self.step == "greedy":
            return (yield from walk(space, goal, start, order, prefer="harmful"))
        return (yield from replay(space, goal, _in_candidate_order(space, order)))

    def _by_reading(self, space: Space, goal: Goal) -> Search[IntArray]:
        head = tail = np.zeros(len(space.open))
        if self.rank != "tail":
            before, after = yield from _around(space, goal, heads=True)
            head = before - after  # progress falls as the word adds to the label's score
        if self.rank != "head":
            after, before = yield from _around(space, goal, heads=False)
            tail = before - after
        weight = 1.0 if self.rank == "tail" else self.tail_weight
        return ranked(space.open.astype(np.int32), head + weight * tail)


def _around(space: Space, goal: Goal, *, heads: bool) -> Search[tuple[FloatArray, FloatArray]]:
    """Progress of the texts cut off at each open word and right behind it: what comes before a cut, or after it."""
    cuts = np.unique(np.concatenate([space.open, space.open + 1]))
    progress = np.empty(space.n + 1)
    rows = max(1, _CELLS // max(1, space.n))
    for low in range(0, len(cuts), rows):
        block = cuts[low : low + rows]
        read = np.arange(space.n) < block[:, None] if heads else np.arange(space.n) >= block[:, None]
        scores = yield np.where(read, 0, DELETED).astype(np.int32)
        progress[block] = goal.progress(scores)
    return progress[space.open], progress[space.open + 1]


def _in_candidate_order(space: Space, order: IntArray) -> Iterator[tuple[int, IntArray]]:
    for position in order.tolist():
        yield position, np.arange(1, int(space.sizes[position]) + 1, dtype=np.int32)
