"""What verbs that ask about texts are given and write: texts as arguments, labels by name, a new file of records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lexproof.cli.options import check_utf8
from lexproof.cli.streams import json_line
from lexproof.data import Dataset
from lexproof.errors import InputError
from lexproof.victims.base import Victim


def texts_given(options: dict[str, Any]) -> Dataset | None:
    """The texts given as arguments, if there are any; nothing that is said about them may be ignored."""
    if not options["texts"]:
        if options["label"] is not None:
            raise InputError(
                "expected --label with texts given as arguments only; labels of --data come from its --label-column"
            )
        return None
    for name in ("data", "label_column", "premise_column"):
        if options[name] is not None:
            raise InputError(f"got both texts and --{name.replace('_', '-')}; leave out one of them")
    for text in options["texts"]:
        check_utf8(text)
    return Dataset(
        texts=options["texts"][: options["limit"]], labels=None, label_names=(), name="arguments", bad_rows=()
    )


def label_of(given: str | None, victim: Victim) -> int | None:
    """A label by name or number."""
    if given is None:
        return None
    if given in victim.labels:
        return victim.labels.index(given)
    if given.isdecimal() and int(given) < victim.classes:
        return int(given)
    raise InputError(f"expected a label out of {', '.join(victim.labels)} or its number, got {given!r}")


def check_new(out: Path | None, option: str = "--out") -> None:
    """Raise InputError unless a new file can be written there."""
    if out is not None and out.exists():
        raise InputError(f"expected {option} to be a new file, got {out}, which exists; move it or choose another name")
    if out is not None and not out.parent.is_dir():
        raise InputError(f"expected {option} in a folder that exists, got {out}; make the folder first")


@contextmanager
def new_file(out: Path | None) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Writes records as they come; what fails before it answers anything leaves no file in the way of the next try."""
    if out is None:
        yield lambda record: None
        return
    answered = False
    with out.open("x", encoding="utf-8") as file:

        def write(record: dict[str, Any]) -> None:
            nonlocal answered
            answered |= record.get("answer") != "error"
            file.write(json_line(record) + "\n")
            file.flush()

        try:
            yield write
        finally:
            if not answered:
                out.unlink()
