"""--plot of `lexproof count`, and the strips below many answers: collects shares, and draws when all are there.

Guarantee: what is finished is drawn, however the command ends; a file is never written over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import click

from lexproof.cli.inputs import check_new
from lexproof.cli.options import Subject
from lexproof.cli.streams import screen
from lexproof.errors import InputError

Record = dict[str, Any]

plot_option = click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also draw violins of PR, the share that keeps the label, by class: a new .svg picture or .html page.",
)

_MANY = 10  # texts, above which strips are worth their lines
_SUFFIXES = (".svg", ".html", ".htm")


def check_plot(path: Path | None) -> None:
    """Raise InputError unless a plot can be written there, before anything is computed."""
    check_new(path, "--plot")
    if path is not None and path.suffix.lower() not in _SUFFIXES:
        raise InputError(f"expected --plot to end in .svg or .html, got {path}; choose another name")


def drawing(options: Record, subject: Subject) -> AbstractContextManager[Callable[[Record], None]]:
    """`share_plot` as the options of a verb and what it asks about say."""
    title = f"{subject.victim.name} on {subject.data.name}"
    return share_plot(options.get("plot"), subject.victim.labels, title, quiet=options["as_json"])


@contextmanager
def share_plot(
    path: Path | None, labels: Sequence[str], title: str, *, quiet: bool
) -> Iterator[Callable[[Record], None]]:
    """Takes records as they come and draws the shares among them at the end; strips are left out if `quiet`."""
    check_plot(path)
    records: list[Record] = []

    def add(record: Record) -> None:
        share = whole_share(record)
        if share is not None:
            records.append({"label": record["label"], "predicted": record["predicted"], **share})

    try:
        yield add
        if not quiet and len(records) > _MANY:
            from lexproof.cli.share_strips import print_strips  # which loads what only a drawing needs

            print_strips(records, labels)
    finally:
        if path is not None:
            _write(path, records, labels, title)


def whole_share(record: Record) -> Record | None:
    """The share of the whole space, if the record is one of `count`; of a curve it is that of the largest radius."""
    kind = record.get("answer")
    if kind == "share":
        return {key: record[key] for key in ("value", "low", "high", "method")}
    if kind == "share-curve":
        largest = record["radii"][-1]
        method = "exact" if record["confidence"] == 1 else "by swaps"
        return {**{key: largest[key] for key in ("value", "low", "high")}, "method": method}
    return None


def _write(path: Path, records: Sequence[Record], labels: Sequence[str], title: str) -> None:
    from lexproof.cli.share_strips import groups
    from lexproof.report import write_violins

    found = groups(records, labels)
    if not found:
        screen.print(f"no correctly classified text was counted: {path} is not written", soft_wrap=True)
        return
    try:
        write_violins(path, found, title)
    except OSError as error:
        raise InputError(f"expected --plot to be a file that can be written, got {path}: {error.strerror}") from error
    screen.print(f"plot: {path}", soft_wrap=True)
