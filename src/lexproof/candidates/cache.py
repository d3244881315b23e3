"""A disk cache for expensive candidates, such as those of a masked language model.

One SQLite file per folder; keys hash the spec of the source and the text, so a cached answer is the answer.  A file
that is damaged is thrown away and built again: it holds nothing that cannot be computed.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from lexproof.candidates.base import Choices, Source, Spec
from lexproof.errors import InputError
from lexproof.text import Text

FILE = "candidates-1.sqlite"
_WAIT = 30.0  # seconds that a process waits for another one to finish writing


def cache_folder(folder: str | Path | None = None) -> Path:
    """The folder given, or LEXPROOF_CACHE, or lexproof in the user's cache folder."""
    if folder is not None:
        return Path(folder)
    if os.environ.get("LEXPROOF_CACHE"):
        return Path(os.environ["LEXPROOF_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lexproof"


class Cached(Source):
    """A source whose answers are kept on disk, shared by processes; gives exactly what the source gives."""

    def __init__(self, source: Source, *, folder: str | Path | None = None) -> None:
        self.source = source
        self._file = cache_folder(folder) / FILE

    @property
    def spec(self) -> Spec:
        """The spec of the source: a cache changes nothing."""
        return self.source.spec

    def __call__(self, text: Text) -> Choices:
        """The substitutes, from disk if they are there."""
        content = json.dumps([self.source.fingerprint, text.premise, text.words, text.gaps])
        key = hashlib.sha256(content.encode()).digest()
        found = self._get(key)
        if found is None or len(found) != len(text):
            found = self.source(text)
            self._put(key, found)
        return found

    def _get(self, key: bytes) -> Choices | None:
        row = self._run("SELECT choices FROM candidates WHERE key = ?", (key,))
        try:
            return None if row is None else tuple(tuple(options) for options in json.loads(row[0]))
        except (ValueError, TypeError):
            return None  # a damaged row is written over

    def _put(self, key: bytes, choices: Choices) -> None:
        self._run("INSERT OR REPLACE INTO candidates VALUES (?, ?)", (key, json.dumps(choices)))

    def _run(self, statement: str, values: tuple[object, ...]) -> tuple[str] | None:
        try:
            return self._execute(statement, values)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                return None  # another process is writing for very long: do without
            raise self._unusable() from error
        except sqlite3.DatabaseError:  # not a database, or a damaged one
            self._file.unlink(missing_ok=True)
            return self._execute(statement, values)
        except OSError as error:
            raise self._unusable() from error

    def _execute(self, statement: str, values: tuple[object, ...]) -> tuple[str] | None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self._file, timeout=_WAIT)) as base, base:
            base.execute("CREATE TABLE IF NOT EXISTS candidates (key BLOB PRIMARY KEY, choices TEXT) WITHOUT ROWID")
            row: tuple[str] | None = base.execute(statement, values).fetchone()
            return row

    def _unusable(self) -> InputError:
        folder = str(self._file.parent)
        return InputError(f"expected a cache folder that can be written, got {folder!r}; set LEXPROOF_CACHE")
