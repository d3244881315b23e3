"""Nearest words of an embedding: at most k, with a cosine of at least `floor`, exact.

Ties are broken by the order of the words, and cosines are taken in double precision word by word, so the result does
not depend on how many words are asked for at once, nor on threads.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lexproof.candidates.base import Options, Spec, WordSource
from lexproof.candidates.files import sha256_of
from lexproof.candidates.lexicon import Lexicon, embedded
from lexproof.data.vectors import read_vectors
from lexproof.errors import InputError

FloatMatrix = NDArray[np.float32]

_BLOCK = 2**24  # cosines held at once
_SLACK = 1e-5  # more than single precision may err by, for unit vectors


def unit(vectors: FloatMatrix) -> FloatMatrix:
    """The vectors at length one; a zero vector stays zero."""
    vectors = np.asarray(vectors, np.float32)
    length = np.linalg.norm(vectors, axis=1, keepdims=True).astype(np.float32)
    scaled: FloatMatrix = vectors / np.maximum(length, np.float32(1e-12))
    return scaled


def nearest(
    vectors: FloatMatrix, rows: NDArray[np.int64], *, k: int, floor: float
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """For each of these rows of a matrix of unit vectors: the nearest other rows, best first, and their cosines."""
    step = max(1, _BLOCK // max(1, len(vectors)))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        rough = vectors[block] @ vectors.T  # (b, V)
        rough[np.arange(len(block)), block] = -np.inf
        for row, cosines in zip(block.tolist(), rough, strict=True):
            yield _best(vectors, row, cosines, min(k, len(vectors) - 1), floor)


def _best(
    vectors: FloatMatrix, row: int, rough: NDArray[np.float32], k: int, floor: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    bar = floor if k < 1 else max(floor, float(np.partition(rough, -k)[-k]))
    found = np.flatnonzero(rough >= bar - _SLACK)
    exact = (vectors[found].astype(np.float64) * vectors[row].astype(np.float64)).sum(axis=1)
    order = np.lexsort((found, -exact))[:k]
    order = order[exact[order] >= floor]
    return found[order], exact[order]


class Neighbors(WordSource):
    """The k nearest other words of an embedding with a cosine of at least `floor`; words without a vector have none."""

    def __init__(
        self, words: Sequence[str], vectors: FloatMatrix, *, k: int = 8, floor: float = 0.5, sha256: str | None = None
    ) -> None:
        super().__init__()
        vectors = np.asarray(vectors, np.float32)
        if vectors.ndim != 2 or len(vectors) != len(words):
            raise InputError(
                f"expected one vector for each of {len(words)} words, got an array of shape {vectors.shape}"
            )
        if k < 1 or not -1 <= floor <= 1:
            raise InputError(f"expected k >= 1 and a floor from -1 to 1, got k={k} and floor={floor}")
        if not np.isfinite(vectors).all():
            raise InputError("expected finite vectors, got NaN or infinity")
        self.k, self.floor = k, floor
        self._sha256 = sha256 or _hash(words, vectors)
        first = {word: row for row, word in reversed(list(enumerate(words)))}
        if len(first) < len(words):  # a word listed twice would be offered twice: the first row counts
            rows = sorted(first.values())
            words, vectors = [words[row] for row in rows], vectors[rows]
        self._words = list(words)
        self._vectors = unit(vectors)
        self._rows = {word: row for row, word in enumerate(self._words)}
        self._spellings = Counter(map(str.lower, self._words))

    @classmethod
    def load(cls, path: str | Path, *, k: int = 8, floor: float = 0.5) -> Neighbors:
        """The vectors of a file or package, as `lexproof.data.vectors.read_vectors` reads them."""
        words, vectors = read_vectors(path)
        sha256 = sha256_of(path) if Path(path).is_file() else None  # vectors of a package are hashed themselves
        return cls(words, vectors, k=k, floor=floor, sha256=sha256)

    @property
    def spec(self) -> Spec:
        """Settings and the hash of the vectors."""
        return {"name": "neighbors", "k": self.k, "floor": self.floor, "sha256": self._sha256}

    def substitutes(self, word: str) -> Options:
        """The nearest words."""
        return self.lookup([word])[0]

    def lookup(self, words: Sequence[str]) -> list[Options]:
        """The nearest words of several words at once."""
        known = [word for word in words if word in self._rows]
        rows = np.array([self._rows[word] for word in known], np.int64)
        # other spellings of the word ("Film") are near it and left out: as many more are looked at
        wide = self.k + max((self._spellings[word] - 1 for word in known), default=0)
        found = nearest(self._vectors, rows, k=wide, floor=self.floor)
        options = {word: self._options(word, others) for word, (others, _) in zip(known, found, strict=True)}
        return [options.get(word, ()) for word in words]

    def _options(self, word: str, others: NDArray[np.int64]) -> Options:
        near = (self._words[other] for other in others.tolist())
        return tuple(islice((other for other in near if other.lower() != word), self.k))


class LexiconNeighbors(WordSource):
    """Counter-fitted neighbors from the embedded lexicon, best first, with a cosine of at least `floor`.

    No antonyms, no names, no stop words, the same part of speech and form: the lexicon holds no other pairs.
    """

    def __init__(self, *, floor: float = 0.6, lexicon: Lexicon | None = None) -> None:
        super().__init__()
        if not -1 <= floor <= 1:
            raise InputError(f"expected a floor from -1 to 1, got {floor}")
        self.floor = floor
        self._lexicon = lexicon or embedded()

    @property
    def spec(self) -> Spec:
        """The floor and the hash of the lexicon."""
        return {"name": "default", "floor": self.floor, "lexicon": self._lexicon.sha256}

    def substitutes(self, word: str) -> Options:
        """The neighbors of a word."""
        return tuple(other for other, cosine in self._lexicon.neighbors(word) if cosine >= self.floor)


def _hash(words: Sequence[str], vectors: FloatMatrix) -> str:
    digest = hashlib.sha256("\n".join(words).encode("utf-8", "surrogatepass"))
    digest.update(np.ascontiguousarray(vectors).tobytes())
    return digest.hexdigest()
