"""The two searches of EUBA (`euba`) about one text: placements by their estimates, then words by their successes.

A placement (i, w) is written i * V + w.  Each is asked for as text, and the victim decides; placements asked for
together are never more than may still miss before the search stops, so that it asks for none that the paper would not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lexproof.goal import Goal
from lexproof.points import AsText
from lexproof.search import Search, Spent
from lexproof.single_words.first_order import Estimates, Vectors, best_positions, estimated
from lexproof.single_words.flips import NOWHERE, Positions
from lexproof.single_words.placing import Placing

Placements = NDArray[np.signedinteger]

_TOGETHER = 64  # placements asked for at once


@dataclass(frozen=True, slots=True)
class Setting:
    """What the searches of all texts share."""

    vectors: Vectors  # (V, dim)
    patience: int
    variant: str

    @property
    def masked(self) -> bool:
        """Whether estimates are taken with the position masked."""
        return self.variant != "no-mask"


@dataclass(frozen=True, slots=True)
class Found:
    """What a search leaves: where each word flips the text, and where phase 2 should try it.

    `best` is NOWHERE for a word that has missed there already, and None if it is not known.
    """

    position: Positions
    best: Placements | None


def phase_one(placing: Placing, goal: Goal, setting: Setting) -> Search[Found]:
    """Placements in ascending order of their estimates; ties in the order of positions, then of the vocabulary."""
    position = placing.nothing_known()
    best: Positions | None = None
    try:
        estimates = yield from estimated(placing, goal.label, setting.vectors, masked=setting.masked)
        best = best_positions(estimates)
        candidates = _ascending(estimates, best if setting.variant == "top1" else None)
        shape = estimates.shape
        del estimates  # as large as all placements: only their order is kept
        tried = yield from _verify(placing, goal, candidates, position, setting.patience)
    except Spent:
        return Found(position, best)
    missed = np.zeros(shape, np.bool_)
    missed.reshape(-1)[candidates[:tried]] = True
    best[missed[best, np.arange(len(best))]] = NOWHERE
    return Found(
        position, best.astype(np.min_scalar_type(-len(placing.text)))
    )  # kept for all texts: as small as can be


def _ascending(estimates: Estimates, best: Positions | None) -> Placements:
    """Placements that change the text by their estimates: all of them, or each word's at its best position."""
    places = np.arange(estimates.size, dtype=np.int32)
    if best is not None:
        words = np.flatnonzero(best != NOWHERE)
        places = (best[words] * estimates.shape[1] + words).astype(np.int32)
    values = estimates.reshape(-1)[places]
    order = np.argsort(values, kind="stable")
    kept: Placements = places[order[: len(order) - int(np.isposinf(values).sum())]]
    return kept


def phase_two(
    placing: Placing, goal: Goal, setting: Setting, found: Found, ranked: NDArray[np.int64]
) -> Search[Positions]:
    """Words in this order, each at its best position."""
    try:
        best = found.best
        if best is None:
            estimates = yield from estimated(placing, goal.label, setting.vectors, masked=setting.masked)
            best = best_positions(estimates)
            del estimates
        left = ranked[found.position[ranked] == NOWHERE]
        candidates = best[left].astype(np.int64) * len(best) + left
        yield from _verify(placing, goal, candidates, found.position, setting.patience)
    except Spent:
        pass  # what was found so far stands
    return found.position


def _verify(placing: Placing, goal: Goal, candidates: Placements, position: Positions, patience: int) -> Search[int]:
    """Ask for placements i * V + w in order until so many in a row miss; how many were gone through.

    `position` is told the flips.  A word that has flipped the text is passed over.  A word placed NOWHERE is a miss.
    """
    at = misses = 0
    while at < len(candidates) and misses < patience:
        block, at = _next_block(candidates, at, position, min(_TOGETHER, patience - misses))
        places, words = np.divmod(block.astype(np.int32), np.int32(len(position)))
        flips = np.zeros(len(block), np.bool_)
        asked = places != NOWHERE
        if asked.any():
            scores = yield AsText(placing.points(places[asked], words[asked]))
            flips[asked] = goal.reached(scores)
        position[words[flips]] = places[flips]
        hits = np.flatnonzero(flips)
        misses = len(block) - 1 - int(hits[-1]) if len(hits) else misses + len(block)
    return at


def _next_block(candidates: Placements, at: int, position: Positions, size: int) -> tuple[Placements, int]:
    """The next placements that can be asked for together, at most `size`, and where to go on.

    None is of a word that has flipped the text, and no word is there twice: if it flips, its next placement is not due.
    """
    window = candidates[at : at + 4 * _TOGETHER]
    words = window % len(position)
    fresh = np.flatnonzero(position[words] == NOWHERE)
    again = np.ones(len(fresh), np.bool_)
    again[np.unique(words[fresh], return_index=True)[1]] = False
    stop = min(size, int(again.argmax()) if again.any() else len(fresh))
    return window[fresh[:stop]], at + (int(fresh[stop]) if stop < len(fresh) else len(window))
