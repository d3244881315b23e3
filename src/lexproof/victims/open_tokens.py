"""The tokens of chosen words of a text: what moves in a ball of embedding space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lexproof.space import Space
from lexproof.text import Text
from lexproof.victims.words import WordVictim

Index = NDArray[np.int64]


class OpenTokens(NamedTuple):
    """A text as the victim reads it, and the places of its open tokens, in ascending order.

    `missing` are words that leave no token although they stand where the victim reads, or may: a replacement would be
    read, but there is nothing that could move.  Any other word without a token is past what is read: no replacement of
    it changes the scores.  `types` are the segments of a transformer's tokens, 0 for a word model.
    """

    ids: Index  # (L,)
    places: Index  # (K,)
    types: Index  # (L,)
    missing: tuple[int, ...] = ()


def untouched(text: Text) -> Space:
    """The text without any substitutes: what a victim binds to learn where its words are."""
    return Space(text, [()] * len(text), 0)


def word_model_tokens(victim: WordVictim, text: Text, words: Sequence[int]) -> OpenTokens:
    """The tokens of these words of a text; a word may be several tokens, or none that is read."""
    space = untouched(text)
    layout = victim.bind(space).layout(space.origin[None])
    ids = layout.rows.ids[: layout.rows.lengths[0]].astype(np.int64)
    runs = {word: range(layout.starts[0, word], min(layout.ends[0, word], len(ids))) for word in words}
    open_ = sorted({at for run in runs.values() for at in run})
    limit = victim.settings.max_length
    missing = [word for word, run in runs.items() if not run and layout.starts[0, first_of_run(text, word)] < limit]
    return OpenTokens(ids, np.array(open_, np.int64), np.zeros(len(ids), np.int64), tuple(missing))


def first_of_run(text: Text, word: int) -> int:
    """The first of the words that are written together with this one, without white space: they may share tokens."""
    while word and not any(character.isspace() for character in text.gaps[word]):
        word -= 1
    return word
