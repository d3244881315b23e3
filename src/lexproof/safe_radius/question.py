"""How far may words move?  Brackets of the maximal safe radius for index sets of texts, many at once.

    for brackets in radii(victim, [Asked(text, [(0,), (1,)])], Settings(norm=2.0)): ...

The lower end is a proof (`safe_radius.lower`), the upper end a point that was scored by the victim itself before it is
believed: vectors found by descent (`safe_radius.descent`), or other words (`safe_radius.replacements`, `.tree`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from lexproof.answers import Cost
from lexproof.safe_radius.answer import RadiusBracket
from lexproof.safe_radius.block import Block
from lexproof.safe_radius.index_sets import IndexSet
from lexproof.safe_radius.near_words import NearWords
from lexproof.safe_radius.settings import Settings
from lexproof.text import Text
from lexproof.victims.balls import Item
from lexproof.victims.base import Victim

_FIRST, _MOST = 8, 256  # index sets that are bounded together, at first and at most
_SECONDS = 1.0  # that a block should take, so that what is finished is seen


class Asked(NamedTuple):
    """A text and the index sets to ask about."""

    text: Text
    sets: Sequence[IndexSet]


def radii(
    victim: Victim, asked: Sequence[Asked], settings: Settings, progress: Callable[[int], None] = lambda done: None
) -> Iterator[list[RadiusBracket]]:
    """For each text the brackets of its index sets, in order; NoRule for a victim without word vectors.

    Index sets of many texts are bounded together, so many that a block takes about a second; `progress` is told how
    many are done.  With a time limit, which is a text's, a block is a text.
    """
    near = NearWords(victim, settings)
    done, size = 0, _FIRST
    waiting: list[RadiusBracket] = []  # of the texts that are not finished
    items = [Item(own.text, words) for own in asked for words in own.sets]
    counts = [len(own.sets) for own in asked]
    yield from _finished(counts, waiting)
    while items:
        if settings.time_limit is not None:
            size = counts[0]
        block, items = items[:size], items[size:]
        begun = time.perf_counter()
        found = Block(victim, block, settings, near).brackets()
        seconds = time.perf_counter() - begun
        share = Cost(seconds=seconds / len(block))
        waiting += [replace(bracket, cost=bracket.cost + share) for bracket in found]
        done += len(block)
        progress(done)
        size = max(1, min(_MOST, 4 * size, int(len(block) * _SECONDS / max(seconds, 1e-9))))
        yield from _finished(counts, waiting)


def _finished(counts: list[int], waiting: list[RadiusBracket]) -> Iterator[list[RadiusBracket]]:
    """Take off the texts, by their numbers of sets, of which all brackets are there."""
    while counts and counts[0] <= len(waiting):
        count = counts.pop(0)
        own, waiting[:count] = waiting[:count], []
        yield own
