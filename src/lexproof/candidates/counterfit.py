"""Counter-fitting: bend word vectors so that synonyms come close and antonyms move apart.

Minimizes, over unit vectors u_1 … u_V that start from the given ones (cosine distance d, its value at the start d0),

    k1 * sum over antonyms  (i, j)  max(0, delta - d(u_i, u_j))          antonym repel
  + k2 * sum over synonyms  (i, j)  max(0, d(u_i, u_j) - gamma)          synonym attract
  + k3 * sum over neighbors (i, j)  max(0, d(u_i, u_j) - d0(i, j))       space preservation, pairs with d0 <= rho

Reference: Mrkšić et al. 2016, Counter-fitting Word Vectors to Linguistic Constraints, https://arxiv.org/abs/1603.00892.

Deviations.  As in the authors' program, a step is taken on the whole objective at once, a word's gradient is divided
by the number of its active pairs, and vectors are normalized after each step.  A pair given as both synonym and
antonym counts as antonym, and antonyms are not preserved as neighbors.  Unlike it, each term acts on both words of a
pair alike, and at most `preserved` nearest neighbors of a word are held, since in low dimensions nearly everything
lies within rho.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from lexproof.candidates.neighbors import nearest, unit
from lexproof.errors import InputError

Pairs = Iterable[tuple[str, str]]
FloatMatrix = NDArray[np.float32]
IndexPairs = NDArray[np.int64]  # (P, 2)


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The six numbers of the paper, the number of steps, and how many neighbors of a word are preserved."""

    delta: float = 1.0
    gamma: float = 0.0
    rho: float = 0.2
    k1: float = 0.1
    k2: float = 0.1
    k3: float = 0.1
    steps: int = 20
    preserved: int = 20

    def __post_init__(self) -> None:
        if self.steps < 0 or self.preserved < 0:
            raise InputError(f"expected steps >= 0 and preserved >= 0, got {self.steps} and {self.preserved}")


def counter_fit(
    words: Sequence[str], vectors: FloatMatrix, *, synonyms: Pairs, antonyms: Pairs, settings: Settings | None = None
) -> FloatMatrix:
    """The vectors, bent: unit length, deterministic.  Pairs with a word that has no vector are ignored."""
    settings = settings or Settings()
    index = {word: i for i, word in enumerate(words)}
    if len(index) != len(words) or len(words) != len(vectors):
        raise InputError(f"expected one vector for each distinct word, got {len(vectors)} for {len(index)} words")
    vectors = unit(vectors)
    repel = _both_ways(antonyms, index)
    attract = _without(_both_ways(synonyms, index), repel, len(words))
    hold = _without(_close_pairs(vectors, settings), repel, len(words))
    near = _cosines(vectors, hold)
    for _ in range(settings.steps):
        vectors = _step(vectors, repel, attract, hold, near, settings)
    return vectors


def _both_ways(pairs: Pairs, index: dict[str, int]) -> IndexPairs:
    known = {(index[a], index[b]) for a, b in pairs if a in index and b in index and a != b}
    ordered = sorted(known | {(j, i) for i, j in known})
    return np.array(ordered, np.int64).reshape(-1, 2)


def _without(pairs: IndexPairs, banned: IndexPairs, size: int) -> IndexPairs:
    return pairs[~np.isin(pairs @ [size, 1], banned @ [size, 1])]


def _close_pairs(vectors: FloatMatrix, settings: Settings) -> IndexPairs:
    if not settings.k3 or not settings.preserved:
        return np.empty((0, 2), np.int64)
    near = nearest(vectors, np.arange(len(vectors)), k=settings.preserved, floor=1 - settings.rho)
    found = [rows for rows, _ in near]
    starts = np.repeat(np.arange(len(found)), [len(rows) for rows in found])
    pairs = np.stack([starts, np.concatenate([*found, np.empty(0, np.int64)])], axis=1)
    return np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)


def _cosines(vectors: FloatMatrix, pairs: IndexPairs) -> NDArray[np.float32]:
    cosines: NDArray[np.float32] = np.einsum("pd,pd->p", vectors[pairs[:, 0]], vectors[pairs[:, 1]])
    return cosines


def _step(
    vectors: FloatMatrix,
    repel: IndexPairs,
    attract: IndexPairs,
    hold: IndexPairs,
    near: NDArray[np.float32],
    settings: Settings,
) -> FloatMatrix:
    # the gradient of a cosine c = <u_i, u_j> by the unit vector u_i is u_j - c u_i, whichever term asks for it
    away, toward, back = (_cosines(vectors, pairs) for pairs in (repel, attract, hold))
    active = np.concatenate([away > 1 - settings.delta, toward < 1 - settings.gamma, back < near])
    weight = np.repeat(
        np.array([-settings.k1, settings.k2, settings.k3], np.float32), [len(repel), len(attract), len(hold)]
    )[active]
    rows, columns = np.concatenate([repel, attract, hold])[active].T
    cosine = np.concatenate([away, toward, back])[active]
    size = len(vectors)
    pull = csr_matrix((weight, (rows, columns)), (size, size)) @ vectors  # (V, d)
    own = np.bincount(rows, weight * cosine, size)[:, None].astype(np.float32)
    count = np.maximum(np.bincount(rows, minlength=size), 1)[:, None].astype(np.float32)
    return unit(vectors + (pull - own * vectors) / count)
