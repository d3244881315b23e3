"""LSTM and BiLSTM as functions of a few open words.

The tokens before the first open one leave the state as it is in the text: it is computed once and is a constant (for
the backward direction, the tokens after the last one).  From there on each step reads an open word, which moves, or a
token of the text, which is a constant of the row.  So rows with the same number of steps in each direction are one
network, wherever their other open words stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lexproof.bounds.backward import Check, Relaxation
from lexproof.bounds.ball import BallRegion
from lexproof.bounds.ball_network import BallNetwork
from lexproof.bounds.forward import forward_relaxation
from lexproof.bounds.gates import CellState, HiddenState
from lexproof.bounds.graph import Graph
from lexproof.bounds.linear_ops import Affine, Constant, Join
from lexproof.bounds.recurrence import OpenStep
from lexproof.bounds.row_network import RowNetwork
from lexproof.bounds.slots import MaxOfSlots
from lexproof.victims.ball_rows import OpenRows
from lexproof.victims.lstm import BiLstmNet, LstmNet
from lexproof.victims.open_tokens import OpenTokens
from lexproof.victims.scale import Scale

_CELLS = 1 << 26  # numbers that the bounds of one network's rows may hold at once
_FLOOR = -1.0  # below every state, which is a sigmoid times a tanh


def lstm_balls(
    net: LstmNet | BiLstmNet, scale: Scale, tokens: Sequence[OpenTokens]
) -> list[tuple[list[int], BallNetwork]]:
    """The networks of these texts: numbers of the rows, and the network of these rows in that order."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for number, own in enumerate(tokens):
        groups.setdefault((len(own.places), *_steps(net, own)), []).append(number)
    found: list[tuple[list[int], BallNetwork]] = []
    for (_, *steps), numbers in sorted(groups.items(), key=lambda group: sum(group[0][1:])):  # the cheap ones first
        size = _rows_at_once(net, steps)
        for rows in (numbers[start : start + size] for start in range(0, len(numbers), size)):
            found.append((rows, _network(net, OpenRows.of(net, scale, [tokens[k] for k in rows]), steps)))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class RecurrentNetwork(RowNetwork):
    """Rows of recurrent steps, bounded forward."""

    def relaxation(self, graph: Graph, region: BallRegion, check: Check | None = None) -> Relaxation:
        """Boxes of all values, and planes that hold over this region."""
        return forward_relaxation(graph, region, check)


def _steps(net: LstmNet | BiLstmNet, own: OpenTokens) -> list[int]:
    """How many steps the open tokens reach, in each direction."""
    ahead = len(own.ids) - int(own.places[0])
    return [ahead] if isinstance(net, LstmNet) else [ahead, int(own.places[-1]) + 1]


def _rows_at_once(net: LstmNet | BiLstmNet, steps: Sequence[int]) -> int:
    """So many rows that their symbols, two for each unit and step, fit, as of states, cells and four gates."""
    units = (net.lstm if isinstance(net, LstmNet) else net.ahead).hidden_size
    return max(1, _CELLS // (2 * max(steps) * units * 6 * units))


def _network(net: LstmNet | BiLstmNet, rows: OpenRows, steps: Sequence[int]) -> BallNetwork:
    graph = Graph()
    if isinstance(net, LstmNet):
        states, _ = _Direction(graph, rows, net.lstm, is_back=False).added(steps[0])
        top = states[-1]
    else:
        pooled = []
        for lstm, is_back, count in zip((net.ahead, net.back), (False, True), steps, strict=True):
            states, floor = _Direction(graph, rows, lstm, is_back).added(count)
            pooled.append(graph.add(MaxOfSlots(floor), *states))
        top = graph.add(Join((net.ahead.hidden_size, net.back.hidden_size)), *pooled)
    graph.add(Affine(net.last.weight.detach().double(), net.last.bias.detach().double()), top)
    plain = rows.network(graph)
    return RecurrentNetwork(plain.center, plain.low, plain.high, graph)


@dataclass(frozen=True, slots=True, eq=False)
class _Direction:
    """One LSTM over some rows, as nodes of a graph; steps are counted from the end at which it begins to read."""

    graph: Graph
    rows: OpenRows
    lstm: nn.LSTM
    is_back: bool

    def added(self, steps: int) -> tuple[list[int], Tensor]:
        """Add the steps from the first open token on: their states, and the largest state before them (N, U)."""
        units = self.lstm.hidden_size
        lengths = self.rows.lengths[self.rows.text]
        start = lengths - 1 - self.rows.places[:, -1] if self.is_back else self.rows.places[:, 0]
        hidden, cell, largest = self._before(start)
        last_cell = self.graph.add(Constant(cell))
        states: list[int] = []
        for number in range(steps):
            gates, out = (self._step(start + number, part, hidden, states) for part in _parts(units))
            last_cell = self.graph.add(CellState(), gates, last_cell)
            states.append(self.graph.add(HiddenState(), out, last_cell))
        return states, largest

    def _step(self, at: Tensor, part: slice, hidden: Tensor, states: Sequence[int]) -> int:
        """What arrives at some gates in step at[n] of row n; `hidden` is the state before the first step."""
        from_word, from_state, bias = (weight[part] for weight in self._weights())
        place = self._places(at)
        reads = (self.rows.places == place[:, None]).double()
        is_open = reads.any(1, keepdim=True)
        vectors = torch.where(is_open, self.rows.scale.low, self.rows.at(self.rows.vectors, place))
        base = vectors @ from_word.T + bias
        entry = from_word * self.rows.scale.width if bool(is_open.any()) else None
        inputs = (0,) if entry is not None else ()
        if not states:
            return self.graph.add(OpenStep(base + hidden @ from_state.T, entry, reads, None), *inputs)
        return self.graph.add(OpenStep(base, entry, reads, from_state), *inputs, states[-1])

    def _before(self, start: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The hidden and the cell state after the first start[n] steps, and the largest hidden state of these."""
        from_word, from_state, bias = self._weights()
        units = self.lstm.hidden_size
        hidden = cell = from_word.new_zeros(len(start), units)
        largest = torch.full_like(hidden, _FLOOR)
        for number in range(int(start.max())):
            reads = (start > number)[:, None]
            vectors = self.rows.at(self.rows.vectors, self._places(torch.full_like(start, number)))
            gates, out = (vectors @ from_word.T + bias + hidden @ from_state.T).tensor_split((3 * units,), 1)
            next_cell = CellState().value(gates, cell)
            next_hidden = HiddenState().value(out, next_cell)
            cell, hidden = torch.where(reads, next_cell, cell), torch.where(reads, next_hidden, hidden)
            largest = torch.where(reads, torch.maximum(largest, hidden), largest)
        return hidden, cell, largest

    def _places(self, at: Tensor) -> Tensor:
        """Where in the texts the steps at[n] read."""
        return self.rows.lengths[self.rows.text] - 1 - at if self.is_back else at

    def _weights(self) -> tuple[Tensor, Tensor, Tensor]:
        """From a word vector and from the state to the gates i, f, g, o, and the bias."""
        from_word, from_state, *biases = (weight.detach().double() for weight in self.lstm.all_weights[0])
        return from_word, from_state, biases[0] + biases[1]


def _parts(units: int) -> tuple[slice, slice]:
    """The gates i, f, g of the cell state, and the gate o of the hidden state."""
    return slice(0, 3 * units), slice(3 * units, 4 * units)
