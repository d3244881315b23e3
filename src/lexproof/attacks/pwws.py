"""PWWS: probability weighted word saliency.

    S_i     = P(x with word i unknown) - P(x)                    saliency
    Delta_i = max over substitutes w of  P(x with w at i) - P(x)     w_i* attains it
    H_i     = softmax(S)_i * Delta_i

Words are swapped for their stored w_i* in the order of H until the label flips.  Everything but the steps is scored on
the original text, so one request asks for all of it: 1 + L + (number of substitutes) + steps queries, L being the
words that have substitutes (the softmax over these alone gives the same order).

Reference: Ren, Deng, He, Che 2019, Generating Natural Language Adversarial Examples through Probability Weighted Word
Saliency.
Deviations: a word whose Delta is not positive is left alone.  Named entities are a matter of candidates.
Not repeated: weighting with the score 1 - p instead of the drop (TextAttack), swapping words that no substitute hurts
(OpenAttack).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lexproof.attacks.base import Hunt
from lexproof.attacks.greedy import helpful_plan, hidden, ranked, replay, strongest, walk
from lexproof.goal import Goal, steady
from lexproof.points import FloatArray, Swaps
from lexproof.search import Seed
from lexproof.space import Space


@dataclass(frozen=True, slots=True, kw_only=True)
class Pwws:
    """Stored best substitutes in the order of saliency times drop.

    `reselect`: choose each word's substitute anew on the current text (about twice the queries), as TextAttack does.
    """

    reselect: bool = False
    needs_gradients: ClassVar[bool] = False
    needs_scores: ClassVar[bool] = True
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {}, "code": {}, "benchmark": {"reselect": True}}

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """Deterministic: `seed` is not used."""
        del seed
        start = yield space.origin[None]
        probes, singles = hidden(space, "masked"), space.singles()
        positions = np.concatenate([probes.positions, singles.positions])
        scores = yield Swaps.of(space.origin, positions, np.concatenate([probes.choices, singles.choices]))
        gains = goal.progress(scores) - goal.progress(start)[0]
        saliency, drops = gains[: len(probes)], gains[len(probes) :]
        best = strongest(space, drops)
        weight = weighted(saliency, best)
        if not self.reselect:
            return (yield from replay(space, goal, helpful_plan(space, drops, weight)))
        helpful = best > 0
        order = ranked(space.open[helpful].astype(np.int32), weight[helpful])
        return (yield from walk(space, goal, start, order, prefer="harmful"))


def weighted(saliency: FloatArray, drop: FloatArray) -> FloatArray:
    """H = softmax(S) * Delta, rounded so that the order does not depend on the machine."""
    grown = np.exp(saliency - saliency.max(initial=-np.inf))
    return steady(grown / grown.sum() * drop)
