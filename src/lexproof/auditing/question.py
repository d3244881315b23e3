"""The audit's question about one text: bracket and share in one search, so that both use the same merged batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from lexproof.answers import Bracket, Minimum, Share
from lexproof.auditing.settings import Settings
from lexproof.certify.bracket import Bracketed
from lexproof.counting import Count
from lexproof.engine import Limits, Outcome
from lexproof.errors import InputError
from lexproof.evidence import Witness
from lexproof.goal import Goal
from lexproof.points import FloatArray, IntArray
from lexproof.questions import Minimize
from lexproof.search import Search, Spent
from lexproof.space import Change, Space
from lexproof.statistics.share import Tally
from lexproof.victims.base import Victim

MOST_COUNTED_SWAPS = 300
"""Beyond this the size of a space takes long to find, and is a number that nobody reads."""


@dataclass(frozen=True, slots=True)
class Finding:
    """All that an audit says of one text."""

    bracket: Minimum | Bracket
    share: Share | None
    breakers: tuple[Change, ...]
    scores: FloatArray | None


@dataclass(frozen=True, slots=True)
class Examine:
    """Bracket the minimum number of swaps, then count the share of the space that flips."""

    settings: Settings

    @property
    def limits(self) -> Limits:
        """Budget of one text."""
        return Limits(self.settings.max_queries, self.settings.time_limit)

    @property
    def _minimize(self) -> Minimize:
        settings = self.settings
        return Minimize(
            attack=settings.attack,
            provers=settings.provers,
            max_points=settings.max_points,
            max_nodes=settings.max_nodes,
            record=False,
            seed=settings.seed,
        )

    @property
    def _count(self) -> Count:
        settings = self.settings
        return Count(samples=settings.draws, confidence=settings.confidence, seed=settings.seed)

    def search(self, victim: Victim, space: Space, goal: Goal) -> Search[tuple[Bracketed, Tally | None]]:
        """The bracket first; a text that is misclassified or out of budget is not counted."""
        known = yield from self._minimize.search(victim, space, goal)
        if known.spent or known.radius < 0 or not self.settings.draws:
            return known, None
        if known.is_proven(space) and space.predicate is None:  # no text flips
            is_counted = space.max_swaps <= MOST_COUNTED_SWAPS
            return known, Tally(0, space.size, exact=True) if is_counted else None
        try:
            return known, (yield from self._count.search(victim, space, goal))
        except Spent as spent:
            known.ledger.reason = known.ledger.reason or spent.reason
        except InputError as error:  # a space too large to sample: the bracket stands without a share
            known.ledger.reason = known.ledger.reason or str(error)
        return known, None

    def flip(self, outcome: Outcome) -> IntArray | None:
        """The witness of the bracket's upper end."""
        return self._minimize.flip(replace(outcome, claim=outcome.claim[0]))

    def answer(self, victim: Victim, space: Space, outcome: Outcome, witness: Witness | None) -> Finding:
        """Both answers, checked."""
        known, tally = outcome.claim
        bracket = self._minimize.answer(victim, space, replace(outcome, claim=known), witness)
        share: Any = None
        if tally is not None:
            share = self._count.answer(victim, space, replace(outcome, claim=tally), None)
        breakers = tuple(
            Change(position, space.original.words[position], space.choices[position][choice - 1])
            for position, choice in known.breakers
        )
        return Finding(bracket, share, breakers, known.scores)
