"""All texts with exactly k swaps through an LSTM, each state computed once.

A direction reads the tokens in order, and a state depends only on the swaps read so far.  So the texts form a tree:
those with the same swaps up to a token share its state, and a text with its last swap (in reading order) at token t
costs only the steps from t on, about L / (k + 1) of L.  A BiLSTM's logits are a sum of what each direction adds, as
its last layer is linear in the largest states of both: each direction walks a tree of its own, from its own end, and
the two sums are joined text by text.

Guarantee: the logits are those of `net` up to rounding, for every choice of k candidates at k different tokens, once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from lexproof.errors import InputError
from lexproof.victims.lstm import BiLstmNet, LstmNet

_ROWS = 2048  # texts that are finished at once: more would leave the processor's caches
_MOST_KEYS = 2**62


class Candidates(NamedTuple):
    """A text's tokens `ids` (L,), and its single swaps: number c sets token `at[c]` to `token[c]`."""

    ids: Tensor
    at: Tensor  # (C,)
    token: Tensor  # (C,)


class Scored(NamedTuple):
    """Texts as k candidate numbers each, in order of position, and their logits in float64."""

    picks: Tensor  # (B, k)
    logits: Tensor  # (B, classes)


def has_keys(candidates: int, swaps: int) -> bool:
    """Whether `stratum_logits` can number the texts with so many swaps."""
    return bool((candidates + 1) ** swaps <= _MOST_KEYS)


def stratum_logits(net: LstmNet | BiLstmNet, text: Candidates, swaps: int) -> Iterator[Scored]:
    """All texts with exactly so many swaps (at least 1), in parts; some parts are empty, so that a caller may stop.

    Memory: the states of all texts with fewer swaps, and for a BiLSTM the logits of all texts.
    """
    if swaps < 1:
        raise InputError(f"expected at least 1 swap, got {swaps}")
    base = len(text.at) + 1
    if not has_keys(len(text.at), swaps):
        raise InputError(f"expected fewer texts, got {len(text.at)} candidates and {swaps} swaps; allow fewer swaps")
    if isinstance(net, LstmNet):
        for part in _walk(net, net.lstm, net.last.weight, text, swaps, is_ahead=True):
            yield Scored(_picks(part.key, base, swaps), part.sums + net.last.bias.double())
        return
    to_ahead, to_back = net.last.weight.tensor_split((net.ahead.hidden_size,), 1)
    ahead = []
    for part in _walk(net, net.ahead, to_ahead, text, swaps, is_ahead=True):
        ahead.append(part)
        yield Scored(_picks(part.key[:0], base, swaps), part.sums[:0])
    if not ahead:
        return
    keys, order = torch.cat([part.key for part in ahead]).sort()
    sums = torch.cat([part.sums for part in ahead])[order] + net.last.bias.double()
    for part in _walk(net, net.back, to_back, text, swaps, is_ahead=False):
        yield Scored(_picks(part.key, base, swaps), part.sums + sums[torch.searchsorted(keys, part.key)])


def _picks(key: Tensor, base: int, swaps: int) -> Tensor:
    """The digits of a key, the first position's the most significant, less 1."""
    powers = torch.tensor([base**power for power in range(swaps - 1, -1, -1)])
    return key[:, None] // powers % base - 1


class _Part(NamedTuple):
    """Finished texts: keys, and what the direction adds to the logits (B, classes)."""

    key: Tensor
    sums: Tensor


class _Live(NamedTuple):
    """Texts under way, by the swaps read so far; units come first, so that each gate is one block of memory."""

    hidden: Tensor  # (U, M)
    cell: Tensor  # (U, M)
    largest: Tensor  # (U, M)
    used: Tensor  # (M,), swaps read
    key: Tensor  # (M,)

    def rows(self, rows: Tensor) -> _Live:
        """Some of them."""
        return _Live(*(part.index_select(part.ndim - 1, rows) for part in self))


