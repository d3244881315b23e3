"""Harden: train a classifier that holds when words are swapped.

    victim = lexproof.harden("freelb++", train=(texts, labels), kind="cnn", seed=0)
    victim.save("models/held")

A defense is a name with settings, `NAME[?setting=value&...]` (`lexproof list defenses`), or a `Defense` object; all of
them are trained by the loop of `lexproof.training`.  The result is a victim like any other.

The defender's substitutes are kept apart from the attacker's: WordNet's synonyms, where attacks use counter-fitted
neighbors.  A defense that has seen the very words that it is attacked with looks better than it is (Li et al. 2021,
Searching for an Effective Defender, Section 5.3); to share them is possible (`synonyms="default"`), is recorded with
the model, and is said in its reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lexproof import registry
from lexproof.candidates import Source, from_spec
from lexproof.errors import InputError
from lexproof.specs import parse
from lexproof.training import KINDS, Labelled, Vectors
from lexproof.training import train as train_by
from lexproof.victims.base import Victim

if TYPE_CHECKING:
    from lexproof.training.defense import Defense
    from lexproof.training.loop import Progress

SYNONYMS = "wordnet?k=8"
"""The defender's substitutes if none are named."""


def harden(
    defense: str | Defense,
    *,
    train: Labelled,
    kind: str | None = None,
    model: Victim | Path | str | None = None,
    valid: Labelled | None = None,
    label_names: Sequence[str] | None = None,
    vectors: Vectors | Path | str | None = None,
    synonyms: str | Source | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    checkpoint: Path | str | None = None,
    **options: Any,
) -> Victim:
    """A victim trained under a defense, from the start or, with `model`, from the weights that it has.

    `kind` is the kind of the model, `cnn` if none is given.  `synonyms` are the defender's substitutes, a spec as in
    `lexproof.candidates.from_spec` or a source: WordNet's if none are given, so not those of the default attacker.
    The rest is as in `lexproof.train`; a defense may have defaults of its own.
    """
    chosen = defense_of(defense)
    start = _loaded(model)
    if start is not None and start.kind not in KINDS:
        what = "a smoothed one; give its base" if hasattr(start, "base") else f"one of kind {start.kind!r}"
        raise InputError(f"expected a model that Lexproof trained ({', '.join(KINDS)}) to go on from, got {what}")
    kind = kind or ("cnn" if start is None else start.kind)
    source = source_for(chosen, synonyms)
    texts, labels = _labelled(train)
    if start is not None and label_names is None:
        label_names = start.labels
    victim = train_by(
        kind,
        texts,
        labels,
        valid=valid,
        label_names=label_names,
        vectors=vectors,
        seed=seed,
        progress=progress,
        start=start,
        checkpoint=checkpoint,
        defense=chosen,
        synonyms=source,
        **options,
    )
    return chosen.finish(victim)


def defense_of(defense: str | Defense) -> Defense:
    """The defense that a line describes, with its settings checked."""
    if not isinstance(defense, str):
        if not hasattr(defense, "backward") or isinstance(defense, type):
            raise InputError(f"expected a defense by name, such as 'freelb++', or a Defense, got {defense!r}")
        return defense
    name, settings = parse(defense, "defense", lambda name: registry.get("defenses", name))
    made: Defense = registry.get("defenses", name)(**settings)
    return made


def source_for(defense: Defense, synonyms: str | Source | None) -> Source | None:
    """The defender's substitutes, None for a defense that asks for none; InputError if some are given all the same."""
    if not defense.needs_synonyms:
        if synonyms is not None:
            raise InputError(f"expected no synonyms for the defense {defense.name!r}, which uses none, got some")
        return None
    synonyms = SYNONYMS if synonyms is None else synonyms
    source = from_spec(synonyms) if isinstance(synonyms, str) else synonyms
    if not isinstance(source, Source):
        raise InputError(f"expected synonyms from a source of lexproof.candidates, got {synonyms!r}")
    return source


def _loaded(model: Victim | Path | str | None) -> Victim | None:
    if model is None or isinstance(model, Victim):
        return model
    if not isinstance(model, str | Path):
        raise InputError(f"expected a model to go on from as a victim or its folder, got {type(model).__name__}")
    from lexproof.victims.load import load

    return load(model)


def _labelled(train: Labelled) -> Labelled:
    if not isinstance(train, tuple | list) or len(train) != 2 or isinstance(train[0], str):
        raise InputError(f"expected train=(texts, labels), got {type(train).__name__}")
    return train[0], train[1]
