"""What the torch networks behind word models have in common: from ids to logits, in full or by single-token swaps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor, nn

from lexproof.errors import InputError
from lexproof.victims.vocabulary import PAD


@dataclass(frozen=True, slots=True, kw_only=True)
class WordSettings:
    """Shape of a word model: size of the word vectors, number of tokens read, share of features dropped in training."""

    dim: int = 100
    max_length: int = 400
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "int" and (type(value) is not int or value < 1):
                raise InputError(f"expected {field.name} to be a whole number of at least 1, got {value!r}")
        if not isinstance(self.dropout, int | float) or not 0 <= self.dropout < 1:
            raise InputError(f"expected dropout in [0, 1), got {self.dropout!r}")


class WordNet(nn.Module, ABC):
    """Token ids to logits.  The logits of a text are the same in any batch: what is padded has no effect on them."""

    def __init__(self, words: int, settings: WordSettings) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, settings.dim, padding_idx=PAD)  # the vector of <pad> is and stays 0
        self.dropout = nn.Dropout(settings.dropout)
        self.max_length = settings.max_length

    @abstractmethod
    def states(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (B, classes) of word vectors (B, L, dim), which are 0 at and after each text's length.

        Beside them what becomes of the whole text (B, g) before the last layer reads it, from the same pass.
        """

    def logits(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        """The logits alone."""
        return self.states(embedded, lengths)[0]

    @abstractmethod
    def prepare(self, ids: Tensor, lengths: Tensor) -> Any:
        """Whatever `swap` can reuse of these texts (M, L)."""

    @abstractmethod
    def swap(self, state: Any, rows: Tensor, positions: Tensor, ids: Tensor) -> Tensor:
        """Logits (B, classes) of text `rows[b]` with token `positions[b]` set to `ids[b]`; exact up to rounding."""

    def affine(self, layer: nn.Linear, features: Tensor) -> Tensor:
        """The last layer; outside training in float64, so that large weights do not add to the error of a feature."""
        if self.training:
            logits: Tensor = layer(features)
            return logits
        return nn.functional.linear(features.double(), layer.weight.double(), layer.bias.double())

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Logits (B, classes) of ids (B, L) padded with 0."""
        return self.logits(self.embedding(ids), lengths)


def mask(lengths: Tensor, width: int) -> Tensor:
    """Which of `width` places lie within each text: (B, width)."""
    return torch.arange(width) < lengths[:, None]
