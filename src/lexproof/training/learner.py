"""A learner: a victim under training, as the loop and the defenses see it, whatever network it is.

Word models and transformers answer the same calls: a batch of texts becomes token ids, ids become vectors, vectors
become logits.  A defense may change any of the three on the way.

Symbols: B texts of at most L tokens, vectors of d numbers, C classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lexproof.space import Candidates
from lexproof.text import Input
from lexproof.victims.base import Victim

Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Batch:
    """Some training texts as tensors, padded to the longest of them."""

    numbers: Index
    """(B,) which training examples they are; those that a defense added come after the given ones."""
    inputs: tuple[Input, ...]
    """The texts, as the defense changed them."""
    ids: Tensor
    """(B, L) tokens."""
    real: Tensor
    """(B, L) which tokens belong to a text; the others are padding."""
    gold: Tensor
    """(B,) labels."""
    given: Mapping[str, Tensor] = field(default_factory=dict)
    """What the network reads beside the ids."""


@dataclass(frozen=True, slots=True)
class Options:
    """The substitutes of one text as tokens: token `at[s]` of its row may become `token[s]`."""

    at: Index
    token: Index


class Learner(ABC):
    """A network, its vocabulary or tokenizer, and the victim that it becomes."""

    kind: str
    module: nn.Module
    classes: int
    dim: int
    unknown: int | None
    """The token that stands for what is not known, if there is one."""

    @abstractmethod
    def encode(self, inputs: Sequence[Input]) -> Sequence[Any]:
        """What `batch` takes for each text."""

    @abstractmethod
    def length(self, row: Any) -> int:
        """The number of tokens of an encoded text."""

    @abstractmethod
    def batch(
        self, rows: Sequence[Any], inputs: Sequence[Input], gold: Index, numbers: Index, rng: np.random.Generator | None
    ) -> Batch:
        """The texts as tensors; with `rng` as they are trained on (some words may be hidden), else as they are."""

    @abstractmethod
    def vectors(self, ids: Tensor) -> Tensor:
        """The vectors of tokens (...) in the network's table: (..., d), with gradients to the table."""

    @abstractmethod
    def logits(self, batch: Batch, vectors: Tensor | None = None) -> Tensor:
        """Logits (B, C) of the batch, or of the same texts with these word vectors (B, L, d) in place of their own."""

    @abstractmethod
    def states(self, batch: Batch, vectors: Tensor | None = None) -> States:
        """Logits, and what the network makes of the text before its last layer, from the same pass."""

    @abstractmethod
    def options(self, inputs: Sequence[Input], candidates: Candidates) -> list[Options]:
        """The substitutes of each text that stand for one token in place of one token; others are left out."""

    @abstractmethod
    def optimizer(self, recipe: Any, beside: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
        """An optimizer of the network and of the parameters that a defense trains beside it."""

    @abstractmethod
    def snapshot(self) -> Victim:
        """A victim with a copy of the present weights, to be attacked; training goes on without it."""

    @abstractmethod
    def accuracy(self, inputs: Sequence[Any], gold: Index) -> float:
        """Share of encoded texts that are classified correctly, the module in evaluation mode."""


@dataclass(frozen=True, slots=True)
class States:
    """One forward pass: logits (B, C), text states (B, g)."""

    logits: Tensor
    text: Tensor


def stacked(batch: Batch, options: Sequence[Options]) -> tuple[Tensor, Tensor]:
    """Each token of a batch with its substitutes: ids (B, L, K), the token itself first, and which of them are real.

    Where a token has fewer than K - 1 substitutes, and at padding, the rest repeats the token itself and is not real;
    the token itself always is.  K is 1 if no token has any.
    """
    ranks = [_ranks(own.at) for own in options]
    depth = 1 + max((int(rank.max(initial=-1)) + 1 for rank in ranks), default=0)
    ids = batch.ids[:, :, None].expand(-1, -1, depth).clone().long()
    is_real = torch.zeros(ids.shape, dtype=torch.bool)
    is_real[:, :, 0] = True
    width = ids.shape[1]
    for b, (own, rank) in enumerate(zip(options, ranks, strict=True)):
        kept = own.at < width
        where = torch.from_numpy(own.at[kept]), torch.from_numpy(rank[kept] + 1)
        ids[b][where] = torch.from_numpy(own.token[kept])
        is_real[b][where] = True
    return ids, is_real


def _ranks(at: Index) -> Index:
    """The number of each among those with the same place; places are in ascending order."""
    return np.arange(len(at)) - np.searchsorted(at, at)
