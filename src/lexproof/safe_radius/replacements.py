"""The nearest word of the vocabulary that changes the class, for each word of a text: every word is tried.

Guarantee: a replacement reported changes the class as text; with all words tried and no filter, none that does is
nearer, up to the victim's rounding.  Only words of one token are replaced, by words of one token: the distance of
others is not defined.

The MSR paper draws a thousand of the nearest words by chance for each word and keeps what its tagger calls
syntactically coherent.  Here all of them are scored, by what a single token changes; the part of speech is looked up
for those that change the class, nearest first, which comes to the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lexproof.candidates.base import match_case
from lexproof.candidates.filters import SamePartOfSpeech
from lexproof.points import FloatArray
from lexproof.safe_radius.answer import WordFlip
from lexproof.safe_radius.vocabulary import Words, words_of
from lexproof.space import Change
from lexproof.text import Text
from lexproof.victims.balls import Item, scale_of, tokens_of
from lexproof.victims.base import Victim

if TYPE_CHECKING:
    from lexproof.victims.open_tokens import OpenTokens
    from lexproof.victims.word_swaps import TokenSwaps

_ROWS = 1 << 14  # texts scored at once


class Replaced(NamedTuple):
    """What replacing one word does: the nearest flip, if any, how many words change the class, and how many were tried.

    `flips` counts words that pass the filter, as the network scores them.
    """

    nearest: WordFlip | None
    flips: int
    tried: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacements:
    """How to look: the `neighbors` nearest words only, None for all; of the `same_part_of_speech` as the word or any.

    Where the part of speech of the word itself is not known, as of function words, all pass.
    """

    norm: float = 2.0
    neighbors: int | None = None
    same_part_of_speech: bool = True

    def of(self, victim: Victim, text: Text, words: Sequence[int], known: Words | None = None) -> list[Replaced]:
        """What replacing each of these words does; NoRule for a victim without word vectors.

        `known` are the victim's words, where they have been looked up before.
        """
        known = words_of(victim, scale_of(victim)) if known is None else known
        label = int(victim.predict([text.input])[0])
        return [_Search(self, victim, known, text, word, label).run() for word in words]


@dataclass(frozen=True, slots=True)
class _Search:
    """One word of a text."""

    how: Replacements
    victim: Victim
    known: Words
    text: Text
    word: int
    label: int

    def run(self) -> Replaced:
        tokens = tokens_of(self.victim, Item(self.text, (self.word,)))
        order, far = self.known.nearest(tokens, self.how.norm, self.how.neighbors)
        scores = token_scores(self.victim, tokens, self.known.ids[order])
        flips = order[scores.argmax(axis=1) != self.label]
        if self.how.same_part_of_speech:
            options = tuple(self.known.words[k] for k in flips)
            kept = set(SamePartOfSpeech().keep(self.text.words[self.word].lower(), options))
            flips = np.array([k for k in flips if self.known.words[k] in kept], np.int64)
        return Replaced(self._nearest(tokens, flips, far), len(flips), len(order))

    def _nearest(self, tokens: OpenTokens, flips: NDArray[np.int64], far: FloatArray) -> WordFlip | None:
        """The first of these that changes the class as text, and no token but its own."""
        for k in flips.tolist():
            for new in match_case(self.text.words[self.word], (self.known.words[k],)):
                text = self.text.swap({self.word: new})
                predicted = int(self.victim.predict([text.input])[0])
                wanted = tokens.ids.copy()
                wanted[tokens.places] = self.known.ids[k]
                if predicted != self.label and np.array_equal(tokens_of(self.victim, Item(text, ())).ids, wanted):
                    change = Change(self.word, self.text.words[self.word], new)
                    return WordFlip(text=str(text), changed=(change,), distance=float(far[k]), predicted=predicted)
        return None


def token_scores(victim: Victim, tokens: OpenTokens, ids: NDArray[np.int64]) -> FloatArray:
    """The scores of a text with each of these tokens in the place of its only open one: (B, classes)."""
    from lexproof.victims.words import WordVictim

    parts = [ids[start : start + _ROWS] for start in range(0, len(ids), _ROWS)]
    if isinstance(victim, WordVictim):
        found = [victim.swapped(_swaps(tokens, part)) for part in parts]
    else:
        found = [_transformer_scores(victim, tokens, part) for part in parts]
    return np.concatenate([np.empty((0, victim.classes)), *found])


def _swaps(tokens: OpenTokens, ids: NDArray[np.int64]) -> TokenSwaps:
    from lexproof.victims.word_rows import Rows
    from lexproof.victims.word_swaps import TokenSwaps

    count = len(ids)
    base, places = np.zeros(count, np.int64), np.full(count, tokens.places[0], np.int64)
    return TokenSwaps(Rows.of([tokens.ids.tolist()]), base, places, ids.astype(np.int32), np.zeros(count, bool))


def _transformer_scores(victim: Victim, tokens: OpenTokens, ids: NDArray[np.int64]) -> FloatArray:
    from lexproof.victims.transformer_encoding import Row

    rows = []
    for number in ids.tolist():
        own = tokens.ids.copy()
        own[tokens.places[0]] = number
        rows.append(Row(own.tolist(), tokens.types.tolist()))
    return victim.forward(rows)
