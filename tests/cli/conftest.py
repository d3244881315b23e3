"""A folder with a small model, a table of substitutes and a few texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

MODEL = """
def score(texts):
    return [[0.9, 0.1] if "dull" in text or "poor" in text else [0.2, 0.8] for text in texts]
score.labels = ["negative", "positive"]

def broken(texts):
    raise ValueError("out of memory")
broken.labels = ["negative", "positive"]

def nan(texts):
    return [[float("nan"), 0.5] for _ in texts]
nan.labels = ["negative", "positive"]

def short(texts):
    return [[0.5, 0.5]]
short.labels = ["negative", "positive"]

def picky(texts):
    if any("good" in text for text in texts):
        raise ValueError("too good")
    return score(texts)
picky.labels = ["negative", "positive"]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "table.json").write_text(json.dumps({"fun": ["dull", "bright"], "good": ["poor", "fine"]}))
    texts = ["a fun film", "a good plot", "a plain story", "dull"]
    (tmp_path / "texts.csv").write_text("text,label\n" + "".join(f"{text},positive\n" for text in texts))
    return tmp_path
