"""Rows: many token sequences of different lengths in one flat array, padded only when a batch needs it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import overload

import numpy as np
from numpy.typing import NDArray

from lexproof.points import IntArray

Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rows(Sequence[IntArray]):
    """Sequence b is `ids[sum(lengths[:b]) :][: lengths[b]]`; none is empty."""

    ids: IntArray
    lengths: Index

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int] | IntArray]) -> Rows:
        """Rows from separate sequences."""
        lengths = np.array([len(sequence) for sequence in sequences], np.int64)
        return cls(np.fromiter(chain.from_iterable(sequences), np.int32, int(lengths.sum())), lengths)

    @classmethod
    def joined(cls, parts: Sequence[Rows]) -> Rows:
        """All rows of several parts, in order."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            np.concatenate([np.empty(0, np.int32), *(part.ids for part in parts)]),
            np.concatenate([np.empty(0, np.int64), *(part.lengths for part in parts)]),
        )

    def __len__(self) -> int:
        return len(self.lengths)

    @overload
    def __getitem__(self, index: int) -> IntArray: ...
    @overload
    def __getitem__(self, index: slice) -> Rows: ...
    def __getitem__(self, index: int | slice) -> IntArray | Rows:
        if isinstance(index, slice):
            chosen = [self[b] for b in range(*index.indices(len(self)))]
            return Rows(
                np.concatenate([np.empty(0, np.int32), *chosen]), np.array([len(row) for row in chosen], np.int64)
            )
        index = range(len(self))[index]
        start = int(self.lengths[:index].sum())
        return self.ids[start : start + int(self.lengths[index])]

    def __iter__(self) -> Iterator[IntArray]:
        return iter(np.split(self.ids, self.starts[1:]) if len(self) else [])

    @property
    def starts(self) -> Index:
        """Where each row begins in `ids`."""
        return np.cumsum(self.lengths) - self.lengths

    def batches(self, max_tokens: int) -> Iterator[tuple[Index, IntArray, Index]]:
        """(row numbers, ids padded with 0 to the longest of the batch, lengths); rows of similar length go together.

        A batch holds at most `max_tokens` padded tokens, or one row.
        """
        order = np.argsort(self.lengths, kind="stable")
        starts, ordered = self.starts, self.lengths[order]
        begin = 0
        while begin < len(order):
            # rows are in order of length, so the padded size of a batch is its row count times its last length
            sizes = ordered[begin : begin + max_tokens] * np.arange(1, min(max_tokens, len(order) - begin) + 1)
            end = begin + max(1, int(np.searchsorted(sizes, max_tokens, side="right")))
            chosen = order[begin:end]
            yield chosen, self._padded(starts[chosen], self.lengths[chosen]), self.lengths[chosen]
            begin = end

    def _padded(self, starts: Index, lengths: Index) -> IntArray:
        width = int(lengths[-1])
        columns = np.arange(width)
        places = starts[:, None] + columns
        if int(lengths[0]) == width:
            return np.asarray(self.ids[places])
        inside = columns < lengths[:, None]
        return np.where(inside, self.ids[np.where(inside, places, 0)], np.int32(0))
