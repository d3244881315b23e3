"""FlipWords: kappa of every word and rho of a classifier, as brackets, with what they rest on.

    kappa(w) = texts of D+ that w flips at some position / |D+|
    rho      = pairs (text of D+, word) that cannot be flipped / (|D+| |V|)  =  1 - mean of kappa over V

D+ are the texts that are classified correctly.  Guarantee: `lower <= kappa <= upper` and
`lower <= rho <= upper` for these texts and this vocabulary.  A flip that was found raises the lower end of a kappa and
lowers the upper end of rho; a word that is proven unable to flip a text does the opposite.  With every pair settled the
brackets are numbers (`is_exact`).  Intervals beside them are over the draw of the texts.

Reference: Xu et al. 2024, Single Word Change is All You Need, definitions 1 and 2, theorem 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexproof.answers import Cost
from lexproof.errors import InputError
from lexproof.points import FloatArray
from lexproof.statistics.intervals import clopper_pearson
from lexproof.statistics.means import mean_interval

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """The bracket `lower … upper` for these texts, and around it the interval `low … high` over their draw."""

    lower: float
    upper: float
    low: float
    high: float
    n: int

    @property
    def is_exact(self) -> bool:
        """Whether the bracket is a number."""
        return self.lower == self.upper

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary with the keys that every share has; `value` only where the bracket is a number."""
        value = self.lower if self.is_exact else None
        return {"value": value, **asdict(self), "confidence": CONFIDENCE}


@dataclass(frozen=True, slots=True)
class Example:
    """A text that a word flips when it stands at a position."""

    text: int
    position: int


@dataclass(frozen=True, slots=True)
class FlipWords:
    """What single words do to the texts of D+; texts are named by their number in what was asked about."""

    words: tuple[str, ...]
    labels: tuple[str, ...]
    method: str
    n: tuple[int, ...]  # texts of D+ by class
    known: NDArray[np.int64]  # (V, classes): texts of each class that a word is known to flip
    possible: NDArray[np.int64]  # (V, classes): texts that it is not proven unable to flip
    flips: FloatArray  # (texts, 2): share of the vocabulary known to flip each text, and possibly flipping it
    examples: Mapping[int, tuple[Example, ...]]  # of words, by their number
    misclassified: int = 0
    unknown: tuple[str, ...] = ()  # words that the model does not know: it reads all of them alike
    errors: int = 0
    cost: Cost = field(default_factory=Cost)

    @property
    def total(self) -> int:
        """|D+|."""
        return sum(self.n)

    @property
    def is_exact(self) -> bool:
        """Whether every pair of text and word is settled."""
        return bool((self.known == self.possible).all())

    @property
    def rho(self) -> Estimate:
        """Robustness against single-word perturbation."""
        cells = self.total * len(self.words)
        low, high = 1 - int(self.possible.sum()) / cells, 1 - int(self.known.sum()) / cells
        worst, _ = mean_interval(1 - self.flips[:, 1], CONFIDENCE)
        _, best = mean_interval(1 - self.flips[:, 0], CONFIDENCE)
        return Estimate(low, high, worst, best, self.total)

    def kappa(self, word: str | int, label: int | None = None) -> Estimate:
        """Flip capability of a word, over all of D+ or over one class."""
        at = self.number(word) if isinstance(word, str) else word
        chosen = self._classes(label)
        known, possible = int(self.known[at, chosen].sum()), int(self.possible[at, chosen].sum())
        n = sum(self.n[chosen])
        if not n:
            raise InputError(f"expected texts of class {label}, got none that is classified correctly")
        low, high = clopper_pearson(known, n, CONFIDENCE)[0], clopper_pearson(possible, n, CONFIDENCE)[1]
        return Estimate(known / n, possible / n, low, high, n)

    @property
    def kappa_lower(self) -> FloatArray:
        """The lower end of every word's kappa: (V,)."""
        return np.asarray(self.known.sum(axis=1) / self.total, np.float64)

    def number(self, word: str) -> int:
        """The number of a word in the vocabulary."""
        try:
            return self.words.index(word)
        except ValueError:
            raise InputError(f"expected a word of the vocabulary, got {word!r}") from None

    def top(self, count: int, label: int | None = None) -> list[int]:
        """Words that flip most texts (of a class), by known flips, then by possible ones, then in order."""
        chosen = self._classes(label)
        keys = (np.arange(len(self.words)), -self.possible[:, chosen].sum(1), -self.known[:, chosen].sum(1))
        return [int(word) for word in np.lexsort(keys)[:count]]

    def by_turns(self, count: int) -> list[int]:
        """Words for an attack on texts of every class: of each class in turn the one that flips most of its texts.

        The words that flip most texts of all often flip those of one class only, and leave the others alone.
        """
        ranked = [
            [word for word in self.top(len(self.words), label) if self.known[word, label]]
            for label in range(len(self.labels))
        ]
        found: dict[int, None] = {}
        for turn in zip_longest(*ranked):
            found.update(dict.fromkeys(word for word in turn if word is not None))
        return list(found)[:count]

    def _classes(self, label: int | None) -> slice:
        if label is None:
            return slice(None)
        if label not in range(len(self.labels)):
            raise InputError(f"expected a label from 0 to {len(self.labels) - 1}, got {label}")
        return slice(label, label + 1)

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary; `flip_words_from_json` gives back an equal answer."""
        return {
            "answer": "flip-words",
            "method": self.method,
            "labels": list(self.labels),
            "n": list(self.n),
            "misclassified": self.misclassified,
            "errors": self.errors,
            "rho": self.rho.to_json(),
            "words": list(self.words),
            "unknown": list(self.unknown),
            "known": self.known.tolist(),
            "possible": None if self.is_exact else self.possible.tolist(),
            "flips": self.flips.tolist(),
            "examples": {str(word): [asdict(own) for own in found] for word, found in self.examples.items()},
            **asdict(self.cost),
        }


def flip_words_from_json(record: Mapping[str, Any]) -> FlipWords:
    """The answer that `FlipWords.to_json` wrote."""
    if record.get("answer") != "flip-words":
        raise InputError(f"expected 'answer' to be 'flip-words', got {record.get('answer')!r}")
    known = np.array(record["known"], np.int64).reshape(len(record["words"]), len(record["labels"]))
    possible = known if record["possible"] is None else np.array(record["possible"], np.int64).reshape(known.shape)
    return FlipWords(
        words=tuple(record["words"]),
        labels=tuple(record["labels"]),
        method=record["method"],
        n=tuple(record["n"]),
        known=known,
        possible=possible,
        flips=np.array(record["flips"], np.float64).reshape(-1, 2),
        examples={int(word): tuple(Example(**own) for own in found) for word, found in record["examples"].items()},
        misclassified=record["misclassified"],
        unknown=tuple(record["unknown"]),
        errors=record["errors"],
        cost=Cost(queries=record["queries"], cached=record["cached"], seconds=record["seconds"]),
    )
