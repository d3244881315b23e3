"""Word vectors: the formats, and one clear line for every file that cannot be used."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from lexproof.data.vectors import read_vectors
from lexproof.errors import DataError


def write(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    return folder / name


def test_text_files_may_be_compressed(tmp_path: Path) -> None:
    content = "film 1 2\ncafé 3 4\n".encode()
    for file in (write(tmp_path, "v.txt", content), write(tmp_path, "v.txt.gz", gzip.compress(content))):
        words, vectors = read_vectors(file)
        assert words == ["film", "café"]
        assert vectors.tolist() == [[1, 2], [3, 4]] and vectors.dtype == np.float32


CUT = gzip.compress(b"film 0.1 0.2\n" * 1000, mtime=0)[:40]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("latin.txt", "film 1 2\ncafé 1 2\n".encode("latin-1"), r"expected UTF-8 text in latin\.txt, got .*utf-8"),
        ("junk.txt.gz", b"junk", r"expected UTF-8 text in junk\.txt\.gz, got Not a gzipped file"),
        ("cut.txt.gz", CUT, r"expected UTF-8 text in cut\.txt\.gz, got "),
        ("words.txt", b"film one two\n", r"expected numbers after a word in words\.txt line 1, got "),
        ("none.txt", b"", r"expected word vectors in none\.txt, got none"),
        ("none.npz", b"", r"expected numpy arrays in none\.npz, got "),
        ("pickle.npz", b"\x80\x04]", r"expected numpy arrays in pickle\.npz, got "),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read_vectors(write(tmp_path, name, content))
    assert "\n" not in str(caught.value)


def test_arrays_that_cannot_be_used(tmp_path: Path) -> None:
    words, vectors = np.array(["film", "good"]), np.ones((2, 2))
    made = {
        "text": {"words": words, "vectors": np.array([["a", "b"], ["c", "d"]])},
        "complex": {"words": words, "vectors": vectors * 1j},
        "objects": {"words": words.astype(object), "vectors": vectors},
        "bytes": {"words": np.array([b"film", b"\xff"]), "vectors": vectors},
        "other": {"names": words, "vectors": vectors},
        "shape": {"words": words, "vectors": vectors[:1]},
    }
    messages = {
        "text": r"expected vectors of numbers in text\.npz, got <U1",
        "complex": r"expected vectors of numbers in complex\.npz, got complex128",
        "objects": r"expected numpy arrays in objects\.npz, got ",
        "bytes": r"expected words of text in bytes\.npz, got ",
        "other": r"expected arrays words and vectors in other\.npz, got names, vectors",
        "shape": r"expected a row a word in shape\.npz, got \(2,\) words and \(1, 2\) vectors",
    }
    for name, arrays in made.items():
        np.savez(tmp_path / f"{name}.npz", **arrays)
        with pytest.raises(DataError, match=messages[name]):
            read_vectors(tmp_path / f"{name}.npz")
    np.save(tmp_path / "single.npy", vectors)
    (tmp_path / "single.npy").rename(tmp_path / "single.npz")
    with pytest.raises(DataError, match=r"expected arrays words and vectors in single\.npz, got a single array"):
        read_vectors(tmp_path / "single.npz")
    np.savez_compressed(
        tmp_path / "t.npz", words=np.array(["a"] * 1000), vectors=np.random.default_rng(0).random((1000, 9))
    )
    content = bytearray((tmp_path / "t.npz").read_bytes())
    content[len(content) // 2 : len(content) // 2 + 200] = b"\xff" * 200
    (tmp_path / "t.npz").write_bytes(content)
    with pytest.raises(DataError, match=r"expected numpy arrays in t\.npz, got "):
        read_vectors(tmp_path / "t.npz")
