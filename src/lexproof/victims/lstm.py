"""Recurrent networks over word vectors: LSTM with its last state, BiLSTM with max-pool over time.

The backward direction of the BiLSTM reads the text from its own last token, not from the end of a padded batch.

A swap leaves the states before it unchanged (after it, for the backward direction): they are computed once for a text
and each swap is replayed from its position on, all swaps of all texts in step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from lexproof.victims.word_net import WordNet, WordSettings, mask
from lexproof.victims.words import WordVictim


@dataclass(frozen=True, slots=True, kw_only=True)
class LstmSettings(WordSettings):
    """256 units, as in the MSR paper."""

    units: int = 256
    dropout: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class BiLstmSettings(LstmSettings):
    """150 units in each direction."""

    units: int = 150


class _Trace(NamedTuple):
    """One direction over M texts; state t is the state before token t is read."""

    inputs: Tensor  # (M, L, 4 units): what each token sends to the gates
    hidden: Tensor  # (M, L + 1, units)
    cell: Tensor  # (M, L + 1, units)
    lengths: Tensor  # (M,)


def _input(lstm: nn.LSTM, embedded: Tensor) -> Tensor:
    from_input, _, input_bias, state_bias = lstm.all_weights[0]
    return nn.functional.linear(embedded, from_input, input_bias + state_bias)


def _step(lstm: nn.LSTM, gates: Tensor, hidden: Tensor, cell: Tensor) -> None:
    """One token, in place; `gates` holds what the token sends to them and is overwritten."""
    gates.addmm_(hidden, lstm.all_weights[0][1].T)
    into, forget, new, out = gates.chunk(4, 1)
    cell.mul_(forget.sigmoid_()).addcmul_(into.sigmoid_(), new.tanh_())
    torch.mul(out.sigmoid_(), cell.tanh(), out=hidden)


def _trace(lstm: nn.LSTM, embedded: Tensor, lengths: Tensor) -> _Trace:
    count, width, _ = embedded.shape
    inputs = _input(lstm, embedded)
    hidden, cell = torch.zeros(2, count, width + 1, lstm.hidden_size)
    state, memory = torch.zeros(2, count, lstm.hidden_size)
    for t in range(width):
        _step(lstm, inputs[:, t].clone(), state, memory)
        hidden[:, t + 1], cell[:, t + 1] = state, memory
    return _Trace(inputs, hidden, cell, lengths)


class _Replay(NamedTuple):
    """What swaps make of a text from their position on."""

    last: Tensor  # (B, units), state after the last token
    largest: Tensor  # (B, units), largest states at and after the swap


def _replay(lstm: nn.LSTM, trace: _Trace, rows: Tensor, positions: Tensor, new_inputs: Tensor) -> _Replay:
    # Texts are aligned at their ends: with the swaps in order of tokens left to read, those under way are always the
    # first ones, and all of them end together.
    left, order = torch.sort(trace.lengths[rows] - positions, descending=True, stable=True)
    rows, positions, new_inputs = rows[order], positions[order], new_inputs[order]
    hidden, cell = trace.hidden[rows, positions], trace.cell[rows, positions]
    largest = torch.full_like(hidden, -torch.inf)
    begun = torch.searchsorted(-left, -torch.arange(int(left.max()) + 1), right=True).tolist()  # by tokens left
    texts = torch.arange(len(trace.lengths))
    for still in range(int(left.max()), 0, -1):
        active, before = begun[still], begun[still + 1] if still + 1 < len(begun) else 0
        here = trace.inputs[texts, (trace.lengths - still).clamp(min=0)]  # (M, 4 units)
        gates = here.index_select(0, rows[:active])
        gates[before:] = new_inputs[before:active]  # those that begin here read the new token
        _step(lstm, gates, hidden[:active], cell[:active])
        torch.maximum(largest[:active], hidden[:active], out=largest[:active])
    back = torch.argsort(order)
    return _Replay(hidden[back], largest[back])


class LstmNet(WordNet):
    """`lstm` and `last`, the affine layer."""

    def __init__(self, words: int, classes: int, settings: LstmSettings) -> None:
        super().__init__(words, settings)
        self.lstm = nn.LSTM(settings.dim, settings.units, batch_first=True)
        self.last = nn.Linear(settings.units, classes)

    def states(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Logits, and the state after the last word."""
        states, _ = self.lstm(self.dropout(embedded))
        text = states[torch.arange(len(states)), lengths - 1]
        return self.affine(self.last, self.dropout(text)), text

    def prepare(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, _Trace]:
        """All states of each text."""
        return ids, _trace(self.lstm, self.embedding(ids), lengths)

    def swap(self, state: tuple[Tensor, _Trace], rows: Tensor, positions: Tensor, ids: Tensor) -> Tensor:
        """Logits after single swaps, replayed from the swap on."""
        _, trace = state
        replay = _replay(self.lstm, trace, rows, positions, _input(self.lstm, self.embedding(ids)))
        return self.affine(self.last, replay.last)


