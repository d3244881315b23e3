"""Sweeps: the logits of one text with every word of a long list at every position, as word models can afford it.

Guarantee: `logits(text, positions, chosen)[p, w]` are those of the text with token `positions[p]` replaced by the token
`words[chosen[w]]`, up to the victim's rounding and `error`, a bound on what the last layer loses in float32.

A convolution with max-pool looks up what each word adds to each window once for the whole list, sums what the rest of
the text adds once for each position, and is left with additions and maxima in blocks that stay in the caches; an mlp
with one product for each position.  The others replay single swaps (`WordNet.swap`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from threading import Lock

import torch
from torch import Tensor

from lexproof.victims.cnn import CnnNet
from lexproof.victims.cnn_shallow import ShallowCnn
from lexproof.victims.mlp import MlpNet
from lexproof.victims.word_net import WordNet

_SWAPS = 4096  # single swaps replayed at once
_CELLS = 1 << 18  # numbers of a block: two such blocks stay in the second-level cache


class Sweep(ABC):
    """A list of token ids, ready to be put into texts."""

    error: float = 0.0
    together: int = 24
    """Positions that are worth asking about at once."""
    in_threads: bool = False
    """Whether texts are better swept side by side, one thread each, than one after the other by all threads."""

    def __init__(self, words: Tensor) -> None:
        self.words = words  # (V,)
        self.lock = Lock()  # of the network's tables, which are filled in as tokens are met

    @abstractmethod
    def logits(self, text: Tensor, positions: Tensor, chosen: Tensor) -> Tensor:
        """Logits (P, W, classes) of a text (L,) with each of the chosen words at each of the positions."""


def sweep_of(net: WordNet, words: Tensor) -> Sweep:
    """The quickest sweep that the network allows."""
    assert not net.training, "a victim is scored in evaluation mode"
    if isinstance(net, CnnNet) and net.shallow is not None:
        return _ShallowSweep(net, net.shallow, words)
    return _MlpSweep(net, words) if isinstance(net, MlpNet) else _SwapSweep(net, words)


class _SwapSweep(Sweep):
    """Any network, by the single swaps that it evaluates from what they change."""

    together = 1  # each takes long: a clock may be looked at, and words that have flipped left out, after every one

    def __init__(self, net: WordNet, words: Tensor) -> None:
        super().__init__(words)
        self._net = net

    def logits(self, text: Tensor, positions: Tensor, chosen: Tensor) -> Tensor:
        state = self._net.prepare(text[None], torch.tensor([len(text)]))
        at, word = positions.repeat_interleave(len(chosen)), self.words[chosen].repeat(len(positions))
        row = torch.zeros(len(at), dtype=torch.long)
        parts = [
            self._net.swap(state, row[begin : begin + _SWAPS], at[begin : begin + _SWAPS], word[begin : begin + _SWAPS])
            for begin in range(0, len(at), _SWAPS)
        ]
        return torch.cat(parts).view(len(positions), len(chosen), -1)


class _MlpSweep(Sweep):
    """The first layer is additive: what a word adds at a position is one row of a product, in float64 as everywhere."""

    in_threads = True

    def __init__(self, net: MlpNet, words: Tensor) -> None:
        super().__init__(words)
        self._net = net

    def logits(self, text: Tensor, positions: Tensor, chosen: Tensor) -> Tensor:
        net = self._net
        state = net.prepare(text[None], torch.tensor([len(text)]))
        vectors = net.embedding(self.words[chosen]).double()  # (W, dim)
        parts = []
        for position in positions.tolist():
            first = net.first[position].double() if net.is_flat else net.first[0].double() / len(text)
            hidden = (vectors - net.embedding(text[position]).double()) @ first + state.hidden[0]
            parts.append(net.affine(net.last, torch.relu(hidden)))
        return torch.stack(parts) if parts else torch.empty(0, len(chosen), net.last.out_features)


class _ShallowSweep(Sweep):
    """One layer of convolutions and max-pool."""

    in_threads = True

    def __init__(self, net: CnnNet, shallow: ShallowCnn, words: Tensor) -> None:
        super().__init__(words)
        self._net, self._shallow = net, shallow
        self._added = shallow.added(words)  # (V, width, filters)
        self.error = self._rounded()

    def _rounded(self) -> float:
        """n u / (1 - n u) times the largest sum of |weight| |feature| over texts of these words and their neighbors.

        A dot product of n float32 numbers is off by no more, in whatever order it is summed (Higham 2002, section 3.1).
        """
        last, unit = self._net.last, 2.0**-24
        largest = self._shallow.largest_feature()
        terms = last.in_features + 2
        sums = (last.weight.abs().double() @ largest.double() + last.bias.abs().double()).max()
        return float(sums) * terms * unit / (1 - terms * unit)

    def logits(self, text: Tensor, positions: Tensor, chosen: Tensor) -> Tensor:
        with self.lock:
            around, floor = self._shallow.around(text, positions)  # (P, width, filters), (P, filters)
        added = self._added if len(chosen) == len(self.words) else self._added[chosen]
        width, filters = around.shape[1:]
        last = self._net.last
        found = torch.empty(len(positions), len(chosen), last.out_features)
        step = max(16, _CELLS // (filters * max(1, len(positions))))
        first, second = torch.empty(2, len(positions), step, filters)
        for begin in range(0, len(chosen), step):
            part = added[begin : begin + step]
            best, other = first[:, : len(part)], second[:, : len(part)]
            torch.add(part[None, :, 0], around[:, None, 0], out=best)
            for place in range(1, width):
                torch.add(part[None, :, place], around[:, None, place], out=other)
                torch.maximum(best, other, out=best)
            torch.maximum(best, floor[:, None], out=best)
            found[:, begin : begin + step] = torch.nn.functional.linear(best, last.weight, last.bias)
        return found
