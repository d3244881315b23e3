"""Transformers as learners."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from lexproof.errors import require
from lexproof.space import Candidates
from lexproof.text import Input, Text
from lexproof.training.learner import Batch, Index, Learner, Options, States
from lexproof.victims.transformer import Transformer
from lexproof.victims.transformer_encoding import Row
from lexproof.victims.transformer_gradients import owners

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn
else:
    torch = require("torch", "transformers", "fine-tuning")

_NO_DECAY = ("bias", "LayerNorm.weight", "layer_norm.weight", "norm.weight")


class TransformerLearner(Learner):
    """A sequence classifier under training."""

    kind = "transformer"

    def __init__(self, victim: Transformer) -> None:
        self.victim = victim
        self.model = victim.model
        self.module: nn.Module = victim.model
        self.classes = victim.classes
        self._table = victim.model.get_input_embeddings()
        self.dim = int(self._table.embedding_dim)
        self.unknown: int | None = victim.encoder.tokenizer.unk_token_id
        self._single: dict[str, int | None] = {}  # the token of a word that is one token

    def encode(self, inputs: Sequence[Input]) -> list[Row]:
        """Token ids and types of each text."""
        return self.victim.encoder.encode(inputs)

    def length(self, row: Row) -> int:
        """Number of tokens, special ones included."""
        return len(row.ids)

    def batch(
        self, rows: Sequence[Row], inputs: Sequence[Input], gold: Index, numbers: Index, rng: np.random.Generator | None
    ) -> Batch:
        """What the model reads; nothing is hidden."""
        given = self.victim.tensors(rows)
        mask = given["attention_mask"].bool()
        return Batch(numbers, tuple(inputs), given["input_ids"], mask, torch.from_numpy(gold), given)

    def vectors(self, ids: Tensor) -> Tensor:
        """Rows of the table of word vectors; positions and types are added to them by the model."""
        found: Tensor = self._table(ids)
        return found

    def logits(self, batch: Batch, vectors: Tensor | None = None) -> Tensor:
        """The model's logits."""
        with self._reading(vectors):
            logits: Tensor = self.victim.call(self._given(batch)).logits
        return logits

    def states(self, batch: Batch, vectors: Tensor | None = None) -> States:
        """Logits, and the last layer's state of the first token."""
        with self._reading(vectors):
            found = self.victim.call(self._given(batch), output_hidden_states=True)
        return States(found.logits, found.hidden_states[-1][:, 0])

    def _given(self, batch: Batch) -> dict[str, Tensor]:
        return {**batch.given, "input_ids": batch.ids}

    @contextmanager
    def _reading(self, vectors: Tensor | None) -> Iterator[None]:
        """Within, the model looks these vectors up instead of its own.

        By a hook, since not every model takes vectors as an argument and numbers positions as it does for ids.
        """
        if vectors is None:
            yield
            return
        left = [vectors]

        def replace(module: object, inputs: object, output: Tensor) -> Tensor:
            return left.pop() if left else output  # the first look-up is that of the text

        hook = self._table.register_forward_hook(replace)
        try:
            yield
        finally:
            hook.remove()

    def options(self, inputs: Sequence[Input], candidates: Candidates) -> list[Options]:
        """Substitutes that are one token for words that are one token."""
        texts = [
            Text.parse(given) if isinstance(given, str) else Text.parse(given[1], premise=given[0]) for given in inputs
        ]
        choices = [candidates(text) for text in texts]
        self._look_up({option for own in choices for options in own for option in options})
        spans = self.victim.encoder.spans([text.input for text in texts])
        return [self._options(text, own, at) for text, own, at in zip(texts, choices, spans, strict=True)]

    def _options(self, text: Text, choices: Sequence[Sequence[str]], spans: Sequence[tuple[int, int]]) -> Options:
        ends = np.cumsum([len(piece) for pair in zip(text.gaps, (*text.words, ""), strict=True) for piece in pair])
        words = list(zip(ends[0::2].tolist(), ends[1::2].tolist(), strict=True))[: len(text)]
        owned = owners(spans, words)
        at: list[int] = []
        token: list[int] = []
        for t in range(len(owned)):
            w = int(owned[t])
            if w < 0 or np.count_nonzero(owned == w) != 1:
                continue
            found = [self._single[option] for option in choices[w]]
            token += [own for own in found if own is not None]
            at += [t] * (len(token) - len(at))
        return Options(np.array(at, np.int64), np.array(token, np.int64))

    def _look_up(self, words: set[str]) -> None:
        """Remember the token of each word as written inside a text."""
        new = sorted(words - self._single.keys())
        before, after = "a ", " a"
        spans = [(len(before), len(before) + len(word)) for word in new]
        runs = self.victim.encoder.held([before + word + after for word in new], spans)
        self._single |= {
            word: int(run[0]) if len(run) == 1 and run[0] != self.unknown else None
            for word, run in zip(new, runs, strict=True)
        }

    def optimizer(self, recipe: Any, beside: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
        """AdamW; biases and scales of layer norms do not decay."""
        trained = [(name, weight) for name, weight in self.module.named_parameters() if weight.requires_grad]
        decaying = [weight for name, weight in trained if not name.endswith(_NO_DECAY)]
        others = [weight for name, weight in trained if name.endswith(_NO_DECAY)]
        groups = [
            {"params": [*decaying, *beside], "weight_decay": recipe.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=recipe.learning_rate, fused=True)

    def snapshot(self) -> Transformer:
        """A copy."""
        victim = self.victim
        model = deepcopy(self.model)
        return Transformer.of(model, victim.encoder.tokenizer, victim.labels, max_length=victim.encoder.max_length)

    def accuracy(self, inputs: Sequence[Any], gold: Index) -> float:
        """Share of rows that are classified correctly."""
        return float((self.victim.forward(inputs).argmax(axis=1) == gold).mean())
