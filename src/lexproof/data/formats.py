"""Formats: csv, tsv, jsonl, json and parquet files, each also as .gz, .xz or .bz2, as a stream of rows.

A row that cannot be parsed becomes a reason and does not stop the stream; a file that cannot be decoded does.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

from lexproof.errors import DataError, require

Row = tuple[int, dict[str, Any] | str]
"""Line number, and either the row's fields or why it cannot be used."""

_COMPRESSIONS: dict[str, Callable[[Path], Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
_BROKEN = (EOFError, lzma.LZMAError, zlib.error, OSError)
_LONGEST_FIELD = 2**31 - 1  # characters; the most that the csv module can be told on every platform
_FIELD_LIMIT = threading.Lock()  # the csv module has one limit for all threads


@dataclass(frozen=True, slots=True)
class Table:
    """A file's rows and, where the format has a header, its columns (None: each row says for itself).

    `select` reads some of the columns, where a format can leave out others.
    """

    columns: tuple[str, ...] | None
    rows: Iterator[Row]
    select: Callable[[tuple[str, ...]], Iterator[Row]] | None = None

    def only(self, names: tuple[str, ...]) -> Table:
        """The table with at least these columns; others are not even decoded where the format allows it."""
        return self if self.select is None else replace(self, rows=self.select(names))


def open_table(path: Path) -> Table:
    """The rows of a file, read as they are asked for."""
    if not path.is_file():
        raise DataError(f"expected a data file at {str(path)!r}, got {'a folder' if path.is_dir() else 'nothing'}")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSIONS:
        suffixes.pop()
    form = suffixes[-1] if suffixes else ""
    if form not in _READERS:
        raise DataError(
            f"expected a file ending in {', '.join(_READERS)}, or in one of these with {', '.join(_COMPRESSIONS)}, "
            f"got {path.name!r}"
        )
    return _READERS[form](path)


def _open(path: Path) -> BinaryIO:
    suffix = path.suffix.lower()
    return cast(BinaryIO, _COMPRESSIONS[suffix](path)) if suffix in _COMPRESSIONS else path.open("rb")


def _lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file with their line ends; a byte order mark is dropped."""
    position = number = 0
    try:
        with _open(path) as file:
            for line in file:
                text = line.decode("utf-8")
                yield text if number else text.removeprefix("\ufeff")
                position += len(line)
                number += 1
    except UnicodeDecodeError as error:
        at = position + error.start
        raise DataError(
            f"expected UTF-8 in {str(path)!r}, got 0x{error.object[error.start]:02x} at byte {at} (line {number + 1}); "
            "convert the file to UTF-8"
        ) from error
    except _BROKEN as error:
        raise DataError(f"cannot read {str(path)!r} after line {number}: {error}") from error


def _read_jsonl(path: Path) -> Table:
    def rows() -> Iterator[Row]:
        for number, line in enumerate(_lines(path), 1):
            if line.strip():
                yield number, _parse_object(line)

    return Table(None, rows())


def _parse_object(line: str) -> dict[str, Any] | str:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    return found if isinstance(found, dict) else f"expected a JSON object, got {type(found).__name__}"


def _read_json(path: Path) -> Table:
    try:
        content = json.loads("".join(_lines(path)))
    except (ValueError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"expected JSON in {str(path)!r}, got {error}") from error
    if not isinstance(content, list):
        raise DataError(f"expected a JSON list of objects in {str(path)!r}, got {type(content).__name__}")
    kinds = ((number, row) for number, row in enumerate(content, 1))
    rows = ((n, row if isinstance(row, dict) else f"expected an object, got {type(row).__name__}") for n, row in kinds)
    return Table(None, iter(rows))


def _read_csv(path: Path) -> Table:
    reader = csv.reader(_lines(path), strict=True)
    return _with_header(path, lambda: _next(reader), lambda: reader.line_num)


def _next(reader: Iterator[list[str]]) -> list[str]:
    """The next row, whatever the length of its fields; the csv module's limit is put back."""
    with _FIELD_LIMIT:
        before = csv.field_size_limit(_LONGEST_FIELD)
        try:
            return next(reader)
        finally:
            csv.field_size_limit(before)


def _read_tsv(path: Path) -> Table:
    # Tab-separated files rarely quote: a bare quotation mark is text, and only a whole quoted field is unquoted.
    reader = csv.reader(_lines(path), delimiter="\t", quoting=csv.QUOTE_NONE)
    return _with_header(path, lambda: [_unquote(field) for field in _next(reader)], lambda: reader.line_num)


def _unquote(field: str) -> str:
    inner = field[1:-1].replace('""', "")
    whole = len(field) >= 2 and field[0] == field[-1] == '"' and '"' not in inner
    return field[1:-1].replace('""', '"') if whole else field


def _with_header(path: Path, read: Callable[[], list[str]], line: Callable[[], int]) -> Table:
    try:
        header = read()
    except StopIteration:
        raise DataError(f"expected a header and rows in {str(path)!r}, got an empty file") from None
    except csv.Error as error:
        raise DataError(f"expected a header in {str(path)!r}, got {error}") from error
    _check_distinct(header, path)

    def rows() -> Iterator[Row]:
        while True:
            start = line() + 1
            try:
                fields = read()
            except StopIteration:
                return
            except csv.Error as error:
                yield start, _csv_reason(error)
                continue
            if len(fields) == len(header):
                yield start, dict(zip(header, fields, strict=True))
            elif fields:
                yield start, f"expected {len(header)} fields, got {len(fields)}"

    return Table(tuple(header), rows())


def _check_distinct(columns: Sequence[str], path: Path) -> None:
    if len(set(columns)) < len(columns):
        raise DataError(f"expected distinct columns in {str(path)!r}, got {', '.join(columns)}")


def _csv_reason(error: csv.Error) -> str:
    if "unexpected end of data" in str(error):
        return "a quotation mark opened here is never closed; the rows after it were not read"
    return f"not CSV: {error}"


def _read_parquet(path: Path) -> Table:
    parquet = require("pyarrow.parquet", "parquet", "a parquet file")
    try:
        with _open(path) as file:
            source = path if path.suffix.lower() == ".parquet" else io.BytesIO(file.read())
        table = parquet.ParquetFile(source)
    except (ValueError, *_BROKEN) as error:
        raise DataError(f"expected a parquet file at {str(path)!r}, got {error}") from error

    def rows(columns: tuple[str, ...]) -> Iterator[Row]:
        number = 0
        try:
            for batch in table.iter_batches(batch_size=1024, columns=list(columns)):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
        # what pyarrow raises for damaged pages, and Python for strings that are not UTF-8 and for dates it cannot hold
        except (ValueError, OverflowError, NotImplementedError, TypeError, *_BROKEN) as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise DataError(f"cannot read {str(path)!r} after row {number}: {reason}") from error

    names = tuple(table.schema_arrow.names)
    _check_distinct(names, path)
    return Table(names, rows(names), rows)


_READERS: dict[str, Callable[[Path], Table]] = {
    ".csv": _read_csv,
    ".tsv": _read_tsv,
    ".jsonl": _read_jsonl,
    ".json": _read_json,
    ".parquet": _read_parquet,
}
