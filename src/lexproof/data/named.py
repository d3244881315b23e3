"""Named sets: folders NAME/{train,dev,test}.jsonl.xz under LEXPROOF_DATA or the cache, and the embedded demo.

A set's label names come from NAME/labels.json if there is one, or from the table below.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from lexproof.errors import DataError

DEMO = "demo"
SPLITS = ("train", "dev", "test")

_SENTIMENT = ("negative", "positive")
LABEL_NAMES = {
    DEMO: _SENTIMENT,
    "mr": _SENTIMENT,
    "sst2": _SENTIMENT,
    "imdb": _SENTIMENT,
    "movies": _SENTIMENT,
    "agnews": ("World", "Sports", "Business", "Sci/Tech"),
    "snli": ("entailment", "neutral", "contradiction"),
    "hate": ("neither", "hate or offensive"),
}


def cache() -> Path:
    """Where fetched sets are kept: LEXPROOF_CACHE, or the platform's folder for such things."""
    if os.environ.get("LEXPROOF_CACHE"):
        return Path(os.environ["LEXPROOF_CACHE"])
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "lexproof"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "lexproof"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lexproof"


def roots() -> tuple[Path, ...]:
    """The folders that hold named sets: those of LEXPROOF_DATA (several are separated as in PATH), then the cache."""
    given = os.environ.get("LEXPROOF_DATA", "")
    return (*(Path(part) for part in given.split(os.pathsep) if part), cache() / "data")


def names() -> tuple[str, ...]:
    """The sets that can be read now, in alphabetic order."""
    found = {path.parent.name for root in roots() for path in root.glob("*/*.jsonl.xz")}
    return tuple(sorted({DEMO, *found}))


def find(name: str, split: str) -> Path | None:
    """The file of a set's split; None if no folder has a set of that name, DataError if the split is not in it."""
    for root in roots():
        folder = root / name
        there = [known for known in SPLITS if (folder / f"{known}.jsonl.xz").is_file()]
        if split in there:
            return folder / f"{split}.jsonl.xz"
        if there:
            raise DataError(f"expected one of the splits {', '.join(there)} of {name!r}, got {split!r}")
    return None


def label_names(file: Path) -> tuple[str, ...] | None:
    """The label names of the set that a split's file belongs to, if known."""
    record = file.parent / "labels.json"
    if record.is_file():
        try:
            return tuple(map(str, json.loads(record.read_text(encoding="utf-8"))))
        except (ValueError, TypeError) as error:
            raise DataError(f"expected a JSON list of label names in {str(record)!r}, got {error}") from error
    return LABEL_NAMES.get(file.parent.name)
