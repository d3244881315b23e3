"""Points: perturbed texts as rows of small integers, and the two compact ways of asking about many of them.

`point[i] = 0` is the original word at position i and `point[i] = j` its j-th substitute.  Two negative values make a
*probe*, which may be scored but is never a witness: MASKED (the word is hidden from the model) and DELETED.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int32]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

MASKED = -1
DELETED = -2


@dataclass(frozen=True, slots=True)
class Swaps:
    """Points that differ from a base point in one position each.

    Point b is `bases[rows[b]]` with position `positions[b]` set to `choices[b]` (a substitute, 0, MASKED or DELETED).
    Takes O(B) memory where dense points take O(B n), and lets a victim evaluate only what a swap changes.
    """

    bases: IntArray  # (M, n)
    rows: IntArray  # (B,)
    positions: IntArray  # (B,)
    choices: IntArray  # (B,)

    @classmethod
    def of(cls, base: IntArray, positions: IntArray, choices: IntArray) -> Swaps:
        """Swaps of a single base point."""
        positions = np.asarray(positions, np.int32)
        return cls(base[None], np.zeros(len(positions), np.int32), positions, np.asarray(choices, np.int32))

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, index: slice | NDArray[np.int_] | BoolArray) -> Swaps:
        return Swaps(self.bases, self.rows[index], self.positions[index], self.choices[index])

    def dense(self) -> IntArray:
        """The points as a (B, n) array."""
        points = self.bases[self.rows]
        points[np.arange(len(self)), self.positions] = self.choices
        return points


Points = IntArray | Swaps
"""A batch of points, dense (B, n) or as swaps."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Asks a differentiable victim for the L1 norm of the gradient of a label's score by each word: (B, n)."""

    points: IntArray  # (B, n)
    label: int


@dataclass(frozen=True, slots=True)
class FirstOrder:
    """Asks a differentiable victim how far each single swap would move a label's score, to first order: (B, S).

    Column s is about swap s of `space.singles()`: every substitute of every open position, tried on each of the points.
    The estimate is g · (e' - e): g the gradient of the label's score by the vector of the word now there, e that vector
    and e' the vector of the substitute.  Where a word is several tokens, g is the sum of their gradients and e the mean
    of their vectors; with one token before and after the swap the estimate is the exact first order.  It is 0 for a
    word that the model does not read and for the substitute that already stands there.
    """

    points: IntArray  # (B, n)
    label: int


@dataclass(frozen=True, slots=True)
class WordGradient:
    """Asks a differentiable victim for gradients by single words, and the label's score beside them: (B, dim + 2).

    Row b is about the word at `positions[b]` of `points[rows[b]]`: the gradient g of the label's score by that word's
    vector, the inner product of g with the vector e that stands there, and the score itself.  Where a word is several
    tokens, g is the sum of their gradients and e the mean of their vectors; g is 0 for a word that the model does not
    read.  Each of the points is differentiated once, however many rows are about it.
    """

    points: IntArray  # (P, n), distinct
    rows: IntArray  # (B,)
    positions: IntArray  # (B,)
    label: int


@dataclass(frozen=True, slots=True)
class Fresh:
    """Points that the search asks for once and never again: they are scored without being remembered.

    An enumeration of millions of points would otherwise fill the memory with answers nobody asks for twice.
    """

    points: Points


@dataclass(frozen=True, slots=True)
class AsText:
    """Points to be scored through their text, the interface that decides: settles what lies within rounding."""

    points: IntArray  # (B, n)


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """Asks for the seconds left of the search's time limit, (1, 1) and infinite without one; costs nothing.

    For work that a search does by itself and has to end in time; nothing else about a search depends on a clock.
    """


@dataclass(frozen=True, slots=True)
class Charge:
    """Says that the search evaluates so many model inputs by itself, in a way that no request could share."""

    inputs: int


Gradient = Sensitivity | FirstOrder | WordGradient
"""What only a differentiable victim answers; each of the points is paid for as one query."""

