"""The disk cache: same answers, one computation, damage repaired."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from lexproof.candidates import Cached, Source, Table
from lexproof.candidates.base import Choices, Spec
from lexproof.candidates.cache import FILE, cache_folder
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
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "b"))
    assert cache_folder(tmp_path) == tmp_path
    assert cache_folder() == tmp_path / "a"
    monkeypatch.delenv("LEXPROOF_CACHE")
    assert cache_folder() == tmp_path / "b" / "lexproof"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "lexproof"


def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"expected a cache folder that can be written, got .*; set LEXPROOF_CACHE"):
        Cached(Counting(["movie"]), folder=tmp_path / "file" / "below")(TEXT)
    (tmp_path / FILE).mkdir()
    with pytest.raises(InputError, match=r"expected a cache folder that can be written, got .*; set LEXPROOF_CACHE"):
        Cached(Counting(["movie"]), folder=tmp_path)(TEXT)