@dataclass(frozen=True, slots=True, eq=False)
class _Direction:
    """One LSTM over one text: what tokens and candidates send to its gates i, f, o, g, and how the tree is numbered."""

    from_state: Tensor  # (4 U, U)
    sent: Tensor  # (4 U, L)
    new: Tensor  # (4 U, C)
    swaps: int
    is_ahead: bool

    @classmethod
    def of(cls, lstm: nn.LSTM, vectors: Tensor, new_vectors: Tensor, swaps: int, *, is_ahead: bool) -> _Direction:
        """From word vectors."""
        weights = [_gates_in_order(weight) for weight in lstm.all_weights[0]]
        from_input, from_state, input_bias, state_bias = weights
        sent, new = (
            torch.addmm((input_bias + state_bias)[:, None], from_input, words.T) for words in (vectors, new_vectors)
        )
        return cls(from_state, sent, new, swaps, is_ahead)

    def step(self, live: _Live, gates: Tensor) -> _Live:
        """Read one token each; `gates` (4 U, M) or (4 U, 1) is what it sends."""
        units = len(live.hidden)
        gates = torch.addmm(gates, self.from_state, live.hidden)
        into, forget, out = gates[: 3 * units].sigmoid_().chunk(3)
        cell = (live.cell * forget).addcmul_(into, gates[3 * units :].tanh_())
        hidden = cell.tanh().mul_(out)
        return _Live(hidden, cell, torch.maximum(live.largest, hidden), live.used, live.key)

    def swapped(self, live: _Live, picks: Tensor) -> _Live:
        """Every text under way with each of the candidates `picks` read as its next token."""
        count = len(live.key)
        live = live.rows(torch.arange(count).repeat_interleave(len(picks)))
        pick = picks.repeat(count)
        live = self.step(live, self.new.index_select(1, pick))
        base = self.new.shape[1] + 1
        key = live.key * base + pick + 1 if self.is_ahead else live.key + (pick + 1) * base**live.used
        return live._replace(used=live.used + 1, key=key)

    def finished(self, live: _Live, picks: Tensor, rest: Sequence[int]) -> Iterator[_Live]:
        """The texts whose last swap is one of `picks`, read to their end, some at a time."""
        last = (live.used == self.swaps - 1).nonzero()[:, 0]
        for part in torch.split(last, max(1, _ROWS // len(picks))):
            texts = self.swapped(live.rows(part), picks)
            for at in rest:
                texts = self.step(texts, self.sent[:, at : at + 1])
            yield texts

    def read(self, live: _Live, at: int, picks: Tensor, left: int) -> _Live:
        """The texts whose last swap comes later, after reading a token; `left` positions with candidates come later."""
        parts = [self.step(live, self.sent[:, at : at + 1])]
        can_grow = (live.used < self.swaps - 1).nonzero()[:, 0]
        if len(can_grow) and len(picks):
            parts.append(self.swapped(live.rows(can_grow), picks))
            live = _Live(*(torch.cat(columns, -1) for columns in zip(*parts, strict=True)))
        else:
            live = parts[0]
        enough = live.used + left >= self.swaps
        return live if bool(enough.all()) else live.rows(enough.nonzero()[:, 0])


def _gates_in_order(weight: Tensor) -> Tensor:
    """Rows of i, f, g, o as i, f, o, g."""
    into, forget, new, out = weight.chunk(4)
    return torch.cat([into, forget, out, new])


def _walk(
    net: LstmNet | BiLstmNet, lstm: nn.LSTM, weight: Tensor, text: Candidates, swaps: int, *, is_ahead: bool
) -> Iterator[_Part]:
    """What one direction adds to the logits of every text with so many swaps."""
    direction = _Direction.of(lstm, net.embedding(text.ids), net.embedding(text.token), swaps, is_ahead=is_ahead)
    order = range(len(text.ids)) if is_ahead else range(len(text.ids))[::-1]
    closed = set(range(len(text.ids))) - set(text.at.tolist())
    zeros = direction.sent.new_zeros(lstm.hidden_size, 1)
    live = _Live(zeros, zeros, zeros - torch.inf, *torch.zeros(2, 1, dtype=torch.long))
    for number, at in enumerate(order):
        rest = order[number + 1 :]
        picks = (text.at == at).nonzero()[:, 0]
        for texts in direction.finished(live, picks, rest) if len(picks) else ():
            top = texts.hidden if isinstance(net, LstmNet) else texts.largest
            yield _Part(texts.key, top.T.double() @ weight.double().T)
        live = direction.read(live, at, picks, len(set(rest) - closed))
        if not len(live.key):
            return
