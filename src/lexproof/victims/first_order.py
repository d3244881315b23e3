"""First-order estimates of single swaps, from gradients by words: g · (e' - e).

For the word at a position, g is the gradient of a label's score summed over the word's tokens, e the mean of their
vectors and e' the mean of the substitute's.  With one token on either side this is the exact first-order term of the
change; otherwise it treats the word as if all its tokens were their mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lexproof.points import FloatArray, IntArray
from lexproof.space import Space

Index = NDArray[np.int64]
Vectors = Callable[[Index], NDArray[np.floating]]
"""Token ids (k,) to their vectors (k, dim)."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The tokens of each word's choices DELETED, MASKED, 0, 1, … one after the other, word by word."""

    ids: NDArray[np.integer]
    lengths: Index  # of each choice: number of its tokens
    first: Index  # of each word: its choice 0

    def means(self, vectors: Vectors) -> NDArray[np.floating]:
        """The mean vector of each choice's tokens, 0 where it has none."""
        used, places = np.unique(self.ids, return_inverse=True)
        table = vectors(used.astype(np.int64))
        starts = np.cumsum(self.lengths) - self.lengths
        sums = np.zeros((len(self.lengths), table.shape[1]), table.dtype)
        for k in range(int(self.lengths.max(initial=0))):
            longer = self.lengths > k
            sums[longer] += table[places[starts[longer] + k]]
        return np.asarray(sums / np.maximum(self.lengths, 1)[:, None].astype(table.dtype))


def estimates(space: Space, points: IntArray, gradients: FloatArray, choices: Choices, vectors: Vectors) -> FloatArray:
    """g · (e' - e) for every swap of `space.singles()` on each point: (B, S), from gradients by words (B, n, dim)."""
    singles = space.singles()
    found = np.zeros((len(points), len(singles)))
    if not found.size:
        return found
    means = choices.means(vectors)
    new = means[choices.first[singles.positions] + singles.choices]
    for row, point, gradient in zip(found, points, gradients, strict=True):
        there = np.einsum("nd,nd->n", gradient, means[choices.first + point], dtype=np.float64)
        row[:] = np.einsum("sd,sd->s", gradient[singles.positions], new, dtype=np.float64) - there[singles.positions]
        row[singles.choices == point[singles.positions]] = 0.0  # what stands there changes nothing, to the last bit
    return found
