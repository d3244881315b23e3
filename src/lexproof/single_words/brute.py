"""Brute force: which words flip a text, by scoring every word at every position as text.  For any victim.

Guarantee: a row is exact unless its budget ran out.  A word is known to flip the text only if the victim decided so on
that very text, and is not possible only if the victim decided otherwise at every position; what floating point could
move is decided as the victim decides it.  Costs up to n · V queries a text; a word that has flipped is not tried again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lexproof.goal import Goal
from lexproof.points import AsText
from lexproof.running import Limits
from lexproof.search import Search, Spent
from lexproof.single_words.flips import NOWHERE, Positions, TextFlips
from lexproof.single_words.placing import Placing, Placings, Progress, untold
from lexproof.text import Text
from lexproof.victims.base import Victim

_TOGETHER = 512  # texts asked for at once
_NO_LIMITS = Limits()


def brute(
    victim: Victim,
    texts: Sequence[Text],
    labels: Sequence[int],
    words: Sequence[str],
    *,
    limits: Limits = _NO_LIMITS,
    progress: Progress | None = None,
) -> Iterator[tuple[int, TextFlips]]:
    """The rows of correctly classified texts, each with its index, as they are finished; `limits` are those of a text.

    Of a text that is classified otherwise every word would count as a flip: leave it out.
    """
    return _rows(Placings(victim, texts, labels, words), limits, progress or untold)


def _rows(placings: Placings, limits: Limits, progress: Progress) -> Iterator[tuple[int, TextFlips]]:
    empty = placings.without_words()
    yield from empty.items()
    open_texts = [at for at in range(len(placings.texts)) if at not in empty]

    def search(at: int, placing: Placing) -> Search[Positions]:
        return _search(placing, placings.goals[at])

    for done, (at, outcome) in enumerate(placings.run(open_texts, search, lambda at: limits), 1):
        progress("brute force", done, len(open_texts))
        position: Positions = outcome.claim
        known = position != NOWHERE
        possible = known | placings[at].changes if outcome.stopped else known
        yield at, TextFlips(outcome.goal.label, position, possible, outcome.cost)


def _search(placing: Placing, goal: Goal) -> Search[Positions]:
    """Position by position, all words that have not flipped the text yet."""
    position = placing.nothing_known()
    try:
        for i, own in enumerate(placing.own.tolist()):
            left = np.flatnonzero(position == NOWHERE).astype(np.int32)
            left = left[left != own]
            for start in range(0, len(left), _TOGETHER):
                words = left[start : start + _TOGETHER]
                scores = yield AsText(placing.points(np.full(len(words), i, np.int32), words))
                position[words[goal.reached(scores)]] = i
    except Spent:
        pass  # what is not known stays possible
    return position
