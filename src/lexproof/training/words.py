"""Training of word models: vocabulary, vectors, and the defaults of each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lexproof import registry
from lexproof.data.vectors import Matrix, read_vectors
from lexproof.errors import InputError
from lexproof.text import Input
from lexproof.training import Labelled, Vectors
from lexproof.training.plan import Plan
from lexproof.training.recipe import Recipe
from lexproof.training.vectors import vectors_for
from lexproof.training.word_learner import WordLearner
from lexproof.victims.vocabulary import Vocabulary
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
    train: Labelled,
    *,
    valid: Labelled,
    labels: Sequence[str],
    vectors: Vectors | Path | str | None,
    plan: Plan,
    options: Mapping[str, Any],
) -> WordVictim:
    """A trained word model."""
    chosen = {**DEFAULTS[kind], **plan.defense.defaults(kind), **options}
    recipe = WordRecipe(**{name: value for name, value in chosen.items() if name in _RECIPE})
    given = None if vectors is None else _given(vectors)
    start = _start(kind, train[0], labels, given, chosen, recipe, plan) if plan.start is None else _copied(plan, labels)
    learner = WordLearner(start, recipe.unknown_rate)
    frozen = start.net.embedding if recipe.freeze_vectors else None
    record = plan.run(learner, recipe, train, valid, frozen) | {"pretrained": given is not None} | _inherited(plan)
    return type(start)(
        start.vocabulary, labels, settings=start.settings, weights=start.net.state_dict(), training=record
    )


_RECIPE = {field.name for field in fields(WordRecipe)}


def _start(
    kind: str,
    texts: Sequence[Input],
    labels: Sequence[str],
    given: tuple[Sequence[str], Matrix] | None,
    chosen: dict[str, Any],
    recipe: WordRecipe,
    plan: Plan,
) -> WordVictim:
    """The untrained model."""
    victim_type: type[WordVictim] = registry.get("victims", kind)
    if given is not None:
        chosen["dim"] = _width(given[1], chosen.get("dim"))
    names = {field.name for field in fields(victim_type.settings_type)}
    settings = victim_type.settings_type(**{name: value for name, value in chosen.items() if name in names})
    vocabulary = Vocabulary.of(texts, recipe.vocabulary_size, () if given is None else given[0])
    start = victim_type(vocabulary, labels, settings=settings, seed=plan.seed)
    with torch.no_grad():
        if given is None:
            start.net.embedding.weight.mul_(_SMALL)
        else:
            matrix = vectors_for(vocabulary, *given, np.random.default_rng(plan.seed))
            start.net.embedding.weight.copy_(torch.from_numpy(matrix))
    return start


def _copied(plan: Plan, labels: Sequence[str]) -> WordVictim:
    """A copy of the model to go on from: that one stays as it is."""
    old = plan.start
    assert isinstance(old, WordVictim)
    weights = {name: tensor.clone() for name, tensor in old.net.state_dict().items()}
    return type(old)(old.vocabulary, labels, settings=old.settings, weights=weights)


def _inherited(plan: Plan) -> dict[str, Any]:
    """What the model to go on from has decided: its record goes before this training's options."""
    known: Mapping[str, Any] = getattr(plan.start, "training", {})
    return {name: known[name] for name in ("vocabulary_size", "pretrained") if name in known}


def word_options(kind: str, *, started: bool) -> set[str]:
    """The names of the options that a training of this kind takes: its shape is given if it goes on from a model."""
    victim_type: type[WordVictim] = registry.get("victims", kind)
    shape = set() if started else {field.name for field in fields(victim_type.settings_type)}
    return shape | (_RECIPE - {"vocabulary_size"} if started else _RECIPE)


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
