"""What the package carries: the lexicon, the demonstration sentences, the embedded models.  See README.md beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def path(name: str) -> Path:
    """Where an embedded file lies."""
    return Path(__file__).parent / name


def reviews() -> list[dict[str, Any]]:
    """Movie-review sentences written for this project: {"text": ..., "label": 0 | 1}, half of them negative (0)."""
    return [json.loads(line) for line in path("reviews.jsonl").read_text(encoding="utf-8").splitlines()]
