"""Train a classifier of any kind from texts and labels.

    victim = lexproof.train("cnn", texts, labels, valid=(texts, labels), vectors="glove.npz", seed=0)
    victim.save("models/reviews")

The same seed, data and machine give the same weights.  The epoch that is best on the validation texts is kept.
Training writes nothing but its checkpoint, if one is asked for: an interrupted run leaves no half model behind.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lexproof.errors import InputError, UnknownName, check_whole, require
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

_MOST_CLASSES = 100  # of labels without names: a larger one is a code, or a mistake
_SHOWN = 60  # characters of a wrong argument in a message


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
    check_seed(seed)
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
    _check_part("training", texts, labels)
    if valid is not None:
        if not isinstance(valid, tuple | list) or len(valid) != 2:
            raise InputError(f"expected valid=(texts, labels), got {_shown(valid)}")
        _check_part("validation", *valid)
    if names is not None and (isinstance(names, str) or not all(isinstance(name, str) for name in names)):
        raise InputError(f"expected label names as a list of strings, got {_shown(names)}")
    distinct = {int(label) for label in labels}
    if len(distinct) < 2:
        (only,) = distinct
        shown = names[only] if names is not None and 0 <= only < len(names) else only
        raise InputError(f"expected at least 2 classes to train on, got only label {shown}")
    classes = max(distinct) + 1 if names is None else len(names)
    if names is None and classes > max(_MOST_CLASSES, 2 * len(distinct)):
        raise InputError(
            f"expected labels 0, 1, … without large gaps, got {max(distinct)} among {len(distinct)} labels"
        )
    for label in (*labels, *(valid[1] if valid else ())):
        if not 0 <= label < classes:
            raise InputError(f"expected labels from 0 to {classes - 1}, got {label}")
    return classes


def _check_part(name: str, texts: Sequence[Input], labels: Sequence[int]) -> None:
    """InputError unless these are as many texts with content as whole numbers."""
    for what, given in (("texts", texts), ("labels", labels)):
        if isinstance(given, str) or not hasattr(given, "__getitem__"):
            raise InputError(f"expected {name} {what} as a list, got {_shown(given)}")
    if len(texts) != len(labels):
        raise InputError(f"expected as many {name} labels as texts, got {len(labels)} for {len(texts)}")
    if not len(texts):
        raise InputError(f"expected {name} texts, got none")
    for number, text in enumerate(texts, 1):
        parts: object = (text, "") if isinstance(text, str) else text
        if not isinstance(parts, tuple | list) or len(parts) != 2 or not all(isinstance(part, str) for part in parts):
            raise InputError(f"expected {name} texts as strings or pairs of them, got {_shown(text)}, number {number}")
        if not "".join(parts).strip():
            raise InputError(f"expected {name} texts with content, got an empty one, number {number} of {len(texts)}")
    for label in labels:
        if not isinstance(label, Integral) or isinstance(label, bool):
            raise InputError(
                f"expected {name} labels as whole numbers 0, 1, …, got {_shown(label)}; number them, and give "
                "their names as label_names"
            )


def check_seed(seed: int) -> None:
    """InputError if it cannot seed a generator."""
    check_whole(0, seed=seed)
    if seed >= 2**63:
        raise InputError(f"expected seed below 2 to the 63rd, got {seed}")


def _shown(given: object) -> str:
    """A wrong thing in a message: what it is if it is long."""
    text = repr(given)
    return text if len(text) <= _SHOWN else f"a {type(given).__name__}"


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
