"""lexproof edit: fool the model by replaced, inserted and merged words, outside of the space of swaps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from rich.text import Text as Styled

from lexproof.cli.inputs import check_new, label_of, new_file, texts_given
from lexproof.cli.options import (
    check_utf8,
    data_options,
    json_option,
    load_texts,
    load_victim,
    model_option,
    progress_bar,
    warn_bad_rows,
)
from lexproof.cli.streams import emit, paper, screen
from lexproof.data import Dataset
from lexproof.edits import SPACE, Answered, Edited, Editor, Item, as_guesser, as_text, edit_all
from lexproof.edits.actions import KINDS, Actions
from lexproof.edits.similar import Similar
from lexproof.errors import InputError
from lexproof.text import Input
from lexproof.victims.base import Victim

_DEFAULTS = Actions()


@click.command()
@click.argument("texts", nargs=-1)
@click.option(
    "--masked-lm", required=True, metavar="FOLDER", help="Masked language model, a Hugging Face folder or name."
)
@click.option("--label", help="Gold label of the texts given as arguments [default: what the model predicts].")
@click.option("--target", help="Label that the edits must reach, instead of any but the gold one.")
@model_option
@data_options
@click.option("--max-edits", type=click.IntRange(min=0), help="Most edits [default: a quarter of the words].")
@click.option("--max-queries", type=click.IntRange(min=0), help="Budget of model inputs a text.")
@click.option("--kinds", default=",".join(KINDS), show_default=True, help="Edits to try.")
@click.option("--k", type=click.IntRange(min=1), default=_DEFAULTS.k, show_default=True, help="Words tried an edit.")
@click.option("--floor", type=float, help="Least similarity of the words around an edit (CLARE: 0.7).")
@click.option("--window", type=click.IntRange(min=1), help="Words compared with --floor [default: 15].")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Also write the JSON lines to this new file."
)
@json_option
def edit(**options: Any) -> None:
    """Search for edits that fool the model: words replaced, inserted or merged (CLARE).

    The result lies outside of the space of swaps: it bounds nothing about R, the fewest swaps.
    """
    check_new(options["out"])
    check_utf8(options["masked_lm"])
    editor = _editor(options)
    victim = load_victim(options["model"], options["labels"], options["label_only"])
    data = texts_given(options) or load_texts(options, victim.labels)
    warn_bad_rows(data)
    label, target = label_of(options["label"], victim), label_of(options["target"], victim)
    with ExitStack() as stack:
        write = stack.enter_context(new_file(options["out"]))
        step = stack.enter_context(progress_bar("edit", len(data))) if len(data) > 1 else None
        failed = []
        for done, answered in enumerate(edit_all(editor, victim, _items(data, label, target)), 1):
            if answered.error is not None:
                failed.append(answered.error)
            given = data.texts[answered.key]
            record = record_of(answered, given)
            write(record)
            if options["as_json"]:
                emit(record)
            else:
                _print(answered, given, victim)
            if step is not None:
                step(done)
        if failed and len(failed) == len(data):
            raise failed[0]
    if failed:
        screen.print(f"{len(failed)} of {len(data)} texts not answered, the first: {failed[0]}")


def _editor(options: dict[str, Any]) -> Editor:
    similar = None
    if options["floor"] is not None:
        from lexproof.candidates.similarity import default_encoder

        window = {} if options["window"] is None else {"window": options["window"]}
        similar = Similar(default_encoder(), options["floor"], **window)
    elif options["window"] is not None:
        raise InputError("expected --floor with --window, got none; set how similar the words must be")
    kinds = tuple(kind.strip() for kind in options["kinds"].split(","))
    actions = Actions(k=options["k"], kinds=kinds)
    guesser = as_guesser(options["masked_lm"])
    return Editor(guesser, actions, options["max_edits"], similar, options["max_queries"])


def _items(data: Dataset, label: int | None, target: int | None) -> Iterator[Item]:
    for key, given in enumerate(data.texts):
        yield Item(key, as_text(given), label if data.labels is None else data.labels[key], target)


def record_of(answered: Answered, given: Input) -> dict[str, Any]:
    """The record of a text, with the keys of every answer: nothing about swaps is known."""
    premise, text = (None, given) if isinstance(given, str) else given
    found = {"answer": "error", "reason": str(answered.error)} if answered.answer is None else answered.answer.to_json()
    nothing: dict[str, Any] = {"swaps": None, "lower": 0, "upper": None, "witness": None, "changed": [], "edits": []}
    return {
        "id": answered.key,
        "text": text,
        "premise": premise,
        "label": answered.label,
        "predicted": answered.predicted,
        **nothing,
        "queries": 0,
        "seconds": 0.0,
        **found,
        "space": SPACE,
        "seed": None,
    }


def _print(answered: Answered, given: Input, victim: Victim) -> None:
    """One answer for people, on standard output."""
    console = paper()
    answer = answered.answer
    if answer is None:
        console.print(Styled(f"error: {answered.error}", style="red"), soft_wrap=True)
        return
    cost = f"({answer.queries} queries, {answer.cost.seconds:.2f} s)"
    if isinstance(answer, Edited):
        console.print(_marked(answer, given), soft_wrap=True)
        label = victim.labels[answer.predicted]
        said = f"edited with {len(answer.edits)} edits, outside of the swap space: read as {label}"
        if not answer.edits:
            said = f"misclassified as {label} as it stands"
    else:
        console.print(Styled(given if isinstance(given, str) else given[1]), soft_wrap=True)
        said = f"unknown: {answer.reason}"
    console.print(Styled(f"  {said} {cost}", style="bold"), soft_wrap=True)


def _marked(answer: Edited, given: Input) -> Styled:
    """The text with what was taken out struck through and what was put in beside it."""
    surface = given if isinstance(given, str) else given[1]
    line, done = Styled(), 0
    for one in answer.edits:
        line.append(surface[done : one.start]).append(one.old, style="strike red")
        line.append(" " if one.old else "").append(one.new, style="bold green")
        done = one.stop
    return line.append(surface[done:])
