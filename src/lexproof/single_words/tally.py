"""Adds up the rows of matrix A, one text after another, in memory that grows with the vocabulary only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lexproof.answers import Cost
from lexproof.errors import InputError
from lexproof.single_words.answer import Example, FlipWords
from lexproof.single_words.flips import TextFlips

EXAMPLES = 3
"""Texts that are remembered for each word of each class."""


class Tally:
    """Counts by word and class, and the first texts that each word flips."""

    def __init__(self, words: Sequence[str], labels: Sequence[str]) -> None:
        self.words, self.labels = tuple(words), tuple(labels)
        shape = len(self.words), len(self.labels)
        self._known: NDArray[np.int64] = np.zeros(shape, np.int64)
        self._possible: NDArray[np.int64] = np.zeros(shape, np.int64)
        self._examples: NDArray[np.int64] = np.full((*shape, EXAMPLES, 2), -1, np.int64)
        self._n = [0] * len(self.labels)
        self._flips: list[tuple[float, float]] = []
        self._cost = Cost()

    def add(self, text: int, row: TextFlips) -> None:
        """Take one text of D+ into account; texts are to come in their order, so that examples are the first ones."""
        known, label = row.known, row.label
        if len(known) != len(self.words):
            raise InputError(f"expected a row of {len(self.words)} words, got {len(known)}")
        words = np.flatnonzero(known & (self._known[:, label] < EXAMPLES))
        self._examples[words, label, self._known[words, label]] = np.stack(
            [np.full(len(words), text), row.position[words]], axis=1
        )
        self._known[:, label] += known
        self._possible[:, label] += row.possible
        self._n[label] += 1
        self._flips.append((float(known.mean()), float(row.possible.mean())))
        self._cost += row.cost

    def answer(self, method: str, *, misclassified: int = 0, errors: int = 0, unknown: Sequence[str] = ()) -> FlipWords:
        """What the texts so far amount to; InputError if none was classified correctly."""
        if not sum(self._n):
            raise InputError(
                f"expected texts that the model classifies correctly, got none ({misclassified} are misclassified): "
                "kappa and rho are not defined; check the labels and the model"
            )
        return FlipWords(
            words=self.words,
            labels=self.labels,
            method=method,
            n=tuple(self._n),
            known=self._known.copy(),
            possible=self._possible.copy(),
            flips=np.array(self._flips, np.float64).reshape(-1, 2),
            examples=self._found(),
            misclassified=misclassified,
            unknown=tuple(unknown),
            errors=errors,
            cost=self._cost,
        )

    def _found(self) -> dict[int, tuple[Example, ...]]:
        """The examples of each word that has any, class after class."""
        found: dict[int, list[Example]] = {}
        for word, label, place in zip(*np.nonzero(self._examples[..., 0] >= 0), strict=True):
            text, position = self._examples[word, label, place].tolist()
            found.setdefault(int(word), []).append(Example(text, position))
        return {word: tuple(examples) for word, examples in found.items()}
