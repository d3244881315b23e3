"""The disk cache: same answers, one computation, damage repaired."""

from __future__ import annotations

import sqlite3
from multiprocessing import get_context
from pathlib import Path

import pytest

from lexproof.candidates import Cached, Source, Table
from lexproof.candidates.base import Choices, Spec
from lexproof.candidates.cache import FILE
from lexproof.data import named
from lexproof.errors import InputError
from lexproof.text import Text


class Counting(Source):
    """A table that counts how often it is asked."""

    def __init__(self, options: list[str]) -> None:
        self._table, self.asked = Table({"film": options}), 0

    @property
    def spec(self) -> Spec:
        return self._table.spec

    def __call__(self, text: Text) -> Choices:
        self.asked += 1
        return self._table(text)


TEXT = Text.parse("A film, naïve \ud800?")


def test_a_text_is_computed_once(tmp_path: Path) -> None:
    source = Counting(["movie"])
    cached = Cached(source, folder=tmp_path)
    assert cached(TEXT) == cached(TEXT) == Table({"film": ["movie"]})(TEXT)
    assert Cached(source, folder=tmp_path)(TEXT) == cached(TEXT)
    assert source.asked == 1
    assert cached.spec == source.spec
    cached(Text.parse("A film, naïve \ud800!"))
    cached(Text.parse(str(TEXT), premise="p"))
    assert source.asked == 3


def test_another_source_does_not_get_the_answer(tmp_path: Path) -> None:
    first, second = Counting(["movie"]), Counting(["flick"])
    assert Cached(first, folder=tmp_path)(TEXT) != Cached(second, folder=tmp_path)(TEXT)
    assert second.asked == 1


@pytest.mark.parametrize("damage", [b"", b"not a database at all, but long enough to be looked at" * 50])
def test_a_damaged_file_is_built_again(tmp_path: Path, damage: bytes) -> None:
    cached = Cached(Counting(["movie"]), folder=tmp_path)
    expected = cached(TEXT)
    (tmp_path / FILE).write_bytes(damage)
    again = Counting(["movie"])
    assert Cached(again, folder=tmp_path)(TEXT) == expected
    assert Cached(again, folder=tmp_path)(TEXT) == expected
    assert again.asked == 1


@pytest.mark.parametrize("value", ["{", "3", "[]", None])
def test_a_damaged_row_is_written_over(tmp_path: Path, value: str | None) -> None:
    source = Counting(["movie"])
    cached = Cached(source, folder=tmp_path)
    expected = cached(TEXT)
    base = sqlite3.connect(tmp_path / FILE)
    base.execute("UPDATE candidates SET choices = ?", (value,))
    base.commit()
    base.close()
    assert cached(TEXT) == expected == cached(TEXT)
    assert source.asked == 2


def test_a_busy_cache_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lexproof.candidates.cache._WAIT", 0.01)
    source = Counting(["movie"])
    cached = Cached(source, folder=tmp_path)
    expected = cached(Text.parse("film"))
    base = sqlite3.connect(tmp_path / FILE)
    base.execute("BEGIN EXCLUSIVE")
    assert cached(Text.parse("film")) == expected
    base.close()
    assert cached(Text.parse("film")) == expected
    assert source.asked == 2


def test_where_the_cache_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEXPROOF_CACHE", str(tmp_path / "a"))
    Cached(Counting(["movie"]), folder=tmp_path / "given")(TEXT)
    assert [file.name for file in tmp_path.iterdir()] == ["given"]
    Cached(Counting(["movie"]))(TEXT)
    assert (tmp_path / "a" / FILE).is_file() and named.cache() == tmp_path / "a"
    monkeypatch.delenv("LEXPROOF_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "b"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "b"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "b")
    Cached(Counting(["movie"]))(TEXT)
    assert (named.cache() / FILE).is_file() and named.cache().is_relative_to(tmp_path / "b")


def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"expected a cache folder that can be written, got .*; set LEXPROOF_CACHE"):
        Cached(Counting(["movie"]), folder=tmp_path / "file" / "below")(TEXT)
    (tmp_path / FILE).mkdir()
    with pytest.raises(InputError, match=r"expected a cache folder that can be written, got .*; set LEXPROOF_CACHE"):
        Cached(Counting(["movie"]), folder=tmp_path)(TEXT)


