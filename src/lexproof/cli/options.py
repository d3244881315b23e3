"""Options that verbs share, and what they stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from lexproof.cli.frame import Frame, frame_of, stack
from lexproof.cli.frame import space_options as space_options
from lexproof.cli.streams import screen
from lexproof.data import Dataset, read
from lexproof.errors import InputError
from lexproof.space import Candidates, Space
from lexproof.text import Input, Text
from lexproof.victims.base import Victim


@dataclass(frozen=True, slots=True)
class Subject:
    """What the user points at: a model, texts with labels, and what may be done to them."""

    victim: Victim
    data: Dataset
    candidates: Candidates
    frame: Frame

    def space(self, given: Input) -> Space:
        """The space around one text."""
        text = Text.parse(given) if isinstance(given, str) else Text.parse(given[1], premise=given[0])
        return self.frame.constraints.space(text, self.candidates, self.frame.encoder)


model_option = stack(
    click.option(
        "--model",
        default="movies-cnn",
        show_default=True,
        help="Embedded name, folder written by train, Hugging Face folder or name, file.py:function, http(s) address.",
    ),
    click.option("--labels", help="Names of the model's classes in order, separated by commas, if it has none."),
    click.option("--label-only", is_flag=True, help="The model answers with labels, not with scores."),
)

data_options = stack(
    click.option("--data", help="csv, tsv, json, jsonl or parquet file, or the name of a set [default: demo]."),
    click.option("--split", default="test", show_default=True, help="Part of a named set."),
    click.option("--text-column", default="text", show_default=True),
    click.option("--label-column", help="[default: label, or the model's own predictions if there is no such column]"),
    click.option("--premise-column", help="Column of the frozen first text of a pair."),
    click.option("--limit", type=click.IntRange(min=1), help="Use the first N texts only."),
)

seed_option = click.option("--seed", type=click.IntRange(min=0, max=2**32 - 1), default=0, show_default=True)
json_option = click.option("--json", "as_json", is_flag=True, help="JSON on standard output.")


def load_victim(spec: str, labels: str | None, label_only: bool = False) -> Victim:
    """The victim that `--model` names."""
    from lexproof.victims.load import load

    names = None if labels is None else [label.strip() for label in labels.split(",")]
    return load(spec, labels=names, label_only=label_only)


def announce_caveats(victim: Victim) -> None:
    """What must be said beside any answer about this victim, on standard error."""
    for caveat in getattr(victim, "caveats", ()):
        screen.print(f"mind: {caveat}", markup=False, highlight=False, soft_wrap=True)


def load_data(options: dict[str, Any], labels: Sequence[str] | None = None) -> Dataset:
    """The texts that `--data` names, their labels numbered as `labels` says.

    A file name that is not UTF-8 is shown with � in it: the name goes into JSON files and reports.
    """
    data = read(
        options["data"] or "demo",
        text=options["text_column"],
        label=options["label_column"] or "label",
        premise=options["premise_column"],
        labels=labels,
        limit=options["limit"],
        split=options["split"],
        require_labels=options["label_column"] is not None,
    )
    return replace(data, name=data.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))


def load_texts(options: dict[str, Any], labels: Sequence[str]) -> Dataset:
    """The texts to ask a model about; says so where its own predictions count as gold."""
    data = load_data(options, labels)
    if data.labels is None:
        screen.print(f"{data.name} has no column 'label': the model's own predictions count as gold")
    return data


def load_subject(options: dict[str, Any], data: Dataset | None = None) -> Subject:
    """Everything that the shared options stand for; fails before anything long starts."""
    from lexproof.candidates import from_spec

    for name in ("model", "labels", "candidates", "attack", "masked_lm", "encoder", "words"):
        check_utf8(options.get(name) or "")
    frame = frame_of(options)
    candidates = from_spec(frame.candidates)
    victim = load_victim(options["model"], options["labels"], options.get("label_only", False))
    if data is None:
        data = load_texts(options, victim.labels)
    return Subject(victim, data, candidates, frame)


def check_utf8(given: str) -> None:
    """Raise InputError for an argument that is not UTF-8, which no model and no JSON file could hold."""
    try:
        given.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"expected UTF-8, got {given!r}") from error


def refuse_arguments(ctx: click.Context) -> None:
    """For verbs that take none but are often given a file."""
    if ctx.args:
        raise click.UsageError(f"unexpected argument {ctx.args[0]!r}; name a data file with --data", ctx)


def warn_bad_rows(data: Dataset, of: str = "") -> None:
    """Say how many rows could not be used, and show the first; and what is to be known of the labels."""
    if data.notice:
        screen.print(f"mind{of}: {data.notice}", soft_wrap=True)
    if data.bad_rows:
        first = data.bad_rows[0]
        screen.print(f"{len(data.bad_rows)} rows left out{of}, the first at line {first.line}: {first.reason}")


@contextmanager
def progress_bar(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar with an ETA on standard error; the function it gives sets the number finished."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("ETA"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen, transient=False) as bar:
        task = bar.add_task(title, total=total)
        yield lambda finished: bar.update(task, completed=finished)
