"""Reading: a data set from a file or by name.

One bad row does not stop a file: it is left out and accounted for in `bad_rows`.  A file none of whose rows can be
used is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from lexproof.data import named
from lexproof.data.dataset import BadRow, Dataset
from lexproof.data.formats import Table, open_table
from lexproof.data.labels import Labeler, number_labels, raw_label
from lexproof.errors import DataError
from lexproof.text import Input

_PAIR = ("premise", "hypothesis")


@dataclass(frozen=True, slots=True)
class Fields:
    """Which columns hold the text, the premise of a pair, and the label."""

    text: str
    premise: str | None
    label: str
    labelled: bool

    @property
    def needed(self) -> tuple[str, ...]:
        """All columns that a row must have."""
        return tuple(name for name in (self.premise, self.text, self.label if self.labelled else None) if name)

    def parse(self, row: dict[str, Any]) -> tuple[Input, int | str | None]:
        """The text and the raw label of a row, or DataError if it cannot be used."""
        missing = [name for name in self.needed if name not in row]
        if missing:
            raise DataError(f"no field {missing[0]!r}")
        text = _checked(row[self.text], self.text)
        label = raw_label(row[self.label]) if self.labelled else None
        return (text if self.premise is None else (_checked(row[self.premise], self.premise), text)), label


def _checked(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise DataError(f"expected {name!r} to be a string, got {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"lone surrogate in {name!r} at character {error.start}") from error
    return value


def read(
    source: str | Path,
    *,
    text: str = "text",
    label: str = "label",
    premise: str | None = None,
    labels: Sequence[str] | None = None,
    limit: int | None = None,
    split: str = "test",
    require_labels: bool = True,
) -> Dataset:
    """The texts and labels of a file, or of a named set's split; at most the first `limit` rows that can be used.

    `labels` are the names of the classes, usually the victim's.  A file with columns `premise` and `hypothesis` and
    without `text` is read as pairs.  With `require_labels=False` a file without labels is read too: one without such a
    column, or none of whose rows has one.
    """
    if limit is not None and limit < 1:
        raise DataError(f"expected limit >= 1, got {limit}")
    if str(source) == named.DEMO and not Path(source).is_file():
        return _demo(labels, limit)
    path, name, known = _locate(source, split)
    table = open_table(path)
    fields, table = _resolve(table, Fields(text, premise, label, True), require_labels, path)
    names = labels or known
    return _collect(table, fields, None if names is None else Labeler(names, known), limit, name, path)


def _locate(source: str | Path, split: str) -> tuple[Path, str, tuple[str, ...] | None]:
    """The file, the set's name, and its label names if they are known."""
    path = Path(source).expanduser()
    try:
        is_file = path.is_file()
    except OSError as error:
        raise DataError(f"expected a file or a named set, got {str(source)[:80]!r}…: {error.strerror}") from error
    if is_file:
        return path, path.name, None
    if path.is_dir() and (path / f"{split}.jsonl.xz").is_file():
        file = path / f"{split}.jsonl.xz"
        return file, f"{path.name}/{split}", named.label_names(file)
    found = named.find(str(source), split) if len(path.parts) == 1 else None
    if found is not None:
        return found, f"{source}/{split}", named.label_names(found)
    raise DataError(
        f"expected a file or a named set, got {str(source)!r}, which is neither; sets here: {', '.join(named.names())} "
        "(set LEXPROOF_DATA, or fetch one with: lexproof data get movies)"
    )


def _resolve(table: Table, fields: Fields, require_labels: bool, path: Path) -> tuple[Fields, Table]:
    """The fields as the file has them; without a header its first readable row stands for one, but for the label."""
    early, columns = [], table.columns
    if columns is None:
        for item in table.rows:
            early.append(item)
            if isinstance(item[1], dict):
                columns = tuple(item[1])
                break
        else:
            return fields, Table(None, iter(early))
        table = Table(None, chain(early, table.rows))
    if fields.text not in columns and fields.premise is None and set(_PAIR) <= set(columns):
        fields = replace(fields, premise=_PAIR[0], text=_PAIR[1])
    if not require_labels and fields.label not in columns and (table.columns or not _occurs(fields.label, path)):
        fields = replace(fields, labelled=False)
    if table.columns is not None:
        _check_columns(fields, columns, path)
        table = table.only(fields.needed)
    return fields, table


def _occurs(label: str, path: Path) -> bool:
    # a second reading rather than rows kept in memory; it ends at the first row that has the label
    return any(label in row for _, row in open_table(path).rows if isinstance(row, dict))


def _check_columns(fields: Fields, columns: Sequence[str], path: Path) -> None:
    missing = [name for name in fields.needed if name not in columns]
    if missing:
        option = "label" if missing[0] == fields.label else "premise" if missing[0] == fields.premise else "text"
        raise DataError(
            f"expected a column {missing[0]!r} in {str(path)!r}, got {', '.join(columns)}; "
            f"say which with {option}=... (--{option}-column)"
        )


def _collect(
    table: Table, fields: Fields, labeler: Labeler | None, limit: int | None, name: str, path: Path
) -> Dataset:
    texts: list[Input] = []
    raw: list[int | str] = []
    bad: list[BadRow] = []
    seen: dict[str, None] = {}
    for line, row in table.rows:
        try:
            if isinstance(row, str):
                raise DataError(row)
            seen.update(dict.fromkeys(row))
            text, label = fields.parse(row)
            if label is not None:
                raw.append(label if labeler is None else labeler.index(label))
            texts.append(text)
        except DataError as problem:
            bad.append(BadRow(line, str(problem)))
        if limit is not None and len(texts) >= limit:
            break
    if not texts:
        _explain(bad, fields, list(seen), path)
    if not fields.labelled:
        return Dataset(tuple(texts), None, () if labeler is None else labeler.names, name, tuple(bad))
    indexes, found = number_labels(raw) if labeler is None else (tuple(map(int, raw)), labeler.names)
    return Dataset(tuple(texts), indexes, found, name, tuple(bad), "" if labeler is None else labeler.notice)


def _explain(bad: list[BadRow], fields: Fields, seen: list[str], path: Path) -> None:
    """Raise the DataError of a file none of whose rows can be used."""
    if not bad:
        raise DataError(f"expected rows in {str(path)!r}, got an empty set")
    if seen:
        _check_columns(fields, seen, path)
    raise DataError(
        f"expected rows that can be used in {str(path)!r}, got {len(bad)} bad ones; "
        f"the first, line {bad[0].line}: {bad[0].reason}"
    )


def _demo(labels: Sequence[str] | None, limit: int | None) -> Dataset:
    from lexproof.resources import reviews

    table = Table(None, iter(enumerate(reviews(), 1)))
    own = named.LABEL_NAMES[named.DEMO]
    fields = Fields("text", None, "label", True)
    return _collect(table, fields, Labeler(labels or own, own), limit, named.DEMO, Path(named.DEMO))
