"""A run is a folder: config.json, run.sqlite (one row an answer, written as it is finished), summary.json, report.html.

Guarantees: a finished answer survives `kill -9`; a folder is never written over without being told to, and never mixed
with answers of another configuration.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lexproof.errors import RunError

_SCHEMA = "CREATE TABLE IF NOT EXISTS answers (id INTEGER PRIMARY KEY, record TEXT NOT NULL)"
_FILES = ("config.json", "run.sqlite", "run.sqlite-wal", "run.sqlite-shm", "summary.json", "report.html")


class RunFolder:
    """An open run; without a folder it lives in memory.

    One that replaces another touches nothing before its first answer: a mistake must not cost the run that was there.
    """

    def __init__(self, folder: Path | None, *, replacing: Mapping[str, Any] | None = None) -> None:
        self.folder = folder
        self._replacing = replacing  # the configuration to start with, while another run is in its place
        self._is_new_folder = False
        self._connect(None if replacing is not None else folder)

    def _connect(self, folder: Path | None) -> None:
        self._database = sqlite3.connect(":memory:" if folder is None else folder / "run.sqlite", isolation_level=None)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=NORMAL")
        self._database.execute(_SCHEMA)

    @property
    def is_waiting(self) -> bool:
        """Whether the run that this one replaces is still there."""
        return self._replacing is not None

    @property
    def is_empty(self) -> bool:
        """Whether there is no answer yet."""
        return next(self.records(), None) is None

    @classmethod
    def create(cls, folder: Path | None, config: Mapping[str, Any], *, overwrite: bool = False) -> RunFolder:
        """A new run.  An existing run is only replaced with `overwrite`, any other non-empty folder never."""
        if folder is None:
            return cls(None)
        if folder.exists() and not folder.is_dir():
            raise RunError(f"expected {folder} to be a folder, got a file; choose another --out")
        if folder.exists() and any(folder.iterdir()):
            if not (folder / "config.json").is_file():
                raise RunError(
                    f"expected an empty folder or a run, got {folder} with other files; choose another --out"
                )
            if not overwrite:
                raise RunError(
                    f"{folder} already holds a run; continue it with --resume or replace it with --overwrite"
                )
            read_config(folder)
            _check_writable(folder)
            return cls(folder, replacing=config)
        is_new = not folder.exists()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_json(folder / "config.json", config)
        except OSError as error:
            raise RunError(f"cannot write to {folder}: {error.strerror}; choose another --out") from error
        run = cls(folder)
        run._is_new_folder = is_new
        return run

    @classmethod
    def resume(cls, folder: Path, config: Mapping[str, Any]) -> RunFolder:
        """An existing run of the same configuration; RunError names the first thing that differs."""
        found = read_config(folder)
        difference = first_difference(found.get("identity", {}), config["identity"])
        if difference is not None:
            name, old, new = difference
            raise RunError(f"{folder} is a run of another configuration: its {name} is {old}, now it is {new}")
        try:
            return cls(folder)
        except sqlite3.DatabaseError as error:
            raise RunError(f"cannot read {folder / 'run.sqlite'}: {error}") from error

    def add(self, record: Mapping[str, Any]) -> None:
        """Store a finished record at once."""
        if self._replacing is not None and self.folder is not None:
            for name in _FILES:
                (self.folder / name).unlink(missing_ok=True)
            write_json(self.folder / "config.json", self._replacing)
            self._database.close()
            self._connect(self.folder)
            self._replacing = None
        content = json.dumps(record, ensure_ascii=True)
        self._database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (record["id"], content))

    def records(self) -> Iterator[dict[str, Any]]:
        """All records by id."""
        try:
            for (content,) in self._database.execute("SELECT record FROM answers ORDER BY id"):
                record = json.loads(content)
                if not isinstance(record, dict) or "answer" not in record:
                    raise ValueError("a record is not what a run writes")
                yield record
        except (sqlite3.DatabaseError, ValueError) as error:
            raise RunError(f"cannot read {self.folder}/run.sqlite: {error}; it is damaged, start a new run") from error

    def finished(self) -> set[int]:
        """Ids that need not be asked again: all but the rows that failed."""
        return {record["id"] for record in self.records() if record["answer"] != "error"}

    def close(self) -> None:
        """Flush and close; the folder is then one database file without a log beside it."""
        if self.folder is not None and self._replacing is None:
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._database.close()

    def abandon(self) -> None:
        """Close a run that failed; one without any answer leaves nothing behind that would stand in the way."""
        empty = self.is_empty
        self.close()
        if self.folder is not None and empty and self._replacing is None:
            for name in _FILES:
                (self.folder / name).unlink(missing_ok=True)
            if self._is_new_folder and not any(self.folder.iterdir()):
                self.folder.rmdir()


def open_run(folder: Path) -> RunFolder:
    """An existing run, whatever its configuration, to be read."""
    read_config(folder)
    if not (folder / "run.sqlite").is_file():
        raise RunError(f"expected run.sqlite in {folder}, found none; the run did not start")
    try:
        return RunFolder(folder)
    except sqlite3.DatabaseError as error:
        raise RunError(f"cannot read {folder / 'run.sqlite'}: {error}") from error


def read_config(folder: Path) -> dict[str, Any]:
    """The configuration of a run folder."""
    if not (folder / "config.json").is_file():
        raise RunError(f"expected a run folder with config.json, got {folder}")
    config = read_json(folder / "config.json")
    if not isinstance(config.get("identity"), dict):
        raise RunError(f"expected {folder / 'config.json'} to be the configuration of a run, got something else")
    return config


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object of a run folder."""
    if not path.is_file():
        raise RunError(f"expected {path}, found none; finish the run with --resume")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RunError(f"cannot read {path}: {error}") from error
    if not isinstance(content, dict):
        raise RunError(f"expected {path} to hold a JSON object, got {type(content).__name__}")
    return content


def _check_writable(folder: Path) -> None:
    trial = folder / "config.json.new"
    try:
        trial.write_text("")
        trial.unlink()
    except OSError as error:
        raise RunError(f"cannot write to {folder}: {error.strerror}; choose another --out") from error


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file as a whole or not at all."""
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    temporary.replace(path)


def first_difference(old: Mapping[str, Any], new: Mapping[str, Any], path: str = "") -> tuple[str, Any, Any] | None:
    """The first key, by name, whose values differ."""
    for key in sorted({*old, *new}):
        left, right = old.get(key), new.get(key)
        if left == right:
            continue
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            return first_difference(left, right, f"{path}{key}.")
        return f"{path}{key}", left, right
    return None
