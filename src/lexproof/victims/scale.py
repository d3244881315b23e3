"""The embedding scaled to [0, 1] in every dimension, in which distances between words are measured.

As in the maximal-safe-radius paper, each dimension of the word vectors is moved and stretched so that its least value
over the vocabulary is 0 and its largest 1.  The network is not touched: it reads the vectors that these stand for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """Dimension k of a vector is low[k] + width[k] * x with 0 <= x <= 1 for every word; width 0 where all agree."""

    low: Tensor  # (d,), float64
    width: Tensor  # (d,)

    @classmethod
    def of(cls, vectors: Tensor) -> Scale:
        """The scale of the vectors of all words (V, d)."""
        wide = vectors.detach().double()
        low, high = wide.amin(0), wide.amax(0)
        return cls(low, high - low)

    def scaled(self, vectors: Tensor) -> Tensor:
        """Vectors (..., d) in scaled coordinates, float64."""
        moved = vectors.detach().double() - self.low
        return torch.where(self.width > 0, moved / torch.where(self.width > 0, self.width, 1.0), 0.0)

    def raw(self, scaled: Tensor) -> Tensor:
        """The vectors that scaled coordinates stand for."""
        return self.low + self.width * scaled

    @property
    def top(self) -> Tensor:
        """The largest scaled value of each dimension: 1, or 0 where all words agree."""
        return (self.width > 0).double()

    def diameter(self, words: int, norm: float) -> float:
        """The largest distance between two texts that differ in so many word vectors."""
        moving = int((self.width > 0).sum()) * words
        return float(moving ** (1 / norm)) if norm != math.inf else float(moving > 0)
