"""lexproof explain: which words of a text matter, by several methods side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from lexproof.asking import Item
from lexproof.cli.inputs import check_new, label_of, new_file, texts_given
from lexproof.cli.options import (
    Subject,
    data_options,
    json_option,
    load_subject,
    model_option,
    progress_bar,
    seed_option,
    warn_bad_rows,
)
from lexproof.cli.saliency import print_explanation
from lexproof.cli.streams import emit, screen
from lexproof.errors import InputError
from lexproof.explaining import DEFAULT_METHODS, METHODS, Explained, Explainer
from lexproof.safe_radius.question import norm_of

Write = Callable[[dict[str, Any]], None]

_MANY = 5  # texts that failed, from which on a model that fails on most of them is not asked again

methods_help = f"Out of {', '.join(METHODS)}, joined by commas"


@click.command()
@click.argument("texts", nargs=-1)
@click.option("--label", help="Label to explain, of the texts given as arguments [default: what the model predicts].")
@click.option("--gold", is_flag=True, help="Explain the labels of --data instead of what the model predicts.")
@model_option
@data_options
@click.option("--methods", default=",".join(DEFAULT_METHODS), show_default=True, help=f"{methods_help}.")
@click.option("--norm", default="2", show_default=True, help="Of safe radii: 1, 2 or inf.")
@click.option("--time-limit", type=click.FloatRange(min=0), help="Seconds a text for safe radii.")
@click.option("--lime-samples", type=click.IntRange(min=2), default=1000, show_default=True,
              help="Masked texts that LIME scores.")  # fmt: skip
@click.option("--candidates", help="Substitutes that `swaps` tries; see docs/candidates.md [default: default].")
@click.option("--max-candidates", type=click.IntRange(min=1), help="Most substitutes a word.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path),
              help="New file: a page of all texts if its name ends in .html, else JSON lines.")  # fmt: skip
@seed_option
@json_option
def explain(**options: Any) -> None:
    """Say how much each word of a text matters."""
    check_new(options["out"])
    explainer = Explainer(
        methods=method_names(options["methods"]),
        norm=norm_of(options["norm"]),
        seed=options["seed"],
        lime_samples=options["lime_samples"],
        time_limit=options["time_limit"],
    )
    subject = load_subject(options, texts_given(options))
    warn_bad_rows(subject.data)
    label = label_of(options["label"], subject.victim)
    items, total = _items(subject, label, options["gold"]), len(subject.data.texts)
    failed: list[InputError] = []
    show = emit if options["as_json"] else print_explanation
    with ExitStack() as opened:
        write = opened.enter_context(_output(options["out"], f"{subject.victim.name} on {subject.data.name}"))
        step = opened.enter_context(progress_bar("explain", total)) if total > 1 else None
        for done, explained in enumerate(explainer.explain_all(subject.victim, items), 1):
            if explained.error is not None:
                failed.append(explained.error)
                _check_failed(failed, done, total)
            record = record_of(explained, options["seed"])
            write(record)
            show(record)
            if step is not None:
                step(done)
    if failed:
        screen.print(f"{len(failed)} of {total} texts not explained, the first: {failed[0]}")


def _check_failed(failed: Sequence[InputError], done: int, total: int) -> None:
    """Raise InputError if no text can be explained, or if the model fails on most of them."""
    if total == 1:
        raise failed[0]
    if len(failed) == total:
        raise InputError(f"none of {total} texts explained, the first: {failed[0]}")
    if len(failed) >= _MANY and len(failed) > done / 2:
        raise InputError(f"{len(failed)} of {done} texts failed, stopping (the rest is kept): {failed[-1]}")


def method_names(given: str) -> tuple[str, ...]:
    """Names joined by commas."""
    return tuple(name for part in given.split(",") if (name := part.strip()))


def record_of(explained: Explained, seed: int) -> dict[str, Any]:
    """The record of a text, or of one that the victim could not answer."""
    key, original = explained.item.key, explained.item.space.original
    if explained.explanation is not None:
        return {"id": key, **explained.explanation.to_json()}
    return {
        "id": key,
        "answer": "error",
        "text": str(original),
        "premise": original.premise,
        "label": explained.item.label,
        "predicted": None,
        "words": list(original.words),
        "methods": {},
        "reason": str(explained.error),
        "queries": 0,
        "seconds": 0.0,
        "seed": seed,
    }


def _items(subject: Subject, label: int | None, gold: bool) -> Iterator[Item]:
    """The texts to explain, one at a time."""
    labels = subject.data.labels
    if gold and labels is None:
        raise InputError(f"expected --data with labels for --gold, got {subject.data.name} without; leave out --gold")
    for key, given in enumerate(subject.data.texts):
        yield Item(key, subject.space(given), labels[key] if gold and labels is not None else label)


@contextmanager
def _output(out: Path | None, title: str) -> Iterator[Write]:
    """Where records go; a page is written when the block ends, however it ends, with what is finished by then."""
    if out is None or out.suffix.lower() not in (".html", ".htm"):
        with new_file(out) as write:
            yield write
        return
    records: list[dict[str, Any]] = []
    try:
        yield records.append
    finally:
        if any(record["answer"] != "error" for record in records):
            from lexproof.report import write_explanations

            write_explanations(out, records, title)
            screen.print(f"page: {out}", soft_wrap=True)
