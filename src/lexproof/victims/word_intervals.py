"""Intervals of word models over all swaps of a batch of texts: quick and differentiable, to be trained on.

Guarantee, up to rounding: with any tokens of a text replaced by their substitutes (or at most `budget` of them), the
margin of its gold class over class k is at least `margins[b, k]`.  They are the margins of certify's interval method,
which goes text by text and in float64; here the numbers are float32 and nothing is left for rounding, so that they
are a loss and an estimate, not a certificate.

The first affine layer is applied to every substitute before the box is taken, so that its box is the exact one of the
word set.  Each token of the batch is multiplied once, however often it occurs; only places with substitutes take ends.
A budget narrows the first layer's box and no later one, as each unit spends it on words of its own; a recurrent network
has no sum over words, so there only a budget of 0 says anything.

Symbols: B texts of at most L tokens, P places with substitutes, d numbers that a token adds to the first layer, F
features that the last layer reads, C classes.
Reference: Jia, Raghunathan, Göksel and Liang 2019, Certified Robustness to Adversarial Word Substitutions, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from lexproof.bounds.first_ops import SumOfWords
from lexproof.bounds.gates import CellState, HiddenState
from lexproof.bounds.graph import Box
from lexproof.bounds.recurrence import Recurrent
from lexproof.bounds.region import SwapRegion
from lexproof.bounds.relu import Relu
from lexproof.errors import NoRule
from lexproof.victims.cnn import CnnNet
from lexproof.victims.lstm import BiLstmNet, LstmNet
from lexproof.victims.mlp import MlpNet
from lexproof.victims.swap_sets import SwapSets, changes
from lexproof.victims.word_net import WordNet, mask


@dataclass(frozen=True, slots=True, eq=False)
class Swapping:
    """Texts with their swaps, how far each substitute counts, and how many swaps a text allows."""

    sets: SwapSets
    scale: float = 1.0
    """Boxes are shrunk by this factor towards the text itself: 0 is the text alone, 1 all of its swaps."""
    budget: Tensor | None = None
    """(B,) swaps; None allows all."""

    def region(self, original: Tensor, low: Tensor, high: Tensor) -> SwapRegion:
        """The texts as a region, from the ends of the changes (B, L, d): a sum over words sees nothing else of them."""
        assert self.budget is not None
        places = torch.arange(original.shape[1]).expand(original.shape[:2])
        return SwapRegion(original, places, torch.stack([low, high], 2), self.budget)


class Features(NamedTuple):
    """A box of what the last layer reads (B, F), that layer, and what it reads of the texts themselves, if known."""

    box: Box
    weight: Tensor
    bias: Tensor
    text: Tensor | None = None

    def dropped(self, dropout: nn.Dropout) -> Features:
        """With some features left out: the same of the box and of the texts."""
        kept = dropout(torch.ones_like(self.box.low))  # never negative, so the ends stay in order
        box = Box(self.box.low * kept, self.box.high * kept)
        return self._replace(box=box, text=None if self.text is None else self.text * kept)

    def margins(self, gold: Tensor) -> Tensor:
        """Lower bounds of the margins of the gold classes (B,) over all classes: (B, C), 0 for the gold class itself.

        Each margin is one form of the features: two bounds of logits would each take a worst case of its own.
        """
        low, high = self.box
        forms = self.weight[:, None] - self.weight  # (C, C, F)
        spread = ((high - low) / 2 @ forms.abs().flatten(0, 1).T).view(-1, *forms.shape[:2])  # (B, C, C)
        logits = nn.functional.linear((low + high) / 2, self.weight, self.bias)
        rows = torch.arange(len(gold))
        least: Tensor = logits[rows, gold][:, None] - logits - spread[rows, gold]
        return least


def features(net: WordNet, given: Swapping) -> Features:
    """A box of what the last layer reads over all swaps of the texts; NoRule for a network of another kind."""
    if isinstance(net, MlpNet):
        return _mlp(net, given)
    if isinstance(net, CnnNet):
        from lexproof.victims.cnn_intervals import cnn_features

        return cnn_features(net, given)
    if isinstance(net, LstmNet | BiLstmNet):
        return _lstm(net, given)
    raise NoRule(f"no interval rule for the network {type(net).__name__!r}")


class _Added(NamedTuple):
    """What the token at each place adds to the first layer, and the ends of what swaps change of it: (B, L, d) each."""

    original: Tensor
    low: Tensor
    high: Tensor


def _mlp(net: MlpNet, given: Swapping) -> Features:
    sets, length = given.sets, given.sets.slots.shape[1]
    if net.is_flat:
        every = torch.einsum("blkd,ldh->blkh", net.embedding(sets.tokens)[sets.dense()], net.first[:length])
        original = every[:, :, 0]
        added = _Added(original, *(given.scale * (end - original) for end in (every.amin(2), every.amax(2))))
    else:
        shares = _looked_up(given, net.embedding(sets.tokens) @ net.first[0])
        added = _Added(*(part / sets.lengths[:, None, None] for part in shares))
    first = SumOfWords(net.bias, length)
    if given.budget is None:
        hidden = first.interval(Box(added.original + added.low, added.original + added.high))
    else:
        hidden = first.budgeted(given.region(*added))
    return Features(Relu().interval(hidden), net.last.weight, net.last.bias)


def _looked_up(given: Swapping, table: Tensor) -> _Added:
    """What tokens add, from a row for each of them (T, d)."""
    sets = given.sets
    original = table[sets.slots]
    none = torch.zeros_like(original).flatten(0, 1)
    low, high = (
        none.index_copy(0, sets.places, end).view(original.shape) for end in changes(table, sets.columns, given.scale)
    )
    return _Added(original, low, high)


def _lstm(net: LstmNet | BiLstmNet, given: Swapping) -> Features:
    lstms = [net.lstm] if isinstance(net, LstmNet) else [net.ahead, net.back]
    weights, sets = [lstm.all_weights[0] for lstm in lstms], given.sets
    weight, bias = torch.cat([own[0] for own in weights]), torch.cat([own[2] + own[3] for own in weights])
    added = _looked_up(given, nn.functional.linear(net.embedding(sets.tokens), weight, bias))
    may = 1.0 if given.budget is None else (given.budget > 0)[:, None, None]
    box = Box(added.original + may * added.low, added.original + may * added.high)
    parts = [Box(*ends) for ends in zip(*(end.chunk(len(lstms), 2) for end in box), strict=True)]
    texts, length = torch.arange(len(sets.lengths)), sets.slots.shape[1]
    if isinstance(net, LstmNet):
        low, high = (end[texts, sets.lengths - 1] for end in _states(net.lstm, parts[0]))
        return Features(Box(low, high), net.last.weight, net.last.bias)
    from_end = (sets.lengths[:, None] - 1 - torch.arange(length)).clamp(min=0)
    back = Box(*(end[texts[:, None], from_end] for end in parts[1]))
    outside = ~mask(sets.lengths, length)[:, :, None]
    low, high = (
        torch.cat([end.masked_fill(outside, -torch.inf).amax(1) for end in ends], 1)
        for ends in zip(_states(net.ahead, parts[0]), _states(net.back, back), strict=True)
    )
    return Features(Box(low, high), net.last.weight, net.last.bias)


def _states(lstm: nn.LSTM, box: Box) -> Box:
    """The hidden states (B, L, U) after each word, for what words send to the gates (B, L, 4 U)."""
    units = lstm.hidden_size
    start = box.low.new_zeros(len(box.low), units)
    state, cell = Box(start, start), Box(start, start)
    step, found = Recurrent(lstm.all_weights[0][1], 0, 0, 1, 4 * units), []
    # split once: a part taken at each step would have the gradient of the whole at each step
    for word in zip(torch.split(box.low, 1, 1), torch.split(box.high, 1, 1), strict=True):
        low, high = step.interval(Box(*word), state)
        cell = CellState().interval(Box(low[:, : 3 * units], high[:, : 3 * units]), cell)
        state = HiddenState().interval(Box(low[:, 3 * units :], high[:, 3 * units :]), cell)
        found.append(state)
    lows, highs = zip(*found, strict=True)
    return Box(torch.stack(lows, 1), torch.stack(highs, 1))
