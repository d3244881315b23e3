"""A trigram model of words: how fluent is a text, by the texts it was trained on?  Seconds to train, no torch.

    Ngram.train(texts).save("models/mr.ngram")            Ngram.load("models/mr.ngram").perplexity(["a fine film"])

Tokens are lower-cased words and punctuation marks; two starting marks precede a text and an end mark follows it.  The
smoothing is interpolated modified Kneser-Ney (`kneser_ney`), a proper distribution over the vocabulary, the end mark
and one symbol for unknown words.

A token seen fewer than `min_count` times in training counts as unknown.  Unknown words are many, and the symbol for all
of them is frequent, so that a rare word would be thought more fluent than a common one; therefore an unknown word gets
an equal part of the symbol's probability, as if there were as many of them as the training texts had, and one more.

The file is a plain .npz (words, trigrams, counts): everything else is computed from it.
"""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from lexproof.errors import InputError, ModelError
from lexproof.fluency.base import per_token, tokens
from lexproof.fluency.kneser_ney import LARGEST, Counts, Keys, KneserNey
from lexproof.points import FloatArray

UNKNOWN, END = 0, 1
_SPECIALS = 2  # before the words; the starting mark comes after them, for it is never predicted
_FORMAT = 1
_UNREADABLE = (EOFError, zipfile.BadZipFile, zlib.error)  # what numpy lets through besides errors of its own


class Ngram:
    """Perplexity by a trigram model; `unknown` words of the training texts share the symbol for such words."""

    def __init__(self, words: Sequence[str], keys: Keys, counts: Counts, unknown: int) -> None:
        self.words = tuple(words)
        self.unknown = unknown
        self._keys, self._counts = keys, counts
        self._ids = {word: number for number, word in enumerate(self.words, _SPECIALS)}
        self._start = _SPECIALS + len(self.words)
        self._model = KneserNey(keys, counts, self._start + 1, self._start)

    @classmethod
    def train(cls, texts: Iterable[str], *, min_count: int = 2) -> Ngram:
        """Learn from these texts; words seen fewer than `min_count` times are unknown."""
        if min_count < 1:
            raise InputError(f"expected min_count >= 1, got {min_count}")
        rows = [tokens(text) for text in texts]
        seen = Counter(token for row in rows for token in row)
        if not seen:
            raise InputError("expected texts with words to train on, got none")
        words = sorted(word for word, count in seen.items() if count >= min_count)
        if len(words) > LARGEST - _SPECIALS - 1:
            raise InputError(f"expected at most {LARGEST} different words, got {len(words)}; raise min_count")
        ids = {word: number for number, word in enumerate(words, _SPECIALS)}
        first, second, third = _trigrams(rows, ids, _SPECIALS + len(words))
        symbols = _SPECIALS + len(words) + 1
        keys, counts = np.unique((first * symbols + second) * symbols + third, return_counts=True)
        return cls(words, keys, counts.astype(np.int64), len(seen) - len(words))

    @cached_property
    def name(self) -> str:
        """`ngram` and a hash of what was learned."""
        digest = hashlib.sha256("\n".join(self.words).encode("utf-8", "surrogatepass"))
        for part in (self._keys, self._counts, np.array([self.unknown])):
            digest.update(part.astype("<i8").tobytes())
        return f"ngram:{digest.hexdigest()[:16]}"

    def perplexity(self, texts: Sequence[str]) -> FloatArray:
        """Perplexity a token, end of text included."""
        if not texts:
            return np.zeros(0)
        rows = [tokens(text) for text in texts]
        first, second, third = _trigrams(rows, self._ids, self._start)
        logs = np.log(self._model.probability(first, second, third))
        logs -= (third == UNKNOWN) * np.log(self.unknown + 1)
        lengths = np.array([len(row) for row in rows], np.int64)
        starts = np.cumsum(lengths + 1) - lengths - 1
        return per_token(np.add.reduceat(logs, starts), lengths)

    def probabilities(self, before: Sequence[str]) -> dict[str | None, float]:
        """The distribution after these tokens, of which the last two count.

        Of every word, of `""`, the end of the text, and of None, any unknown word; they sum to 1.  A text starts with
        no tokens.
        """
        context = [self._start, self._start, *(self._ids.get(token, UNKNOWN) for token in before)][-2:]
        symbols = np.arange(self._start)
        first, second = (np.full(len(symbols), symbol) for symbol in context)
        chances = self._model.probability(first, second, symbols).tolist()
        return dict(zip((None, "", *self.words), chances, strict=True))

    def save(self, path: str | Path) -> None:
        """Write one .npz file; its folder must exist."""
        words = np.frombuffer("\n".join(self.words).encode("utf-8", "surrogatepass"), np.uint8)
        with Path(path).open("wb") as file:  # a name would be given the ending .npz
            np.savez_compressed(
                file, format=_FORMAT, words=words, keys=self._keys, counts=self._counts, unknown=self.unknown
            )

    @classmethod
    def load(cls, path: str | Path) -> Ngram:
        """Read what `save` wrote."""
        expected = f"expected an n-gram model, as scripts/train_ngram.py writes it, got {str(path)!r}"
        try:
            with np.load(path, allow_pickle=False) as file:
                parts = {name: file[name] for name in file.files}
            words = [word for word in parts["words"].tobytes().decode("utf-8", "surrogatepass").split("\n") if word]
            read = parts["keys"].astype(np.int64), parts["counts"].astype(np.int64), int(parts["unknown"])
            is_sound = int(parts["format"]) == _FORMAT and _is_sound(words, *read)
        except FileNotFoundError as error:
            raise ModelError(f"{expected}, which does not exist") from error
        except (*_UNREADABLE, OSError, ValueError, TypeError, AttributeError, KeyError) as error:
            raise ModelError(f"{expected}, which is damaged or another kind of file") from error
        if not is_sound:
            raise ModelError(f"{expected}, which does not hold counts of trigrams in format {_FORMAT}")
        return cls(words, *read)


def _is_sound(words: Sequence[str], keys: Keys, counts: Counts, unknown: int) -> bool:
    """Whether these can be the parts of a model."""
    symbols = _SPECIALS + len(words) + 1
    return bool(
        len(set(words)) == len(words) < LARGEST - _SPECIALS
        and keys.ndim == 1 and keys.shape == counts.shape and len(keys) > 0
        and keys[0] >= 0 and keys[-1] < symbols**3 and (np.diff(keys) > 0).all()
        and (keys % symbols < symbols - 1).all()
        and (counts > 0).all() and unknown >= 0
    )  # fmt: skip


def _trigrams(rows: Sequence[Sequence[str]], ids: dict[str, int], start: int) -> tuple[Keys, Keys, Keys]:
    """All trigrams of the texts, in order: two symbols and the one that follows them."""
    padded: list[int] = []
    is_next: list[bool] = []
    for row in rows:
        padded += [start, start, *(ids.get(token, UNKNOWN) for token in row), END]
        is_next += [False, False, *(True for _ in row), True]
    symbols = np.array(padded, np.int64)
    at = np.flatnonzero(is_next)
    return symbols[at - 2], symbols[at - 1], symbols[at]
