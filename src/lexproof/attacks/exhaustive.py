"""Exhaustive search: every text of the space by number of swaps, until the first flip.

Guarantee: a flip has the fewest swaps that any flip has.  That none is found proves nothing by itself: the space may be
larger than `max_points`, and texts within rounding of a tie are not flips (`prove` gives certificates).

The cost is that of the enumeration prover (`certify.enumeration`), whose strata it scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lexproof.attacks.base import Hunt
from lexproof.certify.enumeration import sweep_stratum
from lexproof.errors import InputError
from lexproof.goal import Goal
from lexproof.search import Seed
from lexproof.space import Space


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhaustive:
    """At most `max_points` texts: numbers of swaps of which not all texts fit any more are left out."""

    max_points: int = 100_000
    needs_gradients: ClassVar[bool] = False
    needs_scores: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.max_points < 1:
            raise InputError(f"expected max_points >= 1, got {self.max_points}")

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """Deterministic: `seed` is not used."""
        del seed
        points = 1  # the text itself, of which `find` knows that it is no flip
        for k in range(1, space.max_swaps + 1):
            points += space.stratum(k)
            if points > self.max_points:
                return None
            sweep = yield from sweep_stratum(space, goal, space.open, k)
            if sweep.flip is not None:
                return sweep.flip
        return None
