"""The substitutes of a batch of texts as ragged columns, and the ends of what they add to a layer.

A substitute that the vocabulary does not know is a swap to `<unk>` like any other: no swap is left out because it is
unknown, and a text with swaps that cannot be told by single tokens says so (`is_whole`).

Symbols: B texts padded to L tokens, T different tokens among them and their substitutes, P places with substitutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lexproof.victims.vocabulary import PAD
from lexproof.victims.word_space import WordBound

Index = NDArray[np.int64]


class TextSwaps(NamedTuple):
    """The swaps of one text: token `at[s]`, which is `origin[s]`, may become `token[s]`."""

    at: NDArray[np.int32]
    token: NDArray[np.int32]
    origin: NDArray[np.int32]
    is_whole: bool
    """Whether these are all swaps of the space that change a token that is read."""


def text_swaps(bound: WordBound) -> TextSwaps:
    """The swaps of a bound space, one token in place of one token; the budget of the space is not looked at."""
    columns, sizes = bound.columns, bound.space.sizes
    word = np.repeat(np.arange(len(sizes)), sizes)
    first = columns.first[word]
    choice = np.arange(len(word)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    token, origin, at = columns.token[first + choice], columns.token[first], columns.start[word]
    is_read = at < len(columns.ids)
    is_single = (token >= 0) & (origin >= 0) & bound.is_local
    kept = is_read & is_single & (token != origin)
    at, token, origin = (part[kept].astype(np.int32) for part in (at, token, origin))
    return TextSwaps(at, token, origin, bool(is_single[is_read].all()))


@dataclass(frozen=True, slots=True, eq=False)
class SwapSets:
    """Texts whose tokens may each be replaced by any of some others; a place has every substitute once.

    Places come in descending order of how many substitutes they have, so those with at least k are the first ones.
    """

    lengths: Tensor  # (B,)
    tokens: Tensor  # (T,) ids, each once, in ascending order: the first is <pad>
    slots: Tensor  # (B, L) the texts, as numbers of tokens
    places: Tensor  # (P,) b * L + t
    columns: tuple[Tensor, ...]  # column 0 is the token at each place, column k its k-th substitute where it has one

    @classmethod
    def of_texts(cls, ids: Tensor, lengths: Tensor, swaps: Sequence[TextSwaps]) -> SwapSets:
        """The swaps of these texts; a token that is not what it was when they were looked up (hidden) has none."""
        text = np.repeat(np.arange(len(swaps)), [len(own.at) for own in swaps])
        at, token, origin = (
            np.concatenate([getattr(own, name) for own in swaps]).astype(np.int64) for name in ("at", "token", "origin")
        )
        shown = ids.numpy()[text, at] == origin
        return cls.of(ids, lengths, text[shown], at[shown], token[shown])

    @classmethod
    def of(cls, ids: Tensor, lengths: Tensor, text: Index, at: Index, token: Index) -> SwapSets:
        """Token `at[s]` of text `text[s]` may become `token[s]`; what changes no token that is read is left out."""
        rows, width = ids.numpy().astype(np.int64), ids.shape[1]
        kept = at < lengths.numpy()[text]
        text, at, token = text[kept], at[kept], token[kept]
        kept = token != rows[text, at]
        order = np.lexsort((token[kept], place := text[kept] * width + at[kept]))
        place, token = place[order], token[kept][order]
        is_new = np.ones(len(place), np.bool_)
        is_new[1:] = (place[1:] != place[:-1]) | (token[1:] != token[:-1])
        place, token = place[is_new], token[is_new]
        places, first, counts = np.unique(place, return_index=True, return_counts=True)
        longest_first = np.argsort(-counts, kind="stable")
        places, first, counts = places[longest_first], first[longest_first], counts[longest_first]
        tokens, numbers = np.unique(np.concatenate([[PAD], rows.ravel(), token]), return_inverse=True)
        slots, others = numbers[1 : rows.size + 1], numbers[rows.size + 1 :]
        columns = [slots[places]]
        for k in range(int(counts.max(initial=0))):
            columns.append(others[first[: np.count_nonzero(counts > k)] + k])
        return cls(
            lengths,
            torch.from_numpy(tokens),
            torch.from_numpy(slots.reshape(rows.shape)),
            torch.from_numpy(places),
            tuple(map(torch.from_numpy, columns)),
        )

    def dense(self) -> Tensor:
        """Numbers of the tokens of each place, itself first and again where it has fewer than others: (B, L, K)."""
        found = self.slots.flatten()[:, None].repeat(1, len(self.columns))
        for k, column in enumerate(self.columns):
            found[self.places[: len(column)], k] = column
        return found.view(*self.slots.shape, -1)


def changes(table: Tensor, columns: tuple[Tensor, ...], scale: float = 1.0) -> tuple[Tensor, Tensor]:
    """The least and the largest change of a table's rows (T, d) that the substitutes of each place make: (P, d) each.

    Element by element, no change included, times `scale`.  Gradients go to the row that an end is from, the first one
    if there are several, and to that of the place's own token.
    """
    low, high = _Changes.apply(table, scale, *columns)  # type: ignore[no-untyped-call]
    return low, high


class _Changes(torch.autograd.Function):
    """Column by column: gathered all at once, substitutes and their gradients would leave the processor's caches."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, scale: float, *columns: Tensor) -> tuple[Tensor, Tensor]:
        own = table.index_select(0, columns[0])
        low, high = own.clone(), own.clone()
        for column in columns[1:]:
            here, rows = slice(len(column)), table.index_select(0, column)
            torch.minimum(low[here], rows, out=low[here])
            torch.maximum(high[here], rows, out=high[here])
        ctx.save_for_backward(table, low, high, *columns)
        ctx.scale = scale
        return (low - own).mul_(scale), own.neg_().add_(high).mul_(scale)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        table, low, high, *columns = ctx.saved_tensors
        to_low, to_high = (grad * ctx.scale for grad in grads)
        found = torch.zeros_like(table).index_add_(0, columns[0], -to_low - to_high)
        for column in columns:
            here, rows = slice(len(column)), table.index_select(0, column)
            # comparing in place gives 1.0 and 0.0, which multiply many times quicker than truth values
            share = rows.clone().eq_(low[here]).mul_(to_low[here])
            to_low[here] -= share  # spent, should another token reach the same end
            rows.eq_(high[here]).mul_(to_high[here])
            to_high[here] -= rows
            found.index_add_(0, column, share.add_(rows))
        return found, None, *(None for _ in columns)