Request = Points | Fresh | AsText | Gradient | TimeLeft | Charge
"""What a search may yield."""


def dense(points: Points) -> IntArray:
    """The points as a (B, n) array."""
    return points.dense() if isinstance(points, Swaps) else points


_SHORT_TEXT = 100  # words up to which points are written out: quicker, and small enough


def keys(points: Points) -> list[bytes]:
    """A key a point: equal points of a text have equal keys, and unequal ones differ, so that proofs may rest on it.

    Used to recognise repeated questions of one search.  Points of a short text are written out; of a longer one the key
    lists the swaps of a point, so that it is as short as they are few.
    """
    n = points.bases.shape[1] if isinstance(points, Swaps) else points.shape[1]
    if n > _SHORT_TEXT:
        return _patched_lists(points) if isinstance(points, Swaps) else _lists(points)
    if isinstance(points, Swaps) and len(points.bases) == 1:
        return _patched(points)
    written, width = np.ascontiguousarray(dense(points), np.int32).tobytes(), 4 * n
    return [written[at : at + width] for at in range(0, len(written), width)] if n else [b""] * len(points)


def _patched(swaps: Swaps) -> list[bytes]:
    """The points that swaps of one base lead to, written out."""
    base, choices = swaps.bases.astype(np.int32).tobytes(), swaps.choices.astype(np.int32).tobytes()
    places = (4 * swaps.positions).tolist()
    return [base[:at] + choices[4 * b : 4 * b + 4] + base[at + 4 :] for b, at in enumerate(places)]


def _lists(points: IntArray) -> list[bytes]:
    """Position and choice of every swap of each point, in the order of the text."""
    rows, positions = np.nonzero(points)
    pairs = np.stack([positions, points[rows, positions]], axis=1).astype(np.int32).tobytes()
    ends = (8 * np.cumsum(np.count_nonzero(points, axis=1))).tolist()
    return [pairs[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)] if ends else []


def _patched_lists(swaps: Swaps) -> list[bytes]:
    """The same for points that differ from others in one position, without writing them out."""
    bases, swapped = _lists(swaps.bases), swaps.bases != 0
    place = swaps.rows, swaps.positions
    ahead = 8 * (np.cumsum(swapped, axis=1) - swapped)[place]  # bytes of the base before and, next, behind the position
    behind = ahead + 8 * swapped[place]
    pairs = np.stack([swaps.positions, swaps.choices], axis=1).astype(np.int32).tobytes()
    starts = 8 * np.arange(len(swaps))
    ends = starts + 8 * (swaps.choices != 0)  # the original word is not listed
    cuts = (swaps.rows.tolist(), ahead.tolist(), starts.tolist(), ends.tolist(), behind.tolist())
    return [bases[r][:a] + pairs[s:e] + bases[r][b:] for r, a, s, e, b in zip(*cuts, strict=True)]


def zobrist(points: Points) -> NDArray[np.uint64]:
    """A 64-bit hash a point, in O(1) a swap; unequal points almost surely differ, which is enough for a search."""
    if isinstance(points, Swaps):
        bases = zobrist(points.bases)[points.rows]
        old = points.bases[points.rows, points.positions]
        return bases - _mix(points.positions, old) + _mix(points.positions, points.choices)
    positions = np.broadcast_to(np.arange(points.shape[1], dtype=np.int32), points.shape)
    summed: NDArray[np.uint64] = _mix(positions, points).sum(axis=1, dtype=np.uint64)
    return summed


def _mix(positions: IntArray, choices: IntArray) -> NDArray[np.uint64]:
    # splitmix64 of (position, choice); the original word contributes 0 so that long texts cost nothing special
    z = positions.astype(np.uint64) << np.uint64(32) | (choices.astype(np.int64) & 0xFFFFFFFF).astype(np.uint64)
    z += np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.where(choices == 0, np.uint64(0), z)
