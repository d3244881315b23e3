"""Fetching `movies`: the split, the archive, what pip says, and that nothing is ever half-written."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from lexproof.data import get, read
from lexproof.errors import DataError, UnknownName


def ratings(count: int) -> str:
    return "\r\n".join(f"{k}\t{(-1) ** k * 2.5}\tsentence number {k}" for k in range(count)) + "\r\n"


def test_the_split_leaves_out_neutral_and_repeated_sentences():
    content = ratings(2100) + "1\t0.4\tmeh\r\n2\t-0.49\tmeh too\r\n3\t3.0\tSentence Number 1\r\n4\t-0.5\tjust bad\r\n"
    splits = get.split_movies(content)
    everything = [text for rows in splits.values() for text, _ in rows]
    assert {name: len(rows) for name, rows in splits.items()} == {"train": 101, "dev": 1000, "test": 1000}
    assert len(set(everything)) == 2101 and "meh" not in everything
    assert ("just bad", 0) in [row for rows in splits.values() for row in rows]
    labels = dict(row for rows in splits.values() for row in rows)
    assert labels["sentence number 1"] == 0 and labels["sentence number 2"] == 1
    assert get.split_movies("".join(reversed(content.splitlines(keepends=True))))["test"] == splits["test"]


def test_a_line_that_is_no_rating():
    with pytest.raises(DataError, match="expected id, rating and text in line 1 of the ratings, got 2 fields"):
        get.split_movies("1\t2.5")


def archive(folder: Path, member: str, content: bytes) -> Path:
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w:gz") as tar:
        info = tarfile.TarInfo(member)
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    path = folder / "package.zip"
    with zipfile.ZipFile(path, "w") as outer:
        outer.writestr("vaderSentiment-0.5/additional_resources/hutto_ICWSM_2014.tar.gz", inner.getvalue())
    return path


def test_unpacking_reads_one_member_and_writes_nothing(tmp_path):
    path = archive(tmp_path, "hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt", b"1\t2\tx")
    assert get.unpack(path) == b"1\t2\tx"
    assert [found.name for found in tmp_path.iterdir()] == ["package.zip"]


def test_archives_without_the_member(tmp_path):
    with pytest.raises(DataError, match=r"expected .* with hutto_ICWSM_2014/movie.* in package.zip, got"):
        get.unpack(archive(tmp_path, "../../etc/passwd", b"x"))
    (tmp_path / "other.zip").write_bytes(b"not a zip")
    with pytest.raises(DataError, match=r"in other.zip, got File is not a zip file"):
        get.unpack(tmp_path / "other.zip")


def test_what_pip_cannot_do_is_said_in_one_line(tmp_path, monkeypatch):
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(DataError, match=r"cannot fetch vaderSentiment==0.5 with pip: .*; check the network") as caught:
        get.get("movies", folder=tmp_path)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []  # nothing half-written


def test_a_wrong_hash_is_refused(tmp_path, monkeypatch):
    source = tmp_path / "index"
    source.mkdir()
    with tarfile.open(source / "lexprooftoy-1.0.tar.gz", "w:gz") as tar:
        for name, content in {
            "lexprooftoy-1.0/PKG-INFO": b"Metadata-Version: 2.1\nName: lexprooftoy\nVersion: 1.0\n",
            "lexprooftoy-1.0/setup.py": b"raise SystemExit('setup.py was run')",
        }.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(source))
    target = tmp_path / "out"
    target.mkdir()
    with pytest.raises(DataError, match=r"cannot fetch lexprooftoy==1.0 with pip: .*(HASH|hash|Expected|Got)"):
        get.download("lexprooftoy==1.0", "0" * 64, target)


def test_unknown_sets():
    with pytest.raises(UnknownName, match="unknown set 'movie'; did you mean 'movies'"):
        get.get("movie")


def test_a_set_that_is_there_is_not_fetched_again(tmp_path, monkeypatch):
    monkeypatch.setitem(get._SETS, "movies", lambda: get.split_movies(ratings(2050)))
    folder = get.get("movies", folder=tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == [
        "dev.jsonl.xz",
        "labels.json",
        "test.jsonl.xz",
        "train.jsonl.xz",
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["movies"]
    monkeypatch.setitem(get._SETS, "movies", lambda: pytest.fail("fetched again"))
    assert get.get("movies", folder=tmp_path) == folder
    found = read(folder, split="train")
    assert len(found) == 50 and found.label_names == ("negative", "positive")


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("LEXPROOF_CACHE", str(tmp_path / "file"))
    monkeypatch.setitem(get._SETS, "movies", lambda: pytest.fail("fetched in vain"))
    with pytest.raises(DataError, match=r"expected a folder that can be written, got '.*data': .*; set LEXPROOF_CACHE"):
        get.get("movies")
