"""HotFlip: swap the word that the gradient says will hurt most, check it, and go on from there.

If a swap replaces the word vector e by e', the label's score moves by g · (e' - e) to first order, g being the gradient
of the score by that vector.  So one gradient ranks every substitute of every word.  The best of them are scored, in
blocks from the top; of the first block in which any helps (lowers the label's score, or raises the target's) the best
are kept, and the next gradients are taken there.  The first flip ends it, and swaps that it does not need are put back.

Reference: Ebrahimi, Rao, Lowd, Dou 2018, HotFlip: White-Box Adversarial Examples for Text Classification.
Deviations: the gradient is that of the label's probability instead of its loss, which ranks the swaps of a text alike;
what the original only estimates is scored before it is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lexproof.attacks.base import Hunt, accepted, best_flip, point_of, put_back
from lexproof.attacks.beam import distinct
from lexproof.errors import InputError
from lexproof.goal import Goal, steady
from lexproof.points import FirstOrder, FloatArray, IntArray, Swaps
from lexproof.search import Search, Seed
from lexproof.space import Space


@dataclass(frozen=True, slots=True, kw_only=True)
class HotFlip:
    """Greedy search by gradients (`beam` = 1), or one that keeps the best `beam` texts of each number of swaps.

    `verify`: how many of the most promising swaps are scored at a time, for each text that may be kept.
    """

    beam: int = 1
    verify: int = 10
    needs_gradients: ClassVar[bool] = True
    needs_scores: ClassVar[bool] = True
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {"beam": 10, "verify": 1}}

    def __post_init__(self) -> None:
        for name, value in (("beam", self.beam), ("verify", self.verify)):
            if value < 1:
                raise InputError(f"expected {name} >= 1, got {value}")

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """Deterministic: `seed` is not used."""
        del seed
        texts = space.origin[None]
        reached = goal.progress((yield texts))
        for _ in range(space.max_swaps):
            ranked = yield from _ranked(space, goal, texts, reached)
            kept, progress, flip = yield from self._step(space, goal, ranked, reached)
            if flip is not None:
                return (yield from put_back(space, goal, flip))
            if not len(kept):
                return None
            texts, reached = kept, progress
        return None

    def _step(
        self, space: Space, goal: Goal, ranked: Swaps, reached: FloatArray
    ) -> Search[tuple[IntArray, FloatArray, IntArray | None]]:
        """The best texts of the first block with one that is nearer to the goal than its parent, or a flip."""
        size = self.beam * self.verify
        for at in range(0, len(ranked), size):
            block = ranked[at : at + size]
            scores = yield block
            row = best_flip(space, goal, block, scores)
            if row is not None:
                return ranked.bases[:0], reached[:0], point_of(block, row)
            progress = goal.progress(scores)
            order = np.argsort(-progress, kind="stable")
            order = order[progress[order] > reached[block.rows[order]]]
            kept = accepted(space, block, order, self.beam)
            if len(kept):
                return block[kept].dense(), progress[kept], None
        return ranked.bases[:0], reached[:0], None


def _ranked(space: Space, goal: Goal, texts: IntArray, reached: FloatArray) -> Search[Swaps]:
    """Every swap of a word that a text has not swapped yet, the most promising first, each new text once."""
    estimates = yield FirstOrder(texts, goal.label if goal.target is None else goal.target)
    gains = -estimates if goal.target is None else estimates
    singles = space.singles()
    rows, columns = np.nonzero(texts[:, singles.positions] == 0)
    swaps = Swaps(texts, rows.astype(np.int32), singles.positions[columns], singles.choices[columns])
    order = np.argsort(-steady(reached[rows] + gains[rows, columns]), kind="stable")
    promising = swaps[order]
    return promising[distinct(promising)]
