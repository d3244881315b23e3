"""First-order estimates of what every word does at every position of a text: one matrix product from n gradients.

    u[i, w] = grad log p(y | s_i) · (e_w - e_i) + log p(y | s_i)

approximates log p(y | x with w at position i).  With `masked`, s_i is the text with position i masked and e_i the
vector of the mask (Equation 3 of the SP paper): n forward and backward passes.  Without, s_i is the text itself and
e_i the vector of its i-th word: one pass.  Nothing is claimed by an estimate; it only says what to try first.

Symbols: n words, V words of the vocabulary, p(y | ·) the label's probability, e_w the mean vector of w's tokens.
Estimates are rounded to 16 binary digits, so that ties (words the model does not know) stay ties in every batch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lexproof.errors import ModelError
from lexproof.goal import steady
from lexproof.points import MASKED, FloatArray, WordGradient
from lexproof.search import Search
from lexproof.single_words.flips import NOWHERE, Positions
from lexproof.single_words.placing import Placing

Estimates = NDArray[np.float32]
Vectors = NDArray[np.float32]

_BLOCK = 64  # positions differentiated at once, so that clocks are kept while long texts are


def estimated(placing: Placing, label: int, vectors: Vectors, *, masked: bool) -> Search[Estimates]:
    """u as an (n, V) array, infinite where a word already stands."""
    n = len(placing.text)
    found = np.empty((n, len(vectors)), np.float32)
    for start in range(0, n, _BLOCK if masked else n):
        positions = np.arange(start, min(n, start + _BLOCK) if masked else n, dtype=np.int32)
        rows = np.arange(len(positions), dtype=np.int32) if masked else np.zeros(n, np.int32)
        points = np.zeros((len(positions) if masked else 1, n), np.int32)
        if masked:
            points[rows, positions] = MASKED
        answer = yield WordGradient(points, rows, positions, label)
        found[positions] = _block(answer, vectors)
    stands = np.flatnonzero(placing.own != NOWHERE)
    found[stands, placing.own[stands]] = np.inf
    return found


def _block(answer: FloatArray, vectors: Vectors) -> FloatArray:
    """The estimates of some positions: (B, V)."""
    if not np.isfinite(answer).all():
        raise ModelError("expected finite gradients, got a NaN or infinity; use brute force, which needs scores only")
    probability = np.maximum(answer[:, -1:], np.finfo(np.float64).tiny)
    slopes = (answer[:, :-2] / probability).astype(np.float32)
    moved = (slopes @ vectors.T).astype(np.float64)
    moved += np.log(probability) - answer[:, -2:-1] / probability
    return steady(moved)


def best_positions(found: Estimates) -> Positions:
    """For each word the position with the least estimate, the first of equals; NOWHERE if it changes nothing."""
    best: Positions = found.argmin(axis=0).astype(np.int32)
    best[np.isinf(found[best, np.arange(found.shape[1])])] = NOWHERE
    return best
