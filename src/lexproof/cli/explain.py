"""lexproof explain: which words of a text matter, by several methods side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from lexproof.asking import Item
from lexproof.cli.frame import frame_of
from lexproof.cli.inputs import check_new, label_of, new_file, texts_given
from lexproof.cli.options import (
    Subject,
    check_utf8,
    data_options,
    json_option,
    load_data,
    load_victim,
    model_option,
    progress_bar,
    seed_option,
    warn_bad_rows,
)
from lexproof.cli.saliency import print_explanation
from lexproof.cli.streams import emit, screen
from lexproof.errors import InputError
from lexproof.explaining import DEFAULT_METHODS, METHODS, Explained, Explainer, usual_methods
from lexproof.safe_radius.settings import norm_of

Record = dict[str, Any]
Write = Callable[[Record], None]

_MANY = 5  # texts that failed, from which on a model that fails on most of them is not asked again
_SILENT = 2.0  # seconds that one text may take before it shows how far it is

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
    _check_writable(options["out"])
    explainer = Explainer(
        methods=method_names(options["methods"]),
        norm=norm_of(options["norm"]),
        seed=options["seed"],
        lime_samples=options["lime_samples"],
        time_limit=options["time_limit"],
    )
    subject = _subject(options)
    warn_bad_rows(subject.data)
    items = _items(subject, label_of(options["label"], subject.victim), options["gold"])
    total, title = len(subject.data), f"{subject.victim.name} on {subject.data.name}"
    show = emit if options["as_json"] else print_explanation
    asking = _single(explainer, subject, items) if total == 1 else _several(explainer, subject, items)
    with _output(options["out"], title) as write, closing(asking) as found:
        for record in _from_first_answer(_records(found, options["seed"], total)):
            write(record)
            show(record)


def _check_writable(out: Path | None) -> None:
    """Raise InputError unless the file can be made, before any work is lost; it is not left behind."""
    if out is None:
        return
    try:
        out.open("x").close()
    except OSError as error:
        raise InputError(f"expected --out to be a file that can be written, got {out}: {error.strerror}") from error
    out.unlink()


def _subject(options: dict[str, Any]) -> Subject:
    """What the options stand for; that the texts have no labels is not worth a word where none are needed."""
    from lexproof.candidates import from_spec

    given = texts_given(options)
    for name in ("model", "labels", "candidates"):
        check_utf8(options[name] or "")
    frame = frame_of(options)
    candidates = from_spec(frame.candidates)
    victim = load_victim(options["model"], options["labels"], options["label_only"])
    return Subject(victim, load_data(options, victim.labels) if given is None else given, candidates, frame)


def _several(explainer: Explainer, subject: Subject, items: Iterable[Item]) -> Generator[Explained, None, None]:
    """Each text as it is explained, with a bar of texts."""
    with progress_bar("explain", len(subject.data)) as step:
        for done, explained in enumerate(explainer.explain_all(subject.victim, items), 1):
            yield explained
            step(done)


def _single(explainer: Explainer, subject: Subject, items: Iterable[Item]) -> Generator[Explained, None, None]:
    """The one text, explained; if that takes long, with a bar of its words, counted once for each method."""
    (item,) = items
    total = max(1, item.space.n) * len(explainer.methods)
    with _late_bar("explain", total) as step:
        told = replace(explainer, progress=lambda share: step(round(share * total)))
        found = list(told.explain_all(subject.victim, [item]))
    yield from found


@contextmanager
def _late_bar(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar for work that is mostly quick: it appears when that has taken a while, even if nothing is finished yet."""
    done, steps = 0, list[Callable[[int], None]]()
    with ExitStack() as opened:

        def appear() -> None:
            step = opened.enter_context(progress_bar(title, total))
            steps.append(step)
            step(done)

        def tell(finished: int) -> None:
            nonlocal done
            done = finished
            for step in steps:
                step(finished)

        timer = threading.Timer(_SILENT, appear)
        timer.start()
        try:
            yield tell
        finally:
            timer.cancel()
            timer.join()  # what is appearing has to be there before it can be closed


def _records(found: Iterable[Explained], seed: int, total: int) -> Iterator[Record]:
    """A record a text; those that failed are counted at the end, unless they are too many."""
    failed: list[InputError] = []
    for done, explained in enumerate(found, 1):
        if explained.error is not None:
            failed.append(explained.error)
            _check_failed(failed, done, total)
        yield record_of(explained, seed)
    if failed:
        screen.print(f"{len(failed)} of {total} texts not explained, the first: {failed[0]}", soft_wrap=True)


def _from_first_answer(records: Iterator[Record]) -> Iterator[Record]:
    """The records, held back until a method answers on one of the texts; InputError if none does on any."""
    waiting: list[Record] = []
    for record in records:
        waiting.append(record)
        if any(own["saliency"] is not None for own in record["methods"].values()):
            break
    else:
        raise InputError(_unanswered(waiting))
    yield from waiting
    yield from records


def _unanswered(records: Sequence[Record]) -> str:
    """Why no method answered, as the first text says that was read at all."""
    first = next(record["methods"] for record in records if record["methods"])
    reasons = "; ".join(f"{name}: {own['reason']}" for name, own in first.items())
    where = "" if len(records) == 1 else f" on any of {len(records)} texts; on the first"
    return f"no method could answer{where}: {reasons}"


def _check_failed(failed: Sequence[InputError], done: int, total: int) -> None:
    """Raise InputError if no text can be explained, or if the model fails on most of them."""
    if total == 1:
        raise failed[0]
    if len(failed) == total:
        raise InputError(f"none of {total} texts explained, the first: {failed[0]}")
    if len(failed) >= _MANY and len(failed) > done / 2:
        raise InputError(f"{len(failed)} of {done} texts failed, stopping (the rest is kept): {failed[-1]}")


def method_names(given: str) -> tuple[str, ...]:
    """Names joined by commas; of the default ones, those that are installed, with a note about what is missing."""
    names = tuple(name for part in given.split(",") if (name := part.strip()))
    if names != DEFAULT_METHODS:
        return names
    usual, note = usual_methods()
    if note:
        screen.print(note, soft_wrap=True)
    return usual


def record_of(explained: Explained, seed: int) -> Record:
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
    records: list[Record] = []
    try:
        yield records.append
    finally:
        if any(record["answer"] != "error" for record in records):
            from lexproof.report import write_explanations

            write_explanations(out, records, title)
            screen.print(f"page: {out}", soft_wrap=True)
