"""A one-layer convolution with max-pool over time, as numbers: what single swaps add to the windows that hold them.

Unit f sees every place t of the text through a window of words, and reports the largest value, or 0:

    h_f(K) = max(0, max_t z[t, f] + sum of change[c, o, f] over the swaps c of K with position[c] - lead + o = t)
    margin_k(K) = weight[k] . h(K) + bias[k]

K is a set of candidates (swaps), at most one for each position.  Filters of several widths are units of one common
width, with zeros where a narrow one does not reach.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lexproof.errors import InputError
from lexproof.points import FloatArray

Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class WindowedNet:
    """A text with its candidates: S swaps, W places that see a position, L places, F units, K rival classes."""

    z: FloatArray  # (L, F) values of the text itself
    position: Index  # (S,) of each candidate, from 0 on and in order
    change: FloatArray  # (S, W, F) what a candidate adds to the places position - lead … position - lead + W - 1
    lead: int  # places before 0 or after L - 1 do not exist
    weight: FloatArray  # (K, F)
    bias: FloatArray  # (K,)

    def __post_init__(self) -> None:
        (_, units), (count, width, seen) = self.z.shape, self.change.shape
        rivals, read = self.weight.shape
        if not (units == seen == read and len(self.position) == count and self.bias.shape == (rivals,) and width):
            shapes = [array.shape for array in (self.z, self.position, self.change, self.weight, self.bias)]
            raise InputError(
                f"expected z (L, F), position (S,), change (S, W, F), weight (K, F), bias (K,), got {shapes}"
            )
        if not all(np.isfinite(array).all() for array in (self.z, self.change, self.weight, self.bias)):
            raise InputError(
                "expected finite numbers in a windowed net, got NaN or infinity; check the model's weights"
            )
        if (np.diff(self.position, prepend=0) < 0).any():
            raise InputError("expected positions from 0 on and in order, got others; sort the candidates by position")

    @property
    def candidates(self) -> int:
        """Number of single swaps."""
        return len(self.position)

    @property
    def width(self) -> int:
        """Number of places that see a position."""
        return int(self.change.shape[1])

    @property
    def positions(self) -> int:
        """Number of positions that can be swapped."""
        return len(np.unique(self.position))

    def margins(self, sets: Iterable[Sequence[int]]) -> FloatArray:
        """The margins (B, K) of these sets of candidates, from the definition."""
        found = [self._features(chosen) for chosen in sets]
        pooled = np.array(found).reshape(len(found), self.z.shape[1])
        return pooled @ self.weight.T + self.bias

    def _features(self, chosen: Sequence[int]) -> FloatArray:
        values = self.z.copy()
        for c in chosen:
            first = int(self.position[c]) - self.lead
            low, high = max(first, 0), min(first + self.width, len(values))
            if low < high:
                values[low:high] += self.change[c, low - first : high - first]
        pooled: FloatArray = np.maximum(values.max(axis=0, initial=0.0), 0.0)
        return pooled
