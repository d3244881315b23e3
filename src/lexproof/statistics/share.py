"""The share of a space that flips: exact by enumeration or by counting, or estimated from uniform samples.

PR of the PDP paper (eq. 6) is 1 minus this share.  A point counts as a flip as the victim decides it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lexproof.answers import Share
from lexproof.certify.enumeration import stratum
from lexproof.errors import InputError
from lexproof.goal import Goal
from lexproof.points import IntArray, dense
from lexproof.search import Search, Spent
from lexproof.space import Space
from lexproof.statistics.guarantee import Drawn, Guarantee
from lexproof.victims.base import Victim

_SLICE = 512  # points of an enumeration that may be cut short and keeps what it has seen


@dataclass(frozen=True, slots=True)
class Tally:
    """`flips` of `n` points; all points of the space if `exact`.

    Otherwise n uniform draws and the `ends` of the interval they gave, or, if some points are `unseen`, all but those.
    """

    flips: int
    n: int
    exact: bool
    unseen: int = 0
    ends: tuple[float, float] = (0.0, 1.0)


@dataclass(slots=True)
class Seen:
    """What an enumeration has seen so far: `flips` of `n` points that the space accepts, of `scored` ones."""

    flips: int = 0
    n: int = 0
    scored: int = 0


Attempt = Callable[[], Search[Tally | None]]
"""A way to count exactly that may give up."""


def count_all(space: Space, goal: Goal) -> Search[Tally]:
    """Score every point of the space."""
    seen = Seen()
    for k in range(space.max_swaps + 1):
        yield from enumerate_stratum(space, goal, k, seen)
    return Tally(seen.flips, seen.n, exact=True)


def count_until_spent(space: Space, goal: Goal) -> Search[Tally]:
    """Score every point of the space, or as many as the budget allows: what is unseen may flip or not."""
    seen = Seen()
    try:
        for k in range(space.max_swaps + 1):
            yield from enumerate_stratum(space, goal, k, seen, _SLICE)
    except Spent:
        if not seen.n:
            raise
        return Tally(seen.flips, seen.n, exact=False, unseen=space.size - seen.scored)
    return Tally(seen.flips, seen.n, exact=True)


def enumerate_stratum(space: Space, goal: Goal, k: int, seen: Seen, most: int | None = None) -> Search[None]:
    """Score every point with exactly k swaps, at most so many a request."""
    goal = goal.strict
    for batch in stratum(space, space.open, k):
        for start in range(0, len(batch), most or len(batch)):
            request = batch[start : start + (most or len(batch))]
            reached = goal.reached((yield request))
            accepted = space.accepts(dense(request)) if space.predicate is not None else np.ones(len(reached), np.bool_)
            seen.flips += int((reached & accepted).sum())
            seen.n += int(accepted.sum())
            seen.scored += len(reached)


def count_or_sample(
    space: Space, goal: Goal, rng: np.random.Generator, most: int, guarantee: Guarantee, attempt: Attempt | None = None
) -> Search[Tally]:
    """All points if there are at most `most`, else draws until the guarantee is met: never more than so many queries.

    An `attempt` to count exactly is made if the first draws show no flip, and costs what it costs beside them.  Draws
    for an anytime interval that are cut short are kept; those for a fixed number are worth nothing before the last.
    """
    if space.is_within(most):
        return (yield from (count_until_spent if guarantee.is_anytime else count_all)(space, goal))
    drawn, is_met = Drawn(), False
    try:
        while drawn.n < most and not is_met:
            count = min(guarantee.next_batch(drawn.n), most - drawn.n)
            scores = yield draws(space, rng, count)
            is_met = drawn.add(int(goal.strict.reached(scores).sum()), count, guarantee)
            if drawn.n == count and not drawn.flips and attempt is not None:
                exact = yield from attempt()
                if exact is not None:
                    return exact
    except Spent:
        if not guarantee.is_anytime or not drawn.n:
            raise
    return sampled(drawn, guarantee)


def draws(space: Space, rng: np.random.Generator, count: int, swaps: int | None = None) -> IntArray:
    """Independent uniform draws; Spent where the space does not allow them: this text's trouble, not the run's."""
    try:
        return space.sample(rng, count, swaps)
    except InputError as error:
        raise Spent(str(error)) from error


def sampled(drawn: Drawn, guarantee: Guarantee) -> Tally:
    """The draws as a tally."""
    return Tally(drawn.flips, drawn.n, exact=False, ends=drawn.ends(guarantee))


def exact_flips(victim: Victim, space: Space, goal: Goal, points: int, nodes: int) -> Search[list[int] | None]:
    """The flips of the space by number of swaps, counted by bounds within these limits; None if it cannot be."""
    if not points or not nodes or victim.kind not in ("mlp", "cnn", "lstm", "bilstm"):
        return None
    from lexproof.statistics.counted import flips_by_swaps  # needs torch, as these victims do

    return (yield from flips_by_swaps(victim, space, goal, max_points=points, max_nodes=nodes))


def share_of(tally: Tally, guarantee: Guarantee, radius: int, seed: int) -> Share:
    """The tally as a share with the interval that it warrants."""
    value = tally.flips / tally.n if tally.n else 0.0
    low = high = value
    method, confidence, seeded = "exact", 1.0, None
    if tally.unseen:
        # each of the unseen points may be a text of the space or not, and flip or not
        low = tally.flips / (tally.n + tally.unseen)
        high = (tally.flips + tally.unseen) / (tally.n + tally.unseen)
        value = value if tally.n else (low + high) / 2  # nothing was seen, and nothing is said
        method = "partial"
    elif not tally.exact:
        low, high = tally.ends
        value = min(max(value, low), high)  # earlier looks may have ruled the last estimate out
        method, confidence, seeded = guarantee.interval, guarantee.confidence, seed
    return Share(
        value=value,
        low=low,
        high=high,
        confidence=confidence,
        n=tally.n,
        flips=tally.flips,
        method=method,
        radius=radius,
        seed=seeded,
        threshold=guarantee.threshold,
        settled=guarantee.settled(low, high),
    )
