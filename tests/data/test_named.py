"""Named sets: found under LEXPROOF_DATA and the cache, with their label names; the embedded demo."""

from __future__ import annotations

import json
import lzma
import os
import sys
from pathlib import Path

import pytest

from lexproof.data import named, read
from lexproof.errors import DataError


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """Two data folders and a cache."""
    monkeypatch.setenv("LEXPROOF_DATA", f"{tmp_path / 'one'}{os.pathsep}{tmp_path / 'two'}")
    monkeypatch.setenv("LEXPROOF_CACHE", str(tmp_path / "cache"))
    put(tmp_path / "one" / "mr", "test", [{"text": "x", "label": 1}])
    put(tmp_path / "one" / "mr", "train", [{"text": "t", "label": 0}])
    put(tmp_path / "two" / "mr", "dev", [{"text": "hidden by the first folder", "label": 1}])
    put(tmp_path / "two" / "own", "test", [{"text": "y", "label": "b"}])
    put(tmp_path / "cache" / "data" / "snli", "test", [{"premise": "p", "hypothesis": "h", "label": 2}])
    return tmp_path


def put(folder: Path, split: str, rows: list[dict]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{split}.jsonl.xz").write_bytes(lzma.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))


def test_sets_are_found_by_name(home):
    assert named.names() == ("demo", "mr", "own", "snli")
    found = read("mr")
    assert (found.texts, found.labels, found.label_names, found.name) == (
        ("x",),
        (1,),
        ("negative", "positive"),
        "mr/test",
    )
    assert read("mr", split="train").texts == ("t",)
    assert read("mr", labels=["bad", "good"]).label_names == ("bad", "good")
    assert read("own").label_names == ("b",)
    pair = read("snli")
    assert (pair.texts, pair.label_names[pair.labels[0]]) == ((("p", "h"),), "contradiction")


def test_indexes_follow_the_names(home):
    assert read("mr", labels=["Positive", "Negative"]).labels == (0,)


def test_a_folder_by_its_path(home):
    assert read(home / "two" / "own").name == "own/test"


def test_label_names_may_lie_in_the_folder(home):
    (home / "two" / "own" / "labels.json").write_text('["a", "b"]')
    assert (read("own").labels, read("own").label_names) == ((1,), ("a", "b"))
    (home / "two" / "own" / "labels.json").write_text("{")
    with pytest.raises(DataError, match=r"expected a JSON list of label names in '.*labels.json', got"):
        read("own")


def test_what_is_not_there(home):
    with pytest.raises(DataError, match="expected one of the splits train, test of 'mr', got 'dev'"):
        read("mr", split="dev")
    with pytest.raises(
        DataError, match=r"got 'imdb', which is neither; sets here: demo, mr, own, snli \(set LEXPROOF_DATA"
    ):
        read("imdb")
    with pytest.raises(DataError, match=r"expected a file or a named set, got '.*none.csv', which is neither"):
        read(home / "none.csv")


def test_the_cache_has_a_place_on_every_platform(monkeypatch, tmp_path):
    monkeypatch.delenv("LEXPROOF_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    expected = {"linux": "xdg/lexproof", "win32": "local/lexproof", "darwin": "Library/Caches/lexproof"}
    for platform, folder in expected.items():
        monkeypatch.setattr(sys, "platform", platform)
        assert named.cache() == tmp_path / folder


def test_the_demo(home):
    pytest.importorskip("lexproof.resources")
    found = read("demo")
    assert len(found) >= 50 and set(found.labels or ()) == {0, 1} and not found.bad_rows
    assert found.label_names == ("negative", "positive")
    assert read("demo", limit=3).texts == found.texts[:3]
    assert read("demo", labels=["n", "p"]).label_names == ("n", "p")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "rows", "classes"),
    [("mr", 1066, 2), ("sst2", 1821, 2), ("agnews", 7600, 4), ("snli", 9824, 3), ("hate", 4783, 2)],
)
def test_development_sets(monkeypatch, data_folder, name, rows, classes):
    monkeypatch.setenv("LEXPROOF_DATA", str(data_folder))
    found = read(name)
    assert (len(found), len(found.label_names), found.bad_rows) == (rows, classes, ())
    assert set(found.labels or ()) == set(range(classes))
    assert isinstance(found.texts[0], tuple) is (name == "snli")


def test_a_name_that_the_file_system_refuses():
    with pytest.raises(DataError, match=r"expected a file or a named set, got 'a{80}'…: File name too long"):
        read("a" * 5000)
