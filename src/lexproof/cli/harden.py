"""lexproof harden: train a classifier that holds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from lexproof.cli.options import json_option, seed_option
from lexproof.cli.train import (
    chosen_options,
    data_parts,
    free_target,
    labels_of,
    report,
    save,
    train_options,
)
from lexproof.cli.training_bar import TrainingBar, resuming
from lexproof.defenses import SYNONYMS, defense_of, harden, source_for
from lexproof.errors import InputError
from lexproof.training import KINDS
from lexproof.victims.base import Victim
from lexproof.victims.smoothed import Smoothed


@click.command("harden")
@click.argument("defense", metavar="DEFENSE[?SETTING=VALUE&...]")
@click.option("--kind", type=click.Choice(KINDS), help="[default: cnn, or that of --model]")
@click.option("--model", help="Go on from this model folder instead of random or pretrained weights.")
@train_options
@click.option("--synonyms", help=f"The defender's substitutes, a candidates spec [default: {SYNONYMS}].")
@click.option("--share-synonyms", is_flag=True, help="Train on the substitutes that attacks use by default.")
@seed_option
@json_option
def harden_command(**options: Any) -> None:
    """Train a classifier that holds when words are swapped: `lexproof list defenses`.

    The defender's substitutes are kept apart from the attacker's unless --share-synonyms is given.  An interrupted
    training resumes when the same command is given again.
    """
    out = free_target(options)
    defense = defense_of(options["defense"])
    synonyms = _synonyms(options)
    source_for(defense, synonyms)
    start = None if options["model"] is None else _loaded(options["model"])
    kind = _kind(options, start)
    defense.check(kind, {})
    chosen = chosen_options(kind, options)
    data, valid, test = data_parts(options, None if start is None else start.labels)
    begun = time.perf_counter()
    with TrainingBar() as bar, resuming(out, fresh=options["fresh"]) as checkpoint:
        victim = harden(
            defense,
            train=(data.texts, labels_of(data)),
            kind=kind,
            model=start,
            valid=None if valid is None else (valid.texts, labels_of(valid)),
            label_names=data.label_names,
            vectors=options["vectors"],
            synonyms=synonyms,
            seed=options["seed"],
            progress=bar,
            checkpoint=checkpoint,
            **chosen,
        )
        save(victim, out)
    report(victim, out, time.perf_counter() - begun, options["as_json"], valid=valid, test=test)


def _synonyms(options: dict[str, Any]) -> str | None:
    if options["share_synonyms"] and options["synonyms"] is not None:
        raise InputError("expected --synonyms or --share-synonyms, got both")
    return "default" if options["share_synonyms"] else options["synonyms"]


def _loaded(spec: str) -> Victim:
    from lexproof.victims.load import load

    return load(spec)


def _kind(options: dict[str, Any], start: Victim | None) -> str:
    if start is None:
        return options["kind"] or "cnn"
    if start.kind not in KINDS:
        raise InputError(
            f"expected --model to be one that lexproof trained ({', '.join(KINDS)}), {_instead(start, options)}"
        )
    if options["kind"] not in (None, start.kind):
        raise InputError(f"expected --kind {start.kind}, that of --model, got {options['kind']}; leave it out")
    return start.kind


def _instead(start: Victim, options: dict[str, Any]) -> str:
    """What was given in place of a model that can be trained on; of a smoothed one the base can."""
    if isinstance(start, Smoothed):
        return f"got a smoothed one; give its base, {Path(options['model']) / 'base'}"
    return f"got a {start.kind} model, whose weights are not at hand"
