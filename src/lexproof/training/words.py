"""Training of word models: vocabulary, vectors, defaults of each kind, and batches for the loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lexproof import registry
from lexproof.data.vectors import Matrix, read_vectors
from lexproof.errors import InputError
from lexproof.text import Input
from lexproof.training import Labelled, Vectors, known_options
from lexproof.training.loop import Progress, Recipe, bucketed, fit
from lexproof.training.vectors import vectors_for
from lexproof.victims.vocabulary import PAD, UNKNOWN, Vocabulary
from lexproof.victims.word_rows import Index, Rows
from lexproof.victims.words import WordVictim


@dataclass(frozen=True, slots=True, kw_only=True)
class WordRecipe(Recipe):
    """How to train a word model.

    `vocabulary_size` most frequent tokens are known, filled up with the first words of the pretrained vectors if there
    is room.  `unknown_rate` of the training tokens are read as `<unk>`, so that the model learns to do without a word.
    `freeze_vectors` keeps the word vectors as they start, given or random: only the layers above them are trained.
    """

    vocabulary_size: int = 30_000
    unknown_rate: float = 0.02
    freeze_vectors: bool = False

    def __post_init__(self) -> None:
        Recipe.__post_init__(self)
        if self.vocabulary_size < 1:
            raise InputError(f"expected vocabulary_size > 0, got {self.vocabulary_size!r}")
        if not 0 <= self.unknown_rate < 1:
            raise InputError(f"expected unknown_rate in [0, 1), got {self.unknown_rate!r}")
        if type(self.freeze_vectors) is not bool:
            raise InputError(f"expected freeze_vectors to be true or false, got {self.freeze_vectors!r}")


_SMALL = 0.1  # scale of random word vectors: large ones drown what is learned in the noise of rare words

DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "mlp": {"vocabulary_size": 20_000, "dropout": 0.2},
    "cnn": {},
    "lstm": {},
    "bilstm": {},
}
"""What differs, by kind, from the defaults of settings and recipe."""


def train_words(
    kind: str,
    texts: Sequence[Input],
    gold: Sequence[int],
    *,
    valid: Labelled,
    labels: Sequence[str],
    vectors: Vectors | Path | str | None,
    seed: int,
    progress: Progress | None,
    options: Mapping[str, Any],
) -> WordVictim:
    """A trained word model."""
    victim_type: type[WordVictim] = registry.get("victims", kind)
    settings_names = {field.name for field in fields(victim_type.settings_type)}
    recipe_names = {field.name for field in fields(WordRecipe)}
    known_options(options, settings_names | recipe_names)
    chosen = {**DEFAULTS[kind], **options}
    recipe = WordRecipe(**{name: value for name, value in chosen.items() if name in recipe_names})
    given = None if vectors is None else _given(vectors)
    if given is not None:
        chosen["dim"] = _width(given[1], options.get("dim"))
    settings = victim_type.settings_type(**{name: v for name, v in chosen.items() if name in settings_names})
    vocabulary = Vocabulary.of(texts, recipe.vocabulary_size, () if given is None else given[0])
    start = victim_type(vocabulary, labels, settings=settings, seed=seed)
    with torch.no_grad():
        if given is None:
            start.net.embedding.weight.mul_(_SMALL)
        else:
            matrix = vectors_for(vocabulary, *given, np.random.default_rng(seed))
            start.net.embedding.weight.copy_(torch.from_numpy(matrix))
    task = _Classify(start, texts, gold, valid, recipe)
    frozen = start.net.embedding if recipe.freeze_vectors else None
    record = fit(start.net, task, recipe, seed=seed, progress=progress, frozen=frozen)
    record |= {"seed": seed, "texts": len(texts), "pretrained": given is not None}
    return victim_type(vocabulary, labels, settings=settings, weights=start.net.state_dict(), training=record)


def _given(vectors: Vectors | Path | str) -> tuple[Sequence[str], Matrix]:
    found = read_vectors(vectors) if isinstance(vectors, Path | str) else vectors
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise InputError(f"expected vectors as a file, or as words and an array, got {type(vectors).__name__}")
    words, matrix = found
    matrix = np.asarray(matrix, np.float32)
    if matrix.ndim != 2 or len(words) != len(matrix) or not matrix.size or not np.isfinite(matrix).all():
        raise InputError(f"expected a finite vector for each of {len(words)} words, got an array {matrix.shape}")
    return words, matrix


def _width(matrix: Matrix, asked: int | None) -> int:
    width = int(matrix.shape[1])
    if asked not in (None, width):
        raise InputError(f"expected dim {width}, that of the vectors, got {asked}; leave one of them out")
    return width


class _Classify:
    """Cross-entropy on token rows."""

    def __init__(
        self,
        victim: WordVictim,
        texts: Sequence[Input],
        gold: Sequence[int],
        valid: Labelled,
        recipe: WordRecipe,
    ) -> None:
        self._victim, self._recipe = victim, recipe
        self._rows, self._gold = victim.encode(texts), np.asarray(gold, np.int64)
        self._valid_rows, self._valid_gold = victim.encode(valid[0]), np.asarray(valid[1])
        self._starts = self._rows.starts

    @property
    def steps(self) -> int:
        """Batches an epoch."""
        return -(-len(self._rows) // self._recipe.batch_size)

    def batches(self, rng: np.random.Generator) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Padded ids, lengths and labels."""
        for chosen in bucketed(self._rows.lengths, self._recipe.batch_size, rng):
            part = _part(self._rows, self._starts, chosen)
            ((order, ids, lengths),) = part.batches(int(part.lengths.max()) * len(part))
            hidden = (rng.random(ids.shape) < self._recipe.unknown_rate) & (ids != PAD)
            ids = np.where(hidden, np.int32(UNKNOWN), ids)
            gold = self._gold[chosen[order]]
            yield torch.from_numpy(ids), torch.from_numpy(lengths), torch.from_numpy(gold)

    def loss(self, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """Mean cross-entropy."""
        ids, lengths, gold = batch
        return nn.functional.cross_entropy(self._victim.net(ids, lengths), gold)

    def accuracy(self) -> float:
        """Share of validation texts that are classified correctly."""
        return float((self._victim.forward(self._valid_rows).argmax(axis=1) == self._valid_gold).mean())


def _part(rows: Rows, starts: Index, chosen: Index) -> Rows:
    return Rows.of([rows.ids[starts[b] : starts[b] + rows.lengths[b]] for b in chosen])