def test_text_that_is_not_utf8_is_damage(tmp_path: Path) -> None:
    source = Counting(["movie"])
    cached = Cached(source, folder=tmp_path)
    expected = cached(TEXT)
    base = sqlite3.connect(tmp_path / FILE)
    base.execute("UPDATE candidates SET choices = CAST(x'ff' AS TEXT)")
    base.commit()
    base.close()
    assert cached(TEXT) == expected == cached(TEXT)
    assert source.asked == 2


def test_a_table_of_another_shape_is_built_again(tmp_path: Path) -> None:
    base = sqlite3.connect(tmp_path / FILE)
    base.execute("CREATE TABLE candidates (a)")
    base.commit()
    base.close()
    source = Counting(["movie"])
    cached = Cached(source, folder=tmp_path)
    assert cached(TEXT) == cached(TEXT) == Table({"film": ["movie"]})(TEXT)
    assert source.asked == 1


ERRORS = [
    (sqlite3.DatabaseError, "SQLITE_NOTADB"),
    (sqlite3.DatabaseError, "SQLITE_CORRUPT"),
    (sqlite3.OperationalError, "SQLITE_IOERR"),
    (sqlite3.OperationalError, "SQLITE_ERROR"),
    (sqlite3.OperationalError, "SQLITE_FULL"),
    (sqlite3.OperationalError, "SQLITE_READONLY_DBMOVED"),
    (sqlite3.IntegrityError, "SQLITE_CONSTRAINT"),
]


@pytest.mark.parametrize(("kind", "name"), ERRORS, ids=[name for _, name in ERRORS])
def test_a_cache_that_stays_damaged_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[sqlite3.Error], name: str
) -> None:
    def fail(*_: object, **__: object) -> sqlite3.Connection:
        error = kind("other processes damage the file again and again")
        error.sqlite_errorcode = getattr(sqlite3, name)
        raise error

    monkeypatch.setattr(sqlite3, "connect", fail)
    source = Counting(["movie"])
    assert Cached(source, folder=tmp_path)(TEXT) == Table({"film": ["movie"]})(TEXT)
    assert source.asked == 1


@pytest.mark.parametrize("name", ["SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_READONLY_DIRECTORY"])
def test_a_cache_that_cannot_be_opened_or_written_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def fail(*_: object, **__: object) -> sqlite3.Connection:
        error = sqlite3.OperationalError("no")
        error.sqlite_errorcode = getattr(sqlite3, name)
        raise error

    monkeypatch.setattr(sqlite3, "connect", fail)
    with pytest.raises(InputError, match="expected a cache folder that can be written, got"):
        Cached(Counting(["movie"]), folder=tmp_path)(TEXT)


def test_a_file_that_another_process_replaces_at_this_moment_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Counting(["movie"])
    cached = Cached(source, folder=tmp_path)
    expected = cached(TEXT)
    connect, tries = sqlite3.connect, iter(range(2))

    def fail_twice(*arguments: object, **settings: object) -> sqlite3.Connection:
        if next(tries, None) is None:
            return connect(*arguments, **settings)  # type: ignore[call-overload]
        error = sqlite3.OperationalError("unable to open database file")
        error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
        raise error

    monkeypatch.setattr(sqlite3, "connect", fail_twice)
    assert cached(TEXT) == expected
    assert source.asked == 1 and next(tries, None) is None


def damage_and_ask(job: tuple[int, str]) -> list[Choices]:
    number, folder = job
    cached, found = Cached(Table({"film": ["movie"]}), folder=folder), []
    for turn in range(20):
        if number == 0 and turn % 3 == 1:
            Path(folder, FILE).write_bytes(b"junk" * 2000)
        found.append(cached(Text.parse(f"film {number} {turn}")))
    return found


def test_many_processes_may_repair_at_once(tmp_path: Path) -> None:
    with get_context("spawn").Pool(3) as pool:
        for found in pool.map(damage_and_ask, [(number, str(tmp_path)) for number in range(3)], chunksize=1):
            assert found == [(("movie",), (), ())] * 20
