"""Similarity of an edit: the cosine of the sentence vectors of the words around it, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lexproof.candidates.similarity import Encoder
from lexproof.edits.actions import Draft, Edit
from lexproof.errors import InputError

_NOISE = 1e-5  # more than a cosine may depend on the batch its text was encoded in


@dataclass(frozen=True, slots=True)
class Similar:
    """Whether edits, each alone, leave `window` words around them at a cosine of at least `floor` to the original."""

    encoder: Encoder
    floor: float = 0.7
    window: int = 15

    def __post_init__(self) -> None:
        if not -1 <= self.floor <= 1 or self.window < 1:
            raise InputError(
                f"expected a floor from -1 to 1 and a window of at least 1 word, got {self.floor} and {self.window}"
            )

    def __call__(self, draft: Draft, edits: Sequence[Edit]) -> list[bool]:
        """The answer about each edit."""
        pairs = [draft.around(edit, self.window) for edit in edits]
        distinct = list(dict.fromkeys(side for pair in pairs for side in pair))
        vectors = dict(zip(distinct, self.encoder.encode(distinct).astype(np.float64), strict=True))
        return [bool(vectors[before] @ vectors[after] >= self.floor - _NOISE) for before, after in pairs]
