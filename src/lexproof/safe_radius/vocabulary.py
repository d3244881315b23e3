"""The words that may stand in the place of a word, with their vectors in scaled coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lexproof.errors import NoRule
from lexproof.points import FloatArray
from lexproof.text import Text
from lexproof.victims.base import Victim

if TYPE_CHECKING:
    from lexproof.victims.open_tokens import OpenTokens
    from lexproof.victims.scale import Scale


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """All words of one token that a victim knows: `words[k]` is token `ids[k]` at `vectors[k]`."""

    words: tuple[str, ...]
    ids: NDArray[np.int64]
    vectors: FloatArray  # (V, d)
    table: FloatArray  # (tokens, d), those of all tokens, words or not

    def nearest(
        self, tokens: OpenTokens, norm: float, count: int | None = None
    ) -> tuple[NDArray[np.int64], FloatArray]:
        """The numbers of the words nearest to the only open token, nearest first, and how far each word is.

        None if several tokens are open, or none is.  A word does not replace itself.
        """
        at = tokens.ids[tokens.places]
        if len(at) != 1:
            return np.empty(0, np.int64), np.full(len(self.ids), np.inf)
        far: FloatArray = np.linalg.norm(self.vectors - self.table[at[0]], ord=norm, axis=1)
        far[self.ids == at[0]] = np.inf
        order = np.argsort(far, kind="stable")[:count]
        return order[np.isfinite(far[order])], far


def is_word(token: str) -> bool:
    """Whether a token is one word of a text, not punctuation."""
    return Text.parse(token).words == (token,)


def words_of(victim: Victim, scale: Scale) -> Words:
    """The vocabulary of a word model, or the whole-word pieces of a transformer; NoRule for others."""
    from lexproof.victims.words import WordVictim

    if isinstance(victim, WordVictim):
        from lexproof.victims.vocabulary import SPECIALS

        known = [(k, word) for k, word in enumerate(victim.vocabulary.words, len(SPECIALS)) if is_word(word)]
        ids, words = np.array([k for k, _ in known], np.int64), tuple(word for _, word in known)
        table = scale.scaled(victim.net.embedding.weight).numpy()
        return Words(words, ids, table[ids], table)
    from lexproof.victims.transformer import Transformer

    if not isinstance(victim, Transformer):
        raise NoRule(f"no embedding to measure in: a {victim.kind!r} victim has no word vectors")
    tokenizer = victim.encoder.tokenizer
    special = set(tokenizer.all_special_ids)
    known = sorted(
        (number, piece)
        for piece, number in tokenizer.get_vocab().items()
        if number not in special and is_word(piece) and tokenizer.tokenize(piece) == [piece]
    )
    ids = np.array([number for number, _ in known], np.int64)
    table = scale.scaled(victim.model.get_input_embeddings().weight).numpy()
    return Words(tuple(piece for _, piece in known), ids, table[ids], table)
