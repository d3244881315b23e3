"""Dataset: texts with their labels, and an account of the rows that could not be used."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property

from lexproof.text import Input


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that was left out: its line in the file (or its number, where a format has no lines) and why."""

    line: int
    reason: str


@dataclass(frozen=True)
class Dataset:
    """Texts and gold labels; `labels` is None if the file has none, and label k is named `label_names[k]`.

    `notice`: what a user must know of the labels, if anything.
    """

    texts: tuple[Input, ...]
    labels: tuple[int, ...] | None
    label_names: tuple[str, ...]
    name: str
    bad_rows: tuple[BadRow, ...] = ()
    notice: str = ""

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the texts and labels, recorded with each run."""
        content = json.dumps([self.texts, self.labels, self.label_names])
        return hashlib.sha256(content.encode()).hexdigest()[:16]
