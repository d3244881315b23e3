"""Brackets: an attack from above and an enumeration from below, meeting at the minimum number of swaps.

Guarantee: `Bracketed.radius` = r says that no text with at most r swaps is a flip (see `enumeration`), so the minimum
is at least r + 1; `flip` is a text that is one.  If it has r + 1 swaps, that is the minimum.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from lexproof.attacks.base import Attack, put_back
from lexproof.certify.enumeration import sweep_stratum, word_order
from lexproof.errors import InputError
from lexproof.goal import Goal
from lexproof.points import FloatArray, IntArray
from lexproof.search import Search, Seed, Spent, flips
from lexproof.space import Space


@dataclass(frozen=True, slots=True)
class Bracketed:
    """What is known of the minimum number of swaps, and why no more is known."""

    radius: int = -1
    points: int = 0
    margin: float = float("inf")
    flip: IntArray | None = None
    breakers: tuple[tuple[int, int], ...] = ()  # (position, choice) of single swaps that flip
    scores: FloatArray | None = field(default=None, compare=False)  # of the original text
    reason: str = ""
    spent: bool = False
    attack_failed: str = ""  # why there was no attack


@dataclass(frozen=True, slots=True, kw_only=True)
class BracketSearch:
    """One stratum of single swaps in full, then the attack, then strata of 2, 3, … swaps up to what the attack found.

    Single swaps are always enumerated; a further stratum only if all points so far and its own are at most
    `max_points`, so the answer does not depend on the speed of the machine.
    """

    attack: Attack
    gradients: bool = False
    max_points: int = 20_000

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Search[Bracketed]:
        """The search; its claim is a Bracketed, also when its budget is spent halfway."""
        known = yield from self._bracket(space, goal, seed)
        is_open = known.flip is None and known.radius < space.max_swaps
        return replace(known, reason=known.reason or known.attack_failed) if is_open else known

    def _bracket(self, space: Space, goal: Goal, seed: Seed) -> Search[Bracketed]:
        known = Bracketed()
        try:
            known = yield from self._text_itself(space, goal)
            if known.radius < 0 or not space.max_swaps:
                return known
            known = yield from self._single_swaps(space, goal, known)
            if known.flip is None and space.max_swaps > 1:
                known = yield from self._attack(space, goal, seed, known)
            if not known.reason:
                order = yield from word_order(space, goal, self.gradients)
                while True:
                    higher = yield from self._raise(space, goal, order, known)
                    if higher is None:
                        return known
                    known = higher
        except Spent as spent:
            return replace(known, reason=spent.reason, spent=True)
        return known

    def _attack(self, space: Space, goal: Goal, seed: Seed, known: Bracketed) -> Search[Bracketed]:
        try:
            flip = yield from self.attack(space, goal, seed)
        except InputError as error:  # such as a space too large to sample: the proof goes on without an upper end
            return replace(known, attack_failed=str(error))
        if flip is None:
            return known
        known = replace(known, flip=flip)
        return replace(known, flip=(yield from put_back(space, goal, flip)))

    def _text_itself(self, space: Space, goal: Goal) -> Search[Bracketed]:
        scores = yield space.origin[None]
        sweep = yield from sweep_stratum(space, goal, space.open, 0)
        known = Bracketed(scores=scores[0])
        if sweep.flip is not None:
            return replace(known, flip=sweep.flip)
        if sweep.tied:
            return replace(known, reason="the text itself is a tie within rounding")
        return replace(known, radius=0, points=1, margin=sweep.margin)

    def _single_swaps(self, space: Space, goal: Goal, known: Bracketed) -> Search[Bracketed]:
        singles = space.singles()
        scores = yield singles  # all of them, not only up to the first flip: which words break a text is worth knowing
        rows = flips(space, goal, singles, scores)
        breakers = tuple(zip(singles.positions[rows].tolist(), singles.choices[rows].tolist(), strict=True))
        known = replace(known, breakers=breakers)
        if len(rows):
            worst = rows[np.argmax(goal.progress(scores[rows]))]
            return replace(known, flip=singles[np.array([worst])].dense()[0])
        sweep = yield from sweep_stratum(space, goal, space.open, 1)
        if sweep.flip is not None or sweep.tied:
            return replace(
                known, flip=sweep.flip, reason="" if sweep.flip is not None else "a tie within rounding at 1 swap"
            )
        return replace(known, radius=1, points=known.points + space.stratum(1), margin=min(known.margin, sweep.margin))

    def _raise(
        self, space: Space, goal: Goal, order: np.ndarray[tuple[int], np.dtype[np.int64]], known: Bracketed
    ) -> Search[Bracketed | None]:
        """What is known after one more stratum; None if it cannot be raised or need not."""
        k = known.radius + 1
        most = space.max_swaps if known.flip is None else int(np.count_nonzero(known.flip)) - 1
        if k > most or known.reason:
            return None
        if known.points + space.stratum(k) > self.max_points:
            return replace(
                known, reason=f"the {space.stratum(k)} texts with {k} swaps exceed max_points={self.max_points}"
            )
        sweep = yield from sweep_stratum(space, goal, order, k)
        if sweep.flip is not None:
            return replace(known, flip=sweep.flip)
        if sweep.tied:
            return replace(known, reason=f"a tie within rounding at {k} swaps")
        return replace(known, radius=k, points=known.points + space.stratum(k), margin=min(known.margin, sweep.margin))
