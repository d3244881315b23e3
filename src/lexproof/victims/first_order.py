"""First-order estimates of single swaps, from gradients by words: g · (e' - e), and the mean vectors they need.

For the word at a position, g is the gradient of a label's score summed over the word's tokens, e the mean of their
vectors and e' the mean of the substitute's.  With one token on either side this is the exact first-order term of the
change; otherwise it treats the word as if all its tokens were their mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

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


def word_means(runs: Sequence[Sequence[int]], vectors: Vectors) -> NDArray[np.floating]:
    """The mean vector of each run of token ids, 0 where it is empty."""
    lengths = np.array([len(run) for run in runs], np.int64)
    ids = np.fromiter(chain.from_iterable(runs), np.int64, int(lengths.sum()))
    return Choices(ids, lengths, np.zeros(0, np.int64)).means(vectors)


def narrowed(space: Space, points: IntArray) -> tuple[Space, IntArray]:
    """The space with no more substitutes than these points use, and the points in it.

    Their texts are the same; to compile a space of tens of thousands of words at every position takes far longer than
    to read a few of its texts.
    """
    used = [np.unique(column[column > 0]) for column in points.T]
    choices = [[space.choices[i][c - 1] for c in own.tolist()] for i, own in enumerate(used)]
    moved = points.copy()
    for i, own in enumerate(used):
        changed = points[:, i] > 0
        moved[changed, i] = np.searchsorted(own, points[changed, i]) + 1
    return Space(space.original, choices), moved


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
