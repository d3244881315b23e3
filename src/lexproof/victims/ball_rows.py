"""Texts with open tokens as tensors: what the networks of open words of the word models start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lexproof.bounds.graph import Graph
from lexproof.bounds.row_network import RowNetwork
from lexproof.victims.open_tokens import OpenTokens
from lexproof.victims.scale import Scale
from lexproof.victims.word_net import WordNet, mask


@dataclass(frozen=True, slots=True, eq=False)
class OpenRows:
    """Rows with K open tokens each; a text that several rows share is there once."""

    vectors: Tensor  # (T, L, d), float64, 0 after the end of a text
    lengths: Tensor  # (T,)
    text: Tensor  # (N,), the text of each row
    places: Tensor  # (N, K)
    center: Tensor  # (N, K, d), scaled
    scale: Scale

    @classmethod
    def of(cls, net: WordNet, scale: Scale, tokens: Sequence[OpenTokens]) -> OpenRows:
        """The rows of texts with the same number of open tokens."""
        numbers: dict[bytes, int] = {}
        text = [numbers.setdefault(own.ids.tobytes(), len(numbers)) for own in tokens]
        texts = [np.frombuffer(ids, np.int64) for ids in numbers]
        padded = torch.nn.utils.rnn.pad_sequence([torch.tensor(ids) for ids in texts], batch_first=True)
        lengths = torch.tensor([len(ids) for ids in texts])
        vectors = net.embedding.weight[padded].detach().double() * mask(lengths, padded.shape[1])[:, :, None]
        row, places = torch.tensor(text), torch.from_numpy(np.stack([own.places for own in tokens]))
        return cls(vectors, lengths, row, places, scale.scaled(vectors[row[:, None], places]), scale)

    def inside(self, places: Tensor) -> Tensor:
        """Whether places (N,) lie within the text of each row."""
        return (places >= 0) & (places < self.lengths[self.text])

    def at(self, values: Tensor, places: Tensor) -> Tensor:
        """What stands at places (N,) of the rows' texts in values (T, L, F): (N, F); outside of a text anything."""
        return values[self.text, places.clamp(0, values.shape[1] - 1)]

    def network(self, graph: Graph) -> RowNetwork:
        """The network of all rows, whose open tokens move within the box of the scaled embedding."""
        top = self.scale.top.expand_as(self.center)
        return RowNetwork(self.center, torch.zeros_like(self.center), top, graph)
