"""LSTM and BiLSTM as operations with bounds.

The region's input is what each word sends to the gates, W v + b, one block of features for each direction: the first
linear map is applied to every candidate word exactly, before any bound is taken.

Tokens before the first one that may change leave the state as it is in the text: it is computed and put in as a
constant (for the backward direction, tokens after the last one).  So the graph holds only the steps that swaps reach.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lexproof.bounds.gates import CellState, HiddenState
from lexproof.bounds.graph import Graph
from lexproof.bounds.linear_ops import Affine, Constant, Join, Stack
from lexproof.bounds.maxpool import MaxPool
from lexproof.bounds.recurrence import Recurrent
from lexproof.victims.lstm import BiLstmNet, LstmNet

Features = Callable[[Tensor], Tensor]
"""Word vectors (..., dim) to what they send to the gates (..., F); affine, so a change is a difference of images."""


def lstm_graph(net: LstmNet | BiLstmNet, vectors: Tensor, first_open: int, last_open: int) -> tuple[Graph, Features]:
    """The network over texts of one length, and the map from word vectors to its input.

    `vectors` (N, L, dim) are those of the texts, in float64.  Guarantee: for texts that differ from these only at
    positions first_open … last_open, `graph.value(features(vectors))` is `net.logits(vectors)` computed in float64.
    """
    length = vectors.shape[1]
    assert 0 <= first_open <= last_open < length, "open positions lie within the texts"
    if isinstance(net, LstmNet):
        lstms, starts = [_Direction(net.lstm, 0)], [first_open]
    else:
        lstms, starts = [_Direction(net.ahead, 0), _Direction(net.back, 1)], [first_open, length - 1 - last_open]

    def features(words: Tensor) -> Tensor:
        return torch.cat([lstm.sent(words) for lstm in lstms], -1)

    given, graph = features(vectors), Graph()
    orders = [range(length), range(length)[::-1]]
    states = [
        lstm.states(graph, given, order, start) for lstm, order, start in zip(lstms, orders, starts, strict=False)
    ]
    if isinstance(net, LstmNet):
        top = states[0][-1]
    else:
        pooled = [graph.add(MaxPool(), graph.add(Stack(len(steps)), *steps)) for steps in states]
        top = graph.add(Join((net.ahead.hidden_size, net.back.hidden_size)), *pooled)
    graph.add(Affine(net.last.weight.double(), net.last.bias.double()), top)
    return graph, features


@dataclass(frozen=True, slots=True, eq=False)
class _Direction:
    """One LSTM and the number of its block among the features."""

    lstm: nn.LSTM
    block: int

    def _weights(self) -> list[Tensor]:
        return [weight.double() for weight in self.lstm.all_weights[0]]

    def sent(self, words: Tensor) -> Tensor:
        """What words send to the gates i, f, g, o: (..., 4 U)."""
        from_input, _, input_bias, state_bias = self._weights()
        return nn.functional.linear(words, from_input, input_bias + state_bias)

    def states(self, graph: Graph, given: Tensor, order: range, start: int) -> list[int]:
        """Add the steps from number `start` of the order on: their states, and first the largest one before them."""
        units = self.lstm.hidden_size
        from_state = self._weights()[1]
        early, hidden, cell = self._prefix(given, order[:start])
        last_hidden, last_cell = graph.add(Constant(hidden)), graph.add(Constant(cell))
        found = [] if early is None else [graph.add(Constant(early))]
        length, width = given.shape[1:]
        first = 4 * units * self.block
        for at in order[start:]:
            gates = graph.add(Recurrent(from_state[: 3 * units], at, first, length, width), 0, last_hidden)
            out = graph.add(Recurrent(from_state[3 * units :], at, first + 3 * units, length, width), 0, last_hidden)
            last_cell = graph.add(CellState(), gates, last_cell)
            last_hidden = graph.add(HiddenState(), out, last_cell)
            found.append(last_hidden)
        return found

    def _prefix(self, given: Tensor, order: range) -> tuple[Tensor | None, Tensor, Tensor]:
        """The largest state after each of some first steps, None if there are none, and the state after all of them."""
        units = self.lstm.hidden_size
        from_state = self._weights()[1]
        hidden = cell = given.new_zeros(len(given), units)
        largest = None
        for at in order:
            sent = given[:, at, 4 * units * self.block :][:, : 4 * units]
            gates, out = (sent + hidden @ from_state.T).tensor_split((3 * units,), -1)
            cell = CellState().value(gates, cell)
            hidden = HiddenState().value(out, cell)
            largest = hidden if largest is None else torch.maximum(largest, hidden)
        return largest, hidden, cell
