"""Token tables: what a first layer makes of each token, computed once and then looked up.

A word model reads finitely many tokens, so the product of a word vector with a weight matrix is a row of a table.  Rows
are filled in as tokens are met.  A table is emptied when a weight is written in place, and by `clear`, which a network
calls whenever it enters or leaves training: optimizers change weights without leaving a mark.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

_ROOM = 4096  # rows at first; memory that was never written to is not taken from the machine


class TokenTable:
    """Rows of `embedding[token] @ matrix()` by token; `sources` are the weights that the matrix is made of.

    Row 0 is -inf and belongs to no token: what is outside a text never fires, whatever is added to it.
    """

    def __init__(self, embedding: Tensor, matrix: Callable[[], Tensor], sources: tuple[Tensor, ...]) -> None:
        self._embedding = embedding
        self._make = matrix
        self._sources = (embedding, *sources)
        self.clear()

    def clear(self) -> None:
        """Forget all rows."""
        self._state: tuple[tuple[int, int], ...] = ()
        self._matrix = self._rows = torch.empty(0, 0)
        self._slots = torch.empty(0, dtype=torch.int64)
        self._count = 0

    def slots(self, ids: Tensor) -> Tensor:
        """The row number of each token, of the same shape as `ids`."""
        state = tuple((source.data_ptr(), source._version) for source in self._sources)
        if state != self._state:
            self._begin(state)
        slots = self._slots[ids]
        if slots.numel() and int(slots.min()) < 0:
            self._fill(torch.unique(ids[slots < 0]).long())
            slots = self._slots[ids]
        return slots

    @property
    def rows(self) -> Tensor:
        """All rows filled in so far (and room for more): look up slots that were asked for before."""
        return self._rows

    def _begin(self, state: tuple[tuple[int, int], ...]) -> None:
        self._state, self._count = state, 1
        self._matrix = self._make()
        self._slots = torch.full((len(self._embedding),), -1, dtype=torch.int64)
        self._rows = torch.empty(min(_ROOM, len(self._embedding) + 1), self._matrix.shape[1])
        self._rows[0] = -torch.inf

    def _fill(self, tokens: Tensor) -> None:
        need = self._count + len(tokens)
        if need > len(self._rows):
            grown = torch.empty(max(need, 2 * len(self._rows)), self._rows.shape[1])
            grown[: self._count] = self._rows[: self._count]
            self._rows = grown
        torch.mm(self._embedding[tokens], self._matrix, out=self._rows[self._count : need])
        self._slots[tokens] = torch.arange(self._count, need)
        self._count = need
