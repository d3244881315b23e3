"""Word models evaluated whole, in float64: rows of any length and any places side by side, for descent only.

The graphs that bounds are made of keep only what the open tokens reach, and rows of different structure apart; of a
recurrent network that is every word of a text by itself.  Descent needs no bounds, and is quicker on all of them
together.

Guarantee: `graph(rows).value(x)` is the victim's logits for the texts whose open tokens have the scaled vectors x,
computed in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor

from lexproof.bounds.ball_network import Movable
from lexproof.victims.balls import Opened
from lexproof.victims.base import Victim
from lexproof.victims.open_tokens import OpenTokens
from lexproof.victims.scale import Scale
from lexproof.victims.vocabulary import PAD
from lexproof.victims.word_net import WordNet
from lexproof.victims.words import WordVictim


@dataclass(frozen=True, slots=True, eq=False)
class WholeRows:
    """Texts with K open tokens each, as a `Movable`."""

    net: WordNet
    scale: Scale
    embedded: Tensor  # (N, L, d), unscaled, 0 after each text's end
    lengths: Tensor  # (N,)
    places: Tensor  # (N, K)

    @property
    def center(self) -> Tensor:
        """The scaled vectors of the open tokens: (N, K, d)."""
        return self.scale.scaled(self.embedded[torch.arange(len(self.places))[:, None], self.places])

    @property
    def low(self) -> Tensor:
        """Zeros."""
        return torch.zeros_like(self.center)

    @property
    def high(self) -> Tensor:
        """The top of the scale."""
        return self.scale.top.expand_as(self.center)

    def graph(self, rows: Tensor) -> WholeRows:
        """These rows alone."""
        longest = int(self.lengths[rows].max())
        return WholeRows(self.net, self.scale, self.embedded[rows, :longest], self.lengths[rows], self.places[rows])

    def value(self, given: Tensor) -> Tensor:
        """The logits of all rows, their open tokens at these scaled vectors."""
        at = self.places[:, :, None].expand_as(given)
        return self.net.logits(self.embedded.scatter(1, at, self.scale.raw(given)), self.lengths)


def movable(victim: Victim, found: Opened) -> list[tuple[list[int], Movable]]:
    """What descent moves in, with the numbers of its items: the groups, or whole rows of a recurrent network."""
    if not isinstance(victim, WordVictim) or victim.kind not in ("lstm", "bilstm"):
        return [(group.items, group.network) for group in found.groups]
    read = [number for number, own in enumerate(found.tokens) if len(own.places)]
    parts = whole_rows(victim, found.scale, [found.tokens[number] for number in read])
    return [([read[k] for k in numbers], rows) for numbers, rows in parts]


def whole_rows(victim: WordVictim, scale: Scale, tokens: Sequence[OpenTokens]) -> list[tuple[list[int], WholeRows]]:
    """The rows of each number of open tokens, none of them 0, with their numbers among `tokens`."""
    net = deepcopy(victim.net).double().eval().requires_grad_(False)
    groups: dict[int, list[int]] = {}
    for number, own in enumerate(tokens):
        groups.setdefault(len(own.places), []).append(number)
    return [(numbers, _rows(net, scale, [tokens[k] for k in numbers])) for numbers in groups.values()]


def _rows(net: WordNet, scale: Scale, tokens: Sequence[OpenTokens]) -> WholeRows:
    lengths = torch.tensor([len(own.ids) for own in tokens])
    ids = torch.full((len(tokens), int(lengths.max())), PAD)
    for row, own in enumerate(tokens):
        ids[row, : len(own.ids)] = torch.from_numpy(own.ids)
    places = torch.stack([torch.from_numpy(own.places) for own in tokens])
    return WholeRows(net, scale, net.embedding(ids), lengths, places)
