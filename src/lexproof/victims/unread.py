"""Words that a model never reads, because it stops before them however the words before them are chosen.

Points that differ only in such words are one input to the model: answering one answers all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lexproof.points import DELETED, BoolArray, IntArray, Points, Swaps

Index = NDArray[np.int64]


def unread(sizes: Index, tokens: NDArray[np.integer], fixed: Index, limit: int) -> BoolArray | None:
    """Which words begin at token `limit` or later under every choice that deletes nothing; None if none does.

    `tokens` has a number for each of DELETED, MASKED, 0, 1, … of each word, `fixed` the number of tokens between each
    word and the one before it.
    """
    columns = sizes + 3
    starts = np.cumsum(columns) - columns
    read = tokens.astype(np.int64, copy=True)
    read[starts] = np.iinfo(np.int64).max  # deleting a word is left out
    least = np.minimum.reduceat(read, starts) if len(sizes) else np.zeros(0, np.int64)
    begins = np.cumsum(fixed) + np.cumsum(least) - least
    found: BoolArray = begins >= limit
    return found if found.any() else None


def without(points: Points, words: BoolArray) -> Points:
    """The points with these words as in the original; as they are if any word is deleted, which draws others in."""
    if isinstance(points, Swaps):
        if _deletes(points.choices) or _deletes(points.bases):
            return points
        choices = np.where(words[points.positions], np.int32(0), points.choices)
        return Swaps(_original(points.bases, words), points.rows, points.positions, choices)
    return points if _deletes(points) else _original(points, words)


def _deletes(points: IntArray) -> bool:
    return bool((points == DELETED).any())


def _original(points: IntArray, words: BoolArray) -> IntArray:
    return np.where(words, np.int32(0), points)
