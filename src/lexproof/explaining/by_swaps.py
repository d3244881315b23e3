"""Saliency by exact single swaps: how far the best substitute of each word alone lowers the label's score.

Guarantee: every substitute that the space allows was tried, and the one reported was scored again as text; no other
lowers the score further by more than the victim's rounding and a 2^-16th part of the score, within which the first
counts.
"""

from __future__ import annotations

import numpy as np

from lexproof.explaining.asked import Asked
from lexproof.explaining.explanation import Saliency, WorstSwap
from lexproof.goal import steady
from lexproof.points import IntArray, Swaps


def by_swaps(asked: Asked) -> Saliency:
    """The largest drop of each word, None for a word that cannot be swapped."""
    space, victim = asked.space, asked.victim
    details: list[WorstSwap | None] = [None] * space.n
    singles = space.singles(positions=() if not space.max_swaps else None)
    points = _worst(asked, singles)
    scores = victim.scores(space.render(points)) if len(points) else ()
    is_read = int(asked.scores.argmax()) == asked.label
    for point, after in zip(points, scores, strict=True):
        (change,) = space.changes(point)
        score = float(after[asked.label])
        flips = is_read and int(after.argmax()) != asked.label
        details[change.position] = WorstSwap(substitute=change.new, drop=asked.score - score, score=score, flips=flips)
    return Saliency(
        method="swaps",
        values=tuple(None if own is None else own.drop for own in details),
        details=tuple(details),
        queries=len(singles) + len(points),
    )


def _worst(asked: Asked, singles: Swaps) -> IntArray:
    """Of each word the swap after which the label's score is least, the first of equals: (words, n)."""
    scores = asked.scored(singles)[:, asked.label]
    if asked.space.predicate is not None:
        scores = np.where(asked.space.accepts(singles), scores, np.inf)
    order = np.lexsort((steady(scores), singles.positions))
    _, first = np.unique(singles.positions[order], return_index=True)
    best = order[first]
    return singles[best[np.isfinite(scores[best])]].dense()
