"""Brackets: an attack from above and provers from below, meeting at the minimum number of swaps.

Guarantee: `Bracketed.radius` = r says that no text with at most r swaps is a flip (see `cascade`), so the minimum
is at least r + 1; `flip` is a text that is one.  If it has r + 1 swaps, that is the minimum.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lexproof.attacks.base import Attack, put_back
from lexproof.certify.cascade import UNDECIDED, Cascade, settle_text
from lexproof.certify.enumeration import judge
from lexproof.certify.ledger import Ledger
from lexproof.errors import InputError
from lexproof.goal import Goal
from lexproof.points import FloatArray
from lexproof.search import Search, Seed, Spent, flips
from lexproof.space import Space


@dataclass(slots=True)
class Bracketed:
    """What is known of the minimum number of swaps, and why no more is known."""

    ledger: Ledger = field(default_factory=Ledger)
    breakers: tuple[tuple[int, int], ...] = ()  # (position, choice) of single swaps that flip
    scores: FloatArray | None = None  # of the original text
    spent: bool = False

    @property
    def radius(self) -> int:
        """No text with so many swaps or fewer is a flip."""
        return self.ledger.radius

    def is_proven(self, space: Space) -> bool:
        """Whether the whole space holds no flip."""
        return self.ledger.flip is None and self.radius >= space.max_swaps


@dataclass(frozen=True, slots=True, kw_only=True)
class BracketSearch:
    """One stratum of single swaps in full, then the attack, then the provers up to what the attack found.

    Single swaps are always scored, all of them: which words break a text is worth knowing.
    """

    attack: Attack
    provers: Cascade

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Search[Bracketed]:
        """The search; its claim is a Bracketed, also when its budget is spent halfway."""
        known = Bracketed()
        try:
            yield from self._bracket(space, goal, seed, known)
        except Spent as spent:
            known.ledger.reason, known.spent = spent.reason, True
        return known

    def _bracket(self, space: Space, goal: Goal, seed: Seed, known: Bracketed) -> Search[None]:
        ledger = known.ledger
        known.scores = yield from settle_text(space, goal, ledger)
        if ledger.radius < 0 or not space.max_swaps:
            return
        yield from self._single_swaps(space, goal, known)
        if ledger.flip is not None or space.max_swaps == 1:
            return
        failed = yield from self._attack(space, goal, seed, ledger)
        upto = space.max_swaps if ledger.swaps is None else ledger.swaps - 1
        if 1 <= ledger.radius < upto:  # a tie at 1 swap leaves it at 0, and nothing beyond can be proven
            yield from self.provers(space, goal, ledger, upto)
        if not ledger.is_settled(upto):
            ledger.reason = self.provers.why(ledger.reason) or failed or UNDECIDED

    def _attack(self, space: Space, goal: Goal, seed: Seed, ledger: Ledger) -> Search[str]:
        try:
            flip = yield from self.attack(space, goal, seed)
        except InputError as error:  # such as a space too large to sample: the proof goes on without an upper end
            return str(error)
        if flip is not None:
            ledger.found(flip)
            ledger.found((yield from put_back(space, goal, flip)))
        return ""

    def _single_swaps(self, space: Space, goal: Goal, known: Bracketed) -> Search[None]:
        ledger, singles = known.ledger, space.singles()
        scores = yield singles
        rows = flips(space, goal, singles, scores)
        known.breakers = tuple(zip(singles.positions[rows].tolist(), singles.choices[rows].tolist(), strict=True))
        if len(rows):
            worst = rows[np.argmax(goal.progress(scores[rows]))]
            ledger.found(singles[np.array([worst])].dense()[0])
            return
        sweep = yield from judge(space, goal, singles, scores)
        if sweep.flip is not None:
            ledger.found(sweep.flip)
        elif sweep.tied:
            ledger.reason = "a tie within rounding at 1 swap"
        else:
            ledger.enumerated(1, space.stratum(1), sweep.margin)
