"""Toy victims and spaces that can be checked by hand, and where the development data is."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lexproof.points import FloatArray
from lexproof.space import Space
from lexproof.text import Input
from lexproof.victims.base import Victim, check_scores


def weight(word: str, seed: int) -> float:
    """A reproducible number in [-1, 1) for a word."""
    digest = hashlib.sha256(f"{seed}:{word}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") / 2**63 - 1.0


class Additive(Victim):
    """Binary classifier: the sum of word weights, squashed.  Simple enough to be right, varied enough to be broken."""

    kind = "additive"
    labels = ("negative", "positive")

    def __init__(self, seed: int = 0, bias: float = 0.3, quadratic: float = 0.0) -> None:
        self.seed, self.bias, self.quadratic = seed, bias, quadratic
        self.asked: list[Input] = []

    @property
    def fingerprint(self) -> str:
        return f"additive-{self.seed}-{self.bias}-{self.quadratic}"

    def scores(self, inputs: Sequence[Input]) -> FloatArray:
        self.asked.extend(inputs)
        sums = [
            sum(weight(word, self.seed) for word in (given if isinstance(given, str) else " ".join(given)).split())
            for given in inputs
        ]
        values = np.array(sums) + self.bias
        values = values + self.quadratic * np.sin(5 * values)
        positive = 1 / (1 + np.exp(-values))
        return check_scores(np.stack([1 - positive, positive], axis=1), len(inputs), 2, "additive")


class Letters:
    """Encodes a text by its counts of letters, and remembers what it was asked."""

    name = "letters"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.extend(texts)
        counts = np.array([[text.count(chr(97 + i)) for i in range(26)] for text in texts], np.float32) + 1e-3
        return np.asarray(counts / np.linalg.norm(counts, axis=1, keepdims=True), np.float32)


def random_space(rng: np.random.Generator, *, words: int = 6, options: int = 3, max_swaps: int | None = None) -> Space:
    """A small space with some words without substitutes and some words repeated."""
    n = int(rng.integers(1, words + 1))
    names = [f"w{rng.integers(0, 8)}" for _ in range(n)]
    choices = [[f"{name}s{j}" for j in range(int(rng.integers(0, options + 1)))] for name in names]
    limit = int(rng.integers(0, n + 1)) if max_swaps is None else max_swaps
    return Space(" ".join(names), choices, limit)


def brute_minimum(victim: Victim, space: Space, label: int) -> int | None:
    """The least number of swaps of a flip, by scoring every text of the space."""
    points = space.points()
    flips = victim.scores(space.render(points)).argmax(axis=1) != label
    return min(np.count_nonzero(points[flips], axis=1).tolist(), default=None)


def data_root() -> Path | None:
    """The folder of development data, if it is there."""
    here = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    root = Path(os.environ["LEXPROOF_DATA"]) if "LEXPROOF_DATA" in os.environ else here
    return root if root.is_dir() else None
