"""A bound space as single-token swaps: what provers of word models look at.

Guarantee: if `token_candidates` returns, the tokens of every point of the space are those of the original text with the
tokens of its swaps put in, one for one; swaps that are left out change no token that is read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lexproof.errors import NoRule
from lexproof.victims.word_space import WordBound

Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TokenCandidates:
    """Swap s sets word `word[s]` to its substitute `choice[s]`: token `at[s]` of `ids` becomes `token[s]`."""

    ids: Index  # (L,) of the original text, as far as it is read
    word: Index
    choice: Index
    at: Index
    token: Index

    def __len__(self) -> int:
        return len(self.word)


def token_candidates(bound: WordBound) -> TokenCandidates:
    """All swaps that change a token; NoRule if one does not stand for a single token like the word it replaces."""
    if not bound.is_local:
        raise NoRule("no bound rule for words that run together with their neighbors in this text")
    columns, space = bound.columns, bound.space
    word = np.repeat(np.arange(space.n), space.sizes)
    choice = np.arange(len(word)) - np.repeat(np.cumsum(space.sizes) - space.sizes, space.sizes) + 1
    token = columns.token[columns.first[word] + choice].astype(np.int64)
    old = columns.token[columns.first[word]].astype(np.int64)
    at = columns.start[word]
    read = at < len(columns.ids)
    odd = np.flatnonzero(read & ((token < 0) | (old < 0)))
    if len(odd):
        i, substitute = int(word[odd[0]]), space.choices[word[odd[0]]][choice[odd[0]] - 1]
        raise NoRule(
            f"no bound rule for the substitute {substitute!r} of word {i}, {space.original.words[i]!r}: "
            "expected one token for one token"
        )
    kept = read & (token != old)
    return TokenCandidates(columns.ids.astype(np.int64), word[kept], choice[kept], at[kept], token[kept])
