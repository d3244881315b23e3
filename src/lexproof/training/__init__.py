"""Train a classifier of any kind from texts and labels.

    victim = lexproof.train("cnn", texts, labels, valid=(texts, labels), vectors="glove.npz", seed=0)
    victim.save("models/reviews")

The same seed, data and machine give the same weights.  The epoch that is best on the validation texts is kept.
Training writes nothing but its checkpoint, if one is asked for: an interrupted run leaves no half model behind.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lexproof.errors import InputError, UnknownName, require
from lexproof.text import Input
from lexproof.victims.folder import WORD_KINDS

if TYPE_CHECKING:
    from lexproof.candidates import Source
    from lexproof.training.defense import Defense
    from lexproof.training.loop import Progress
    from lexproof.training.plan import Plan
    from lexproof.victims.base import Victim
    from lexproof.victims.transformer import Transformer
    from lexproof.victims.words import WordVictim

KINDS = (*WORD_KINDS, "transformer")
Labelled = tuple[Sequence[Input], Sequence[int]]
"""Texts and their labels."""

Vectors = tuple[Sequence[str], np.ndarray[Any, Any]]
"""Words and their vectors, one row a word."""


def train(
    kind: str,
    texts: Sequence[Input],
    labels: Sequence[int],
    *,
    valid: Labelled | None = None,
    label_names: Sequence[str] | None = None,
    vectors: Vectors | Path | str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    start: Victim | None = None,
    checkpoint: Path | str | None = None,
    defense: Defense | None = None,
    synonyms: Source | None = None,
    **options: Any,
) -> WordVictim | Transformer:
    """A victim of this kind, trained on texts (or pairs) and labels 0, 1, …

    Without `valid`, a tenth of the texts is held out, by the seed.  `vectors` are pretrained word vectors for word
    models (pairs of words and rows, or what `read_vectors` reads).  `start` is a victim of this kind to go on from.
    With `checkpoint`, a file, an interrupted training resumes when it is asked for again, to the same weights; once the
    model is saved, it can go.  `defense` and `synonyms` are what `lexproof.harden` sets.  `options` set fields of the
    kind's settings (such as `filters`) or of its recipe (such as `epochs`); each kind has its own defaults.
    """
    if kind not in KINDS:
        raise UnknownName("kind of model", kind, KINDS)
    classes = check_labelled(texts, labels, valid, label_names)
    names = tuple(map(str, range(classes))) if label_names is None else tuple(label_names)
    require("torch", "transformers" if kind == "transformer" else "torch", f"training a {kind} model")
    _check_start(kind, start, names, vectors)
    from lexproof.training.defense import Defense
    from lexproof.training.plan import Plan

    plan = Plan(
        defense=defense or Defense(),
        synonyms=synonyms,
        checkpoint=None if checkpoint is None else Path(checkpoint),
        start=start,
        seed=seed,
        progress=progress,
    )
    known_options(options, option_names(kind, started=start is not None))
    plan.defense.check(kind, options)
    if valid is None:
        (texts, labels), valid = hold_out(texts, labels, seed)
    if kind == "transformer":
        return _train_transformer((texts, labels), valid, names, plan, options)
    from lexproof.training.words import train_words

    return train_words(kind, (texts, labels), valid=valid, labels=names, vectors=vectors, plan=plan, options=options)


def _train_transformer(
    train: Labelled, valid: Labelled, names: Sequence[str], plan: Plan, options: dict[str, Any]
) -> Transformer:
    from lexproof.training.transformer import Recipe, train_transformer

    options = {**plan.defense.defaults("transformer"), **options}
    body = options.pop("body", None)
    if body is not None and not isinstance(body, str | Path):
        raise InputError(f"expected body to be a folder or a name, got {body!r}")
    return train_transformer(*train, body=body, label_names=names, valid=valid, recipe=Recipe(**options), plan=plan)


def _check_start(kind: str, start: Victim | None, names: Sequence[str], vectors: object) -> None:
    if kind == "transformer" and vectors is not None:
        raise InputError("expected no word vectors for a transformer, got some; leave out `vectors`")
    if start is None:
        return
    if start.kind != kind:
        raise InputError(f"expected a {kind} model to go on from, got {start.kind!r}")
    if vectors is not None:
        raise InputError("expected no word vectors with a model to go on from, got some; leave out `vectors`")
    if len(start.labels) != len(names):
        raise InputError(f"expected {len(start.labels)} classes, those of the model to go on from, got {len(names)}")


def option_names(kind: str, *, started: bool = False) -> set[str]:
    """The options that a training of this kind takes; fewer if it goes on from a model, which has its shape."""
    if kind != "transformer":
        from lexproof.training.words import word_options

        return word_options(kind, started=started)
    from lexproof.training.transformer import Recipe

    names = {field.name for field in fields(Recipe)}
    return names - {"layers", "max_length"} if started else names | {"body"}


def known_options(options: Mapping[str, Any], known: Collection[str]) -> None:
    """UnknownName if there is an option that nothing reads."""
    for name in options:
        if name not in known:
            raise UnknownName("training option", name, known)


def check_labelled(
    texts: Sequence[Input], labels: Sequence[int], valid: Labelled | None, names: Sequence[str] | None
) -> int:
    """The number of classes, or InputError if nothing can be learned from these texts."""
    for name, inputs, gold in (("training", texts, labels), ("validation", *(valid or (texts, labels)))):
        if len(inputs) != len(gold):
            raise InputError(f"expected as many {name} labels as texts, got {len(gold)} for {len(inputs)}")
        if not len(inputs):
            raise InputError(f"expected {name} texts, got none")
        blank = [number for number, given in enumerate(inputs) if not "".join(given).strip()]
        if blank:
            raise InputError(
                f"expected {name} texts with content, got an empty one, number {blank[0] + 1} of {len(inputs)}"
            )
    if isinstance(names, str):
        raise InputError(f"expected label names as a list, got the string {names!r}")
    if len(set(labels)) < 2:
        only = names[labels[0]] if names is not None and 0 <= labels[0] < len(names) else labels[0]
        raise InputError(f"expected at least 2 classes to train on, got only label {only}")
    classes = int(max(labels)) + 1 if names is None else len(names)
    for label in (*labels, *(valid[1] if valid else ())):
        if not 0 <= label < classes:
            raise InputError(f"expected labels from 0 to {classes - 1}, got {label}")
    return classes


def hold_out(texts: Sequence[Input], labels: Sequence[int], seed: int) -> tuple[Labelled, Labelled]:
    """A random tenth of each class apart, for validation; fewer than 10 texts of a class stay together."""
    rng = np.random.default_rng(seed)
    apart = np.zeros(len(texts), np.bool_)
    for label in sorted(set(labels)):
        members = np.flatnonzero(np.asarray(labels) == label)
        apart[rng.permutation(members)[: len(members) // 10]] = True
    if not apart.any():
        return (texts, labels), (texts, labels)

    def part(where: np.ndarray[Any, Any]) -> Labelled:
        chosen = np.flatnonzero(where).tolist()
        return [texts[b] for b in chosen], [int(labels[b]) for b in chosen]

    return part(~apart), part(apart)
