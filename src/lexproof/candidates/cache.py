"""A disk cache for expensive candidates, such as those of a masked language model.

One SQLite file per folder; keys hash the spec of the source and the text, so a cached answer is the answer.  A file
that is damaged is thrown away and built again: it holds nothing that cannot be computed.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from lexproof.candidates.base import Choices, Source, Spec
from lexproof.data.named import cache
from lexproof.errors import InputError
from lexproof.text import Text

FILE = "candidates-2.sqlite"
_WAIT = 30.0  # seconds that a process waits for another one to finish writing
# a file cannot be opened for a moment while another process replaces it (SQLite sees the journal of the old one, which
# is gone when it is read); one that cannot be opened after these seconds, either, is one that we may not write
_PAUSES = (0.01, 0.05, 0.25)
# not a database, a damaged one, or one with another table
_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_SCHEMA)


class Cached(Source):
    """A source whose answers are kept on disk, shared by processes; gives exactly what the source gives.

    The file lies in the folder given, else in the cache folder (LEXPROOF_CACHE or the platform's).
    """

    def __init__(self, source: Source, *, folder: str | Path | None = None) -> None:
        self.source = source
        self._file = (cache() if folder is None else Path(folder)) / FILE

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
        except sqlite3.Error as error:
            if _code(error) & 0xFF not in _DAMAGED:
                return None  # another process is writing for very long, or the disk is full: do without
        try:
            self._file.unlink(missing_ok=True)
            return self._execute(statement, values)
        except (sqlite3.Error, OSError):
            return None  # others repair at the same time: do without

    def _execute(self, statement: str, values: tuple[object, ...]) -> tuple[str] | None:
        pauses = iter(_PAUSES)
        while True:
            try:
                return self._execute_once(statement, values)
            except (sqlite3.Error, OSError) as error:
                if not _is_closed(error):
                    raise
                if (pause := next(pauses, None)) is None:
                    folder = str(self._file.parent)
                    raise InputError(
                        f"expected a cache folder that can be written, got {folder!r}; set LEXPROOF_CACHE"
                    ) from error
                time.sleep(pause)

    def _execute_once(self, statement: str, values: tuple[object, ...]) -> tuple[str] | None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self._file, timeout=_WAIT)) as base, base:
            base.execute("CREATE TABLE IF NOT EXISTS candidates (key BLOB PRIMARY KEY, choices TEXT) WITHOUT ROWID")
            row: tuple[str] | None = base.execute(statement, values).fetchone()
            return row


def _code(error: sqlite3.Error) -> int:
    # a text that is not UTF-8 is found by Python, not by SQLite, and has no code
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)


def _is_closed(error: sqlite3.Error | OSError) -> bool:
    """Whether the file cannot be opened or written; one that another process has just replaced can."""
    if isinstance(error, OSError):
        return True
    code = _code(error)
    return code & 0xFF in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY) and code != sqlite3.SQLITE_READONLY_DBMOVED
