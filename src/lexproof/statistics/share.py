"""The share of a space that flips: exact by enumeration, or estimated from uniform samples.

PR of the PDP paper (eq. 6) is 1 minus this share.  A point counts as a flip as the victim decides it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lexproof.certify.enumeration import stratum
from lexproof.goal import Goal
from lexproof.points import dense
from lexproof.search import Search
from lexproof.space import Space

_BATCH = 1024


@dataclass(frozen=True, slots=True)
class Tally:
    """`flips` of `n` points; all points of the space if `exact`."""

    flips: int
    n: int
    exact: bool


def count_all(space: Space, goal: Goal) -> Search[Tally]:
    """Score every point of the space."""
    goal = goal.strict
    flipped = total = 0
    for k in range(space.max_swaps + 1):
        for request in stratum(space, space.open, k):
            scores = yield request
            reached = goal.reached(scores)
            if space.predicate is not None:
                accepted = space.accepts(dense(request))
                reached, total = reached & accepted, total + int(accepted.sum())
            else:
                total += len(reached)
            flipped += int(reached.sum())
    return Tally(flipped, total, exact=True)


def sample(space: Space, goal: Goal, rng: np.random.Generator, n: int) -> Search[Tally]:
    """Score n independent, exactly uniform draws."""
    goal = goal.strict
    flipped = 0
    for start in range(0, n, _BATCH):
        scores = yield space.sample(rng, min(_BATCH, n - start))
        flipped += int(goal.reached(scores).sum())
    return Tally(flipped, n, exact=False)


def count_or_sample(space: Space, goal: Goal, rng: np.random.Generator, n: int) -> Search[Tally]:
    """All points if there are at most n, else n samples: never more work than n queries."""
    if space.is_within(n):
        return (yield from count_all(space, goal))
    return (yield from sample(space, goal, rng, n))
