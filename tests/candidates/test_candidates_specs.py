"""Candidates from a line of text, and the names of the room."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lexproof import candidates, registry
from lexproof.candidates import Typos, from_spec
from lexproof.errors import DataError, InputError, UnknownName
from lexproof.text import Text

FILM = Text.parse("film")


def test_settings_reach_the_source(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps({"film": ["movie"]}), encoding="utf-8")
    assert from_spec(f"table:{tmp_path / 't.json'}")(FILM) == (("movie",),)
    assert len(from_spec("default?k=2")(FILM)[0]) == 2
    assert from_spec("default?floor=0.98")(FILM) == (("movie",),)
    assert from_spec("wordnet?k=3")(FILM) == (("flick", "movie", "pic"),)
    assert from_spec("typos?seed=7&per_word=2&kinds=swap,delete")(FILM) == Typos(
        seed=7, per_word=2, kinds=["swap", "delete"]
    )(FILM)
    assert from_spec("default?k=3") != from_spec("default?k=3")  # a new object each time ...
    assert from_spec("default?k=3").spec == candidates.default(k=3).spec  # ... that means the same


def test_english_filters_unless_raw() -> None:
    text = Text.parse("hot is fine food for Hope")
    filtered, raw = from_spec("wordnet?k=50")(text), from_spec("wordnet?k=50&raw=1")(text)
    assert filtered[1] == () and raw[1]
    assert filtered[5] == () and raw[5]
    assert set(filtered[0]) <= set(raw[0])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("tabel:x.json", "unknown candidate 'tabel'; did you mean 'table'?"),
        ("", "unknown candidate ''"),
        ("table", r"expected table:FILE, a JSON file of word: \[substitutes\], got 'table'"),
        ("default:x", "expected no file with candidates 'default', got 'x'"),
        ("default?kk=3", "unknown setting 'kk' of candidates 'default'; available: k, floor"),
        ("default?k=three", "expected k to be a number, got 'three'"),
        ("default?k=", "expected k to be a number, got ''"),
        ("default?k=0", "expected k >= 1, got 0"),
        ("wordnet?raw=yes", "expected raw=0 or raw=1, got 'yes'"),
        ("typos?kinds=jumble", "expected kinds of typos among"),
        ("table:nowhere.json", "expected a JSON file of word: .*, got 'nowhere.json', which cannot be read"),
        ("table:x?a=1", "unknown setting 'a' of candidates 'table'; available: none"),
    ],
)
def test_errors_take_one_line(spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        from_spec(spec)
    assert "\n" not in str(caught.value)


def test_error_kinds() -> None:
    with pytest.raises(UnknownName):
        from_spec("tabel")
    with pytest.raises(DataError):
        from_spec("vocabulary:nowhere.txt")


def test_plug_ins_are_built_from_file_and_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(file: str = "", **settings: str) -> candidates.Table:
        return candidates.Table({"film": [file, *settings.values()]})

    entry = registry.Entry("mine", "nowhere:Nothing", "a plug-in")
    known = {**registry.entries("candidates"), "mine": entry}
    monkeypatch.setattr(registry, "entries", lambda kind: known)
    monkeypatch.setattr(registry.Entry, "load", lambda self: build)
    assert from_spec("mine:file?a=1&b=2")(FILM) == (("file", "1", "2"),)


def test_every_registered_name_is_in_the_room() -> None:
    for name, entry in registry.entries("candidates").items():
        assert callable(entry.load()), name
    assert registry.get("candidates", "default") is candidates.default


def test_public_names_exist_and_others_do_not() -> None:
    for name in candidates.__all__:
        assert getattr(candidates, name)
    assert sorted(candidates.__all__) == dir(candidates)
    with pytest.raises(AttributeError, match=r"module 'lexproof.candidates' has no attribute 'Nothing'"):
        candidates.Nothing  # noqa: B018
