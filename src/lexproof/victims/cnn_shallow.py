"""One layer of convolutions and max-pool over time, looked up from one token table instead of multiplied.

Filters of all widths are read as filters of one width that covers them all, with zeros where a narrow one does not
reach: one table, one sum for each place, one maximum.

An edit of one token (a swap, or a deletion) changes only the windows that hold it.  Those are summed afresh from the
table, in the order in which a full evaluation sums them; all others keep their values.  So a feature after an edit is
the same number, to the last bit, as if the edited text were evaluated in full.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from lexproof.victims.token_table import TokenTable
from lexproof.victims.vocabulary import PAD
from lexproof.victims.word_net import mask


class ShallowState:
    """Texts prepared for edits: M texts, padded to L places."""

    def __init__(self, slots: Tensor, lengths: Tensor, sums: Tensor) -> None:
        self.slots = slots  # (width - 1 + L + width, M): rows of the table, those of <pad> around the text
        self.lengths = lengths  # (M,)
        self._sums = sums  # (L, M, filters): of each window

    def largest_beside(self, rows: Tensor, first: Tensor, size: int) -> Tensor:
        """Largest sum of text `rows[b]` outside the `size` places from `first[b]` on: (B, filters).

        Texts of which the same places are left out every time take one pass; only the others need running maxima.
        """
        usual = first.new_full((len(self.lengths),), -1)
        usual[rows] = first
        largest = self._largest_without(usual, size).index_select(0, rows)
        several = torch.zeros(len(usual), dtype=torch.bool)
        several[rows[usual[rows] != first]] = True
        if bool(several.any()):
            chosen = several[rows].nonzero()[:, 0]
            places, text = first[chosen], (several.cumsum(0) - 1)[rows[chosen]]
            before, after = _running_maxima(self._sums.index_select(1, several.nonzero()[:, 0]))
            here = _at(before, text, places)
            largest[chosen] = torch.maximum(here, _at(after, text, places + size), out=here)
        return largest

    def _largest_without(self, first: Tensor, size: int) -> Tensor:
        places, count, filters = self._sums.shape
        # a place that is cut to the nearest there is, is cut to one of those left out
        left_out = (first + torch.arange(size)[:, None]).clamp(0, places - 1) * count + torch.arange(count)
        flat, at = self._sums.view(-1, filters), left_out.view(-1)
        kept = flat.index_select(0, at)
        flat.index_fill_(0, at, -torch.inf)
        largest = self._sums.amax(0)
        flat.index_copy_(0, at, kept)
        return largest


def _running_maxima(sums: Tensor) -> tuple[Tensor, Tensor]:
    """Largest sum before and from each place: (places + 1, M, filters)."""
    values = sums.numpy()
    places, *shape = values.shape
    before, after = np.empty((2, places + 1, *shape), np.float32)
    before[0] = after[places] = -np.inf
    for t in range(places):  # a running maximum along an axis is many times slower than this loop
        np.maximum(before[t], values[t], out=before[t + 1])
    for t in range(places, 0, -1):
        np.maximum(after[t], values[t - 1], out=after[t - 1])
    return torch.from_numpy(before), torch.from_numpy(after)


def _at(maxima: Tensor, rows: Tensor, places: Tensor) -> Tensor:
    """maxima[places, rows], with places cut to those there are."""
    places = places.clamp(0, maxima.shape[0] - 1)
    return maxima.flatten(0, 1).index_select(0, places * maxima.shape[1] + rows)


class ShallowCnn:
    """Features (largest output of each filter, after the ReLU) of texts and of their edits."""

    def __init__(self, embedding: nn.Embedding, convs: Sequence[nn.Conv1d]) -> None:
        self._convs = tuple(convs)
        widths = [conv.kernel_size[0] for conv in convs]
        self._left, self._right = max((width - 1) // 2 for width in widths), max(width // 2 for width in widths)
        self._width = self._left + 1 + self._right
        self._filters = sum(conv.out_channels for conv in convs)
        self._embedding = embedding.weight
        self._table = TokenTable(embedding.weight, self._matrix, tuple(conv.weight for conv in convs))

    def clear(self) -> None:
        """Forget what was looked up."""
        self._table.clear()

    def _matrix(self) -> Tensor:
        """Maps a word vector to what the word adds to each filter as the first … last word of its window."""
        parts = []
        for conv in self._convs:
            width = conv.kernel_size[0]
            short = (self._left - (width - 1) // 2, self._right - width // 2)
            parts.append(nn.functional.pad(conv.weight, short).permute(1, 2, 0))  # (dim, width, filters)
        return torch.cat(parts, 2).flatten(1)

    def _bias(self) -> Tensor:
        return torch.cat([conv.bias for conv in self._convs if conv.bias is not None])

    def _sums(self, slots: Tensor, inside: Tensor) -> Tensor:
        """The sum of each window (places, B, filters) of slots (places + width - 1, B); -inf for places not inside."""
        at = slots.unfold(0, self._width, 1) * self._width + torch.arange(self._width)
        at = at.masked_fill_(~inside[:, :, None], 0).reshape(-1, self._width)
        sums = nn.functional.embedding_bag(at, self._table.rows.view(-1, self._filters), mode="sum")
        return sums.view(*inside.shape, self._filters)

    def features(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Features (B, filters) of ids (B, L)."""
        slots = self._table.slots(nn.functional.pad(ids, (self._left, self._right), value=PAD))
        return torch.relu_(self._sums(slots.T, mask(lengths, ids.shape[1]).T).amax(0).add_(self._bias()))

    def prepare(self, ids: Tensor, lengths: Tensor) -> ShallowState:
        """The sums of each text."""
        frame = self._width - 1
        slots = self._table.slots(nn.functional.pad(ids, (frame, frame + 1), value=PAD)).T.contiguous()
        windows = slots[self._right : len(slots) - self._left - 1]
        sums = self._sums(windows, mask(lengths, ids.shape[1]).T)
        return ShallowState(slots, lengths, sums)

    def edit(self, state: ShallowState, rows: Tensor, positions: Tensor, ids: Tensor) -> Tensor:
        """Features after edits: token `positions[b]` of text `rows[b]` set to `ids[b]`, or deleted if that is negative.

        A text must not be left without tokens.
        """
        deleted = ids < 0
        frame, columns = self._width - 1, torch.arange(2 * self._width - 1)
        # the tokens that share a window with the edited one; after a deletion they move up
        columns = positions + columns[:, None] + (deleted & (columns >= frame)[:, None])
        slots = state.slots.view(-1)[columns * state.slots.shape[1] + rows]
        slots[frame] = torch.where(deleted, slots[frame], self._table.slots(ids.clamp(min=0)))
        places = positions - self._right + torch.arange(self._width)[:, None]
        inside = (places >= 0) & (places < state.lengths[rows] - deleted.long())
        largest = self._sums(slots, inside).amax(0)
        torch.maximum(largest, state.largest_beside(rows, positions - self._right, self._width), out=largest)
        return torch.relu_(largest.add_(self._bias()))

    # ------------------------------------------------------------------ one token by every word of a list

    def added(self, ids: Tensor) -> Tensor:
        """What each token adds to the windows that hold it: (V, width, filters), the last place it can have first."""
        slots = self._table.slots(ids)
        return self._table.rows[slots].view(len(ids), self._width, self._filters).flip(1)

    def largest_feature(self) -> Tensor:
        """A bound on each feature (filters,), whatever the text: the most that any token adds at each place, summed."""
        most = torch.zeros(self._width, self._filters)
        for start in range(0, len(self._embedding), 4096):
            added = (self._embedding[start : start + 4096] @ self._matrix()).view(-1, self._width, self._filters)
            most = torch.maximum(most, added.amax(0))
        return torch.relu(most.sum(0) + self._bias())

    def around(self, ids: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """What a text (L,) adds without each of these tokens: to the windows that hold it (P, width, filters), with the
        bias and -inf for places outside of the text, and the features of all other windows (P, filters).

        Order of the windows: by place in the text, as `added` has them.
        """
        length, width, bias = len(ids), self._width, self._bias()
        state = self.prepare(ids[None], torch.tensor([length]))
        places = positions[:, None] - self._right + torch.arange(width)  # (P, width): places of the windows
        columns = positions[:, None] + torch.arange(2 * width - 1)  # tokens that share a window with the one left out
        slots = state.slots[columns, 0]  # (P, 2 width - 1)
        windows = slots.unfold(1, width, 1)  # (P, windows, width)
        at = windows * width + torch.arange(width)
        rows = self._table.rows.view(-1, self._filters)[at.reshape(-1)].view(*at.shape, self._filters)
        own = torch.arange(width - 1, -1, -1)  # in window o the token stands at place width - 1 - o
        rows[:, torch.arange(width), own] = 0
        sums = rows.sum(2) + bias
        inside = (places >= 0) & (places < length)
        rest = torch.zeros(len(positions), dtype=torch.long)
        beside = state.largest_beside(rest, positions - self._right, width)
        return sums.masked_fill(~inside[:, :, None], -torch.inf), torch.relu(beside + bias)
