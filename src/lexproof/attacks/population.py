"""What searches with a population share: a whole generation mutated in one request, and kept within the limit.

A mutation picks a word of a text and takes the substitute that comes nearest to the goal, or leaves the text as it is
if none improves on it.  A text that already has all the swaps allowed first gives up one of them, drawn at random, to
make room; the text as it was stays in the choice.

Guarantee: every text asked for lies within the limit on swaps, and no mutation makes a text worse.  With a predicate,
the best text that it accepts is taken, so that all members of a population are texts of the space.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lexproof.attacks.base import best_flip, point_of
from lexproof.goal import Goal
from lexproof.points import BoolArray, FloatArray, IntArray, Swaps, dense
from lexproof.search import Search
from lexproof.space import Space

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Brood:
    """Texts with their progress towards the goal; `flip` is a text that reached it."""

    texts: IntArray  # (m, n)
    harm: FloatArray  # (m,)
    flip: IntArray | None = None


@dataclass(frozen=True, slots=True)
class _Trials:
    """What a mutation tries: for each text itself, then single swaps; `pair` numbers (text, word), -1 for itself."""

    request: Swaps
    owner: Rows
    pair: Rows


def mutate(
    space: Space,
    goal: Goal,
    rng: np.random.Generator,
    texts: IntArray,
    before: Brood,
    *,
    mutating: BoolArray,
    weights: FloatArray | None,
    again: bool = False,
) -> Search[Brood]:
    """The texts after the mutation of those in `mutating`, all asked for at once.

    `weights`, one a word: the word is drawn in proportion to them among those not swapped (with `again`: among all).
    None: in proportion to the gain of the best substitute of each word, which takes all substitutes of all words.
    A text of which the predicate accepts no form is replaced by its counterpart in `before`.
    """
    who = np.flatnonzero(mutating)
    bases = keep_to(rng, texts[who], space.max_swaps - 1, only=np.count_nonzero(texts[who], axis=1) == space.max_swaps)
    free = (space.sizes > 0) & ((bases == 0) | again)
    if weights is None:
        owners, positions = np.nonzero(free)
    else:
        owners, positions = np.arange(len(who)), draw(rng, free * weights)
    trials = _trials(space, texts, bases, who, owners, positions, first=0 if again else 1)
    scores = yield trials.request
    row = best_flip(space, goal, trials.request, scores)
    if row is not None:
        return Brood(texts, before.harm, point_of(trials.request, row))
    harm = goal.progress(scores)
    rows = np.arange(len(harm)) if weights is not None else _by_gain(rng, trials, harm, who[owners], len(texts))
    best = _best(space, trials.request[rows], harm[rows], trials.owner[rows], len(texts))
    kept, taken = best >= 0, rows[best]
    grown = np.where(kept[:, None], trials.request[taken].dense(), before.texts)
    return Brood(grown.astype(np.int32), np.where(kept, harm[taken], before.harm))


def keep_to(rng: np.random.Generator, texts: IntArray, limit: int, only: BoolArray | None = None) -> IntArray:
    """Texts with at most `limit` swaps: those with more (out of `only`) lose random ones."""
    excess = np.count_nonzero(texts, axis=1) - limit
    if only is not None:
        excess = np.where(only, excess, 0)
    if not (excess > 0).any():
        return texts
    lots = np.where(texts != 0, rng.random(texts.shape), np.inf)
    rank = lots.argsort(axis=1).argsort(axis=1)
    return np.where(rank < excess[:, None], 0, texts).astype(np.int32)


def draw(rng: np.random.Generator, weights: FloatArray) -> Rows:
    """One column a row, in proportion to the weights of that row; each row has a positive weight."""
    ends = np.cumsum(weights, axis=1, dtype=np.float64)
    totals = ends[:, -1] if ends.shape[1] else np.zeros(len(ends))
    lots = np.minimum(rng.random(len(ends)) * totals, np.nextafter(totals, 0.0))  # rounding must not reach the end
    return np.asarray((ends > lots[:, None]).argmax(axis=1), np.int64)


def _trials(
    space: Space, texts: IntArray, bases: IntArray, who: Rows, owners: Rows, positions: Rows, first: int
) -> _Trials:
    """Each text itself, then choices `first`, … of word positions[p] of bases[owners[p]] for every p."""
    counts = space.sizes[positions] + 1 - first
    pair = np.repeat(np.arange(len(positions)), counts)
    starts = np.cumsum(counts) - counts
    choices = np.concatenate([texts[:, 0], np.arange(len(pair)) - starts[pair] + first])
    itself = np.arange(len(texts))
    request = Swaps(
        np.concatenate([texts, bases]),
        np.concatenate([itself, len(texts) + owners[pair]]).astype(np.int32),
        np.concatenate([np.zeros_like(itself), positions[pair]]).astype(np.int32),
        choices.astype(np.int32),
    )
    owner = np.concatenate([itself, who[owners[pair]]])
    return _Trials(request, owner, np.concatenate([np.full(len(texts), -1), pair]))


def _by_gain(rng: np.random.Generator, trials: _Trials, harm: FloatArray, pair_owner: Rows, count: int) -> Rows:
    """The rows of each text itself and of one word of it, drawn in proportion to the best gain of each word."""
    if not len(pair_owner):
        return np.arange(len(harm))
    swaps = trials.pair >= 0
    starts = np.searchsorted(trials.pair[swaps], np.arange(len(pair_owner)))
    gains = np.maximum.reduceat(harm[swaps], starts) - harm[pair_owner]
    weights = np.zeros((count, len(pair_owner)))
    weights[pair_owner, np.arange(len(pair_owner))] = np.maximum(gains, 0.0)
    drawn = draw(rng, weights)
    helped = weights.max(axis=1) > 0
    return np.flatnonzero(~swaps | (helped[trials.owner] & (trials.pair == drawn[trials.owner])))


def _best(space: Space, request: Swaps, harm: FloatArray, owner: Rows, count: int) -> Rows:
    """The best row of each owner (the first of equals) that the predicate accepts, -1 if there is none.

    The predicate is asked in rounds, about the next best text of all who still have none.
    """
    order = np.lexsort((-harm, owner))
    starts = np.searchsorted(owner[order], np.arange(count))
    if space.predicate is None:
        return order[starts]
    ends = np.append(starts[1:], len(order))
    best, waiting, rank = np.full(count, -1), np.arange(count), 0
    while len(waiting):
        rows = order[starts[waiting] + rank]
        accepted = space.accepts(dense(request[rows]))
        best[waiting[accepted]] = rows[accepted]
        rank += 1
        waiting = waiting[~accepted]
        waiting = waiting[starts[waiting] + rank < ends[waiting]]
    return best
