"""Word models as learners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lexproof.points import IntArray
from lexproof.space import Candidates, Space
from lexproof.text import Input, Text
from lexproof.training.learner import Batch, Index, Learner, Options, States
from lexproof.training.recipe import Recipe
from lexproof.victims.vocabulary import PAD, UNKNOWN
from lexproof.victims.word_rows import Rows
from lexproof.victims.words import WordVictim


class WordLearner(Learner):
    """A word model under training; `unknown_rate` of the tokens of a batch are read as `<unk>`."""

    def __init__(self, victim: WordVictim, unknown_rate: float = 0.0) -> None:
        self.victim, self._unknown_rate = victim, unknown_rate
        self.kind, self.classes = victim.kind, victim.classes
        self.net = victim.net
        self.module: nn.Module = victim.net
        self.dim = victim.settings.dim
        self.unknown = UNKNOWN

    def encode(self, inputs: Sequence[Input]) -> list[IntArray]:
        """Token ids of each text."""
        return list(self.victim.encode(inputs))

    def length(self, row: IntArray) -> int:
        """Number of tokens."""
        return len(row)

    def batch(
        self,
        rows: Sequence[IntArray],
        inputs: Sequence[Input],
        gold: Index,
        numbers: Index,
        rng: np.random.Generator | None,
    ) -> Batch:
        """Ids padded with 0, and lengths; the shortest text first."""
        part = Rows.of(rows)
        ((order, ids, lengths),) = part.batches(int(part.lengths.max()) * len(part))
        if rng is not None:
            hidden = (rng.random(ids.shape) < self._unknown_rate) & (ids != PAD)
            ids = np.where(hidden, np.int32(UNKNOWN), ids)
        tensor, sizes = torch.from_numpy(ids), torch.from_numpy(lengths)
        real = torch.arange(ids.shape[1]) < sizes[:, None]
        texts = tuple(inputs[b] for b in order)
        return Batch(numbers[order], texts, tensor, real, torch.from_numpy(gold[order]), {"lengths": sizes})

    def vectors(self, ids: Tensor) -> Tensor:
        """Rows of the embedding."""
        found: Tensor = self.net.embedding(ids)
        return found

    def logits(self, batch: Batch, vectors: Tensor | None = None) -> Tensor:
        """Logits of ids or of word vectors, which are 0 at padding."""
        # not by the network's own call: outside training it looks its first layer up, where gradients cannot pass
        return self.net.logits(self.vectors(batch.ids) if vectors is None else vectors, batch.given["lengths"])

    def states(self, batch: Batch, vectors: Tensor | None = None) -> States:
        """Logits, and what the network's last layer reads."""
        vectors = self.vectors(batch.ids) if vectors is None else vectors
        return States(*self.net.states(vectors, batch.given["lengths"]))

    def options(self, inputs: Sequence[Input], candidates: Candidates) -> list[Options]:
        """Substitutes that are one token in place of one token, where no word runs together with its neighbors.

        A word that the model does not know is `<unk>` to it, and counts as such.
        """
        return [self._options(given, candidates) for given in inputs]

    def _options(self, given: Input, candidates: Candidates) -> Options:
        text = Text.parse(given) if isinstance(given, str) else Text.parse(given[1], premise=given[0])
        bound = self.victim.bind(Space(text, candidates(text), 1))
        columns, sizes = bound.columns, bound.space.sizes
        word = np.repeat(np.arange(len(sizes)), sizes)
        choice = np.arange(len(word)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
        first = columns.first[word]
        token, old = columns.token[first + choice].astype(np.int64), columns.token[first].astype(np.int64)
        at = columns.start[word]
        kept = (at < len(columns.ids)) & (token >= UNKNOWN) & (old > UNKNOWN) & (token != old) & bound.is_local
        # words that the model does not know are one and the same to it
        _, first_of = np.unique(np.stack([at[kept], token[kept]]), axis=1, return_index=True)
        first_of.sort()
        return Options(at[kept][first_of], token[kept][first_of])

    def optimizer(self, recipe: Recipe, beside: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
        """Adam."""
        trained = [weight for weight in self.module.parameters() if weight.requires_grad]
        return torch.optim.Adam(
            [*trained, *beside], lr=recipe.learning_rate, weight_decay=recipe.weight_decay, fused=True
        )

    def snapshot(self) -> WordVictim:
        """A copy."""
        victim = self.victim
        weights = {name: tensor.detach().clone() for name, tensor in self.net.state_dict().items()}
        return type(victim)(victim.vocabulary, victim.labels, settings=victim.settings, weights=weights)

    def accuracy(self, inputs: Sequence[Any], gold: Index) -> float:
        """Share of token rows that are classified correctly."""
        return float((self.victim.forward(Rows.of(inputs)).argmax(axis=1) == gold).mean())
