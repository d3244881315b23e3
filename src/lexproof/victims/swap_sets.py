"""The substitutes of a batch of texts as ragged columns, and the ends of what they add to a layer.

Symbols: B texts padded to L tokens, T different tokens among them and their substitutes, P places with substitutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lexproof.victims.vocabulary import PAD

Index = NDArray[np.int64]


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