class _BothWays(NamedTuple):
    ahead: _Trace
    back: _Trace  # of the reversed texts
    largest_ahead: Tensor  # (M, L + 1, units): largest state after the tokens before t
    largest_back: Tensor


class BiLstmNet(WordNet):
    """`ahead`, `back` and `last`, the affine layer over the largest state of each unit."""

    def __init__(self, words: int, classes: int, settings: BiLstmSettings) -> None:
        super().__init__(words, settings)
        self.ahead = nn.LSTM(settings.dim, settings.units, batch_first=True)
        self.back = nn.LSTM(settings.dim, settings.units, batch_first=True)
        self.last = nn.Linear(2 * settings.units, classes)

    def states(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Logits, and the largest states of either direction; their order along the text does not matter."""
        embedded = self.dropout(embedded)
        both = self.ahead(embedded)[0], self.back(_reversed(embedded, lengths))[0]
        outside = ~mask(lengths, embedded.shape[1])[:, :, None]
        text = torch.cat([states.masked_fill(outside, -torch.inf).amax(1) for states in both], 1)
        return self.affine(self.last, self.dropout(text)), text

    def prepare(self, ids: Tensor, lengths: Tensor) -> _BothWays:
        """All states of each text in both directions, and their running maxima."""
        embedded = self.embedding(ids)
        ahead = _trace(self.ahead, embedded, lengths)
        back = _trace(self.back, _reversed(embedded, lengths), lengths)
        return _BothWays(ahead, back, _running_max(ahead.hidden), _running_max(back.hidden))

    def swap(self, state: _BothWays, rows: Tensor, positions: Tensor, ids: Tensor) -> Tensor:
        """Logits after single swaps, replayed from the swap to both ends."""
        vectors = self.embedding(ids)
        from_end = state.back.lengths[rows] - 1 - positions
        ahead = _replay(self.ahead, state.ahead, rows, positions, _input(self.ahead, vectors))
        back = _replay(self.back, state.back, rows, from_end, _input(self.back, vectors))
        largest = (
            torch.maximum(state.largest_ahead[rows, positions], ahead.largest),
            torch.maximum(state.largest_back[rows, from_end], back.largest),
        )
        return self.affine(self.last, torch.cat(largest, 1))


def _reversed(embedded: Tensor, lengths: Tensor) -> Tensor:
    """Each text from its last token to its first, padding still at the end."""
    places = lengths[:, None] - 1 - torch.arange(embedded.shape[1])
    turned = embedded[torch.arange(len(embedded))[:, None], places.clamp(min=0)]
    return turned.masked_fill((places < 0)[:, :, None], 0.0)


def _running_max(hidden: Tensor) -> Tensor:
    hidden = hidden.clone()
    hidden[:, 0] = -torch.inf  # the state before the first token is not pooled
    return torch.cummax(hidden, 1).values


class Lstm(WordVictim):
    """LSTM, last state."""

    kind: ClassVar[str] = "lstm"
    settings_type = LstmSettings
    net_type = LstmNet

    @property
    def min_swaps(self) -> int:
        """Replaying goes token by token, which few swaps do not fill."""
        return 16


class BiLstm(WordVictim):
    """BiLSTM, max-pool over time."""

    kind: ClassVar[str] = "bilstm"
    settings_type = BiLstmSettings
    net_type = BiLstmNet

    @property
    def min_swaps(self) -> int:
        """Replaying goes token by token, which few swaps do not fill."""
        return 16
