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

    `places` is empty if no token of the words is read: then no replacement changes the scores.
    `types` are the segments of a transformer's tokens, 0 for a word model.
    """

    ids: Index  # (L,)
    places: Index  # (K,)
    types: Index  # (L,)


def untouched(text: Text) -> Space:
    """The text without any substitutes: what a victim binds to learn where its words are."""
    return Space(text, [()] * len(text), 0)


def word_model_tokens(victim: WordVictim, text: Text, words: Sequence[int]) -> OpenTokens:
    """The tokens of these words of a text; a word may be several tokens, or none that is read."""
    space = untouched(text)
    layout = victim.bind(space).layout(space.origin[None])
    ids = layout.rows.ids[: layout.rows.lengths[0]].astype(np.int64)
    open_ = {at for word in words for at in range(layout.starts[0, word], layout.ends[0, word]) if at < len(ids)}
    return OpenTokens(ids, np.array(sorted(open_), np.int64), np.zeros(len(ids), np.int64))
