"""PDP, pseudo-dynamic programming: one position a step, the best texts so far times all words of that position.

    A_0 = {x}
    p*  = argmax_p I_p          over positions not yet considered
    A_t = TopK(A_{t-1}) x ({w_p*} ∪ S_p*)

I_s(x') = progress of x' towards the goal (1 - score of the label, or score of the target) ranks texts; I_p, the best
I_s that one swap at p leads to from texts drawn from A_{t-1} in proportion to I_s, ranks positions: the look-ahead.
Since the word itself stays in the product, texts of A_t differ in at most t positions.  With access to the model, I_p
is the L1 norm of the gradient of the score by the word at p, the largest over the drawn texts.

The first A_t with a flip within the limit ends the search; the flip with the fewest swaps is returned.

Reference: Yang et al. 2022, Quantifying Robustness to Adversarial Word Substitutions, Algorithm 1.
Deviations: the paper states neither K nor the number of drawn texts; they are settings.  Texts beyond the limit on
swaps, of which no later one can come back, leave A_t at once, and so do those that the space's predicate rejects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lexproof.attacks.base import Hunt, accepted, best_flip, point_of
from lexproof.errors import InputError
from lexproof.goal import Goal, steady
from lexproof.points import FloatArray, IntArray, Sensitivity, Swaps
from lexproof.search import Search, Seed
from lexproof.space import Space


@dataclass(frozen=True, slots=True, kw_only=True)
class Pdp:
    """At most `beam` texts kept a step, `samples` of them drawn for the look-ahead.

    `look`: rank positions by exact `scores` of their swaps, or by `gradient`, the white-box variant.
    """

    beam: int = 10
    samples: int = 2
    look: Literal["scores", "gradient"] = "scores"
    needs_scores: ClassVar[bool] = True
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {}, "white-box": {"look": "gradient"}}

    def __post_init__(self) -> None:
        if self.beam < 1 or self.samples < 1:
            raise InputError(f"expected beam >= 1 and samples >= 1, got {self.beam} and {self.samples}")

    @property
    def needs_gradients(self) -> bool:
        """Only the white-box variant asks for gradients."""
        return self.look == "gradient"

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """The texts drawn for the look-ahead depend on the seed; nothing else is random."""
        rng = seed.generator()
        texts = space.origin[None]
        progress = goal.progress((yield texts))
        waiting = space.open
        for _ in range(len(space.open)):
            drawn = texts[_draw(rng, progress, self.samples)]
            position = yield from self._look_ahead(space, goal, drawn, waiting)
            waiting = waiting[waiting != position]
            request = _product(space, texts, position)
            scores = yield request
            row = best_flip(space, goal, request, scores)
            if row is not None:
                return point_of(request, row)
            found = request.dense()
            fits = np.count_nonzero(found, axis=1) <= space.max_swaps
            harm = goal.progress(scores[fits])
            kept = accepted(space, found[fits], np.argsort(-harm, kind="stable"), self.beam)
            texts, progress = found[fits][kept], harm[kept]
        return None

    def _look_ahead(self, space: Space, goal: Goal, drawn: IntArray, waiting: NDArray[np.int64]) -> Search[int]:
        """The waiting position from which one swap leads nearest to the goal."""
        if self.look == "gradient":
            one = goal.label if goal.target is None else goal.target
            norms = yield Sensitivity(drawn, one)
            return int(waiting[steady(norms[:, waiting].max(axis=0)).argmax()])
        swaps = space.singles(positions=waiting.tolist())
        rows = np.repeat(np.arange(len(drawn), dtype=np.int32), len(swaps))
        scores = yield Swaps(drawn, rows, np.tile(swaps.positions, len(drawn)), np.tile(swaps.choices, len(drawn)))
        harm = goal.progress(scores).reshape(len(drawn), -1).max(axis=0)
        return int(swaps.positions[harm.argmax()])


def _draw(rng: np.random.Generator, progress: FloatArray, count: int) -> NDArray[np.int64]:
    """Distinct rows, drawn one after another in proportion to their progress; scores that are no shares are shifted."""
    if len(progress) <= count:
        return np.arange(len(progress))
    weights = progress - min(0.0, float(progress.min())) + 1e-12
    return np.sort(rng.choice(len(progress), count, replace=False, p=weights / weights.sum()))


def _product(space: Space, texts: IntArray, position: int) -> Swaps:
    """Each text with each word of this position, its own word included."""
    size = int(space.sizes[position]) + 1
    rows = np.repeat(np.arange(len(texts), dtype=np.int32), size)
    choices = np.tile(np.arange(size, dtype=np.int32), len(texts))
    return Swaps(texts, rows, np.full(len(rows), position, np.int32), choices)
