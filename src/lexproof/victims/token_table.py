"""Token tables: what a first layer makes of each token, computed once and then looked up.

A word model reads finitely many tokens, so the product of a word vector with a weight matrix is a row of a table.  Rows
are filled in as tokens are met.  A table is emptied when a weight is written in place, and by `clear`, which a network
calls whenever it enters or leaves training: optimizers change weights without leaving a mark.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Project = Callable[[Tensor], Tensor]
"""Maps word vectors (T, dim) to rows (T, size)."""


class TokenTable:
    """Rows of `project(embedding[token])` by token; `sources` are the weights they are computed from.

    Row 0 is -inf and belongs to no token: what is outside a text never fires, whatever is added to it.
    """

    def __init__(self, embedding: Tensor, project: Project, sources: tuple[Tensor, ...]) -> None:
        self._embedding = embedding
        self._project = project
        self._sources = (embedding, *sources)
        self._state: tuple[tuple[int, int], ...] = ()
        self._slots = torch.empty(0, dtype=torch.int64)
        self._rows = torch.empty(0, 0)
        self._count = 0

    def clear(self) -> None:
        """Forget all rows."""
        self._state = ()

    def slots(self, ids: Tensor) -> Tensor:
        """The row number of each token, of the same shape as `ids`."""
        state = tuple((source.data_ptr(), source._version) for source in self._sources)
        if state != self._state:
            self._state, self._count, self._rows = state, 1, torch.empty(0, 0)
            self._slots = torch.full((len(self._embedding),), -1, dtype=torch.int64)
        slots = self._slots[ids]
        if bool((slots < 0).any()):
            self._fill(torch.unique(ids[slots < 0]))
            slots = self._slots[ids]
        return slots

    @property
    def rows(self) -> Tensor:
        """All rows filled in so far (and room for more): look up slots that were asked for before."""
        return self._rows

    def _fill(self, tokens: Tensor) -> None:
        new = self._project(self._embedding[tokens.long()])
        need = self._count + len(new)
        if need > len(self._rows):
            grown = torch.zeros(max(need, 2 * len(self._rows), 256), new.shape[1])
            grown[0] = -torch.inf
            if len(self._rows):
                grown[: self._count] = self._rows[: self._count]
            self._rows = grown
        self._rows[self._count : need] = new
        self._slots[tokens.long()] = torch.arange(self._count, need)
        self._count = need
