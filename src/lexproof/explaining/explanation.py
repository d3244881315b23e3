"""An explanation: what each method says of each word, as numbers, as a record, and as HTML in a notebook."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from lexproof.errors import UnknownName
from lexproof.explaining.agreement import Agreement, agreement, shown
from lexproof.points import FloatArray
from lexproof.text import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class SafeRadius:
    """How far the vectors of one word may move, in scaled coordinates, before the label may change.

    `lower` is proven.  `any_replacement`: all of the embedding is, and `lower` is the diameter.
    """

    lower: float
    diameter: float
    any_replacement: bool

    @property
    def normalized(self) -> float:
        """The radius as a share of the diameter; 1 says that any replacement is safe."""
        return 1.0 if self.any_replacement else self.lower / self.diameter


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstSwap:
    """The substitute of a word that lowers the label's score most, tried alone, and scored as text.

    `drop` is negative if every substitute raises the score; `flips`: the label was predicted and no longer is.
    """

    substitute: str
    drop: float
    score: float
    flips: bool


Detail = SafeRadius | WorstSwap


@dataclass(frozen=True, slots=True, kw_only=True)
class Saliency:
    """One method's answer: `values[i]` says how much word i matters, more is more; None: it says nothing of the word.

    `details` are what the values rest on, for methods that have more to say.  A method that could not answer has no
    values and a `reason`.  `queries` counts model inputs and `seconds` is wall time, without that of the text itself.
    """

    method: str
    values: tuple[float | None, ...] = ()
    details: tuple[Detail | None, ...] = ()
    reason: str = ""
    queries: int = 0
    seconds: float = 0.0

    @property
    def array(self) -> FloatArray:
        """The values, not a number where there is none."""
        return np.array([math.nan if value is None else value for value in self.values], np.float64)

    def order(self) -> list[int]:
        """Positions by falling saliency as records show it, ties in the order of the text; those without come last."""
        known = [math.inf if value is None else -shown(value) for value in self.values]
        return sorted(range(len(known)), key=known.__getitem__)

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary: the values under `saliency`, and one list for each field of the details."""
        record: dict[str, Any] = {"saliency": None if self.reason else [_short(value) for value in self.values]}
        kinds = {type(detail) for detail in self.details if detail is not None}
        for name in sorted({one.name for kind in kinds for one in fields(kind)}):
            record[name] = [_field(own, name) for own in self.details]
        return {**record, "reason": self.reason, "queries": self.queries, "seconds": round(self.seconds, 6)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What the methods say of each word of a text; `explanation["swaps"]` is one of them.

    `label` is what the saliencies are about, `predicted` what the victim reads; `scores` are those of the text itself.
    """

    kind: ClassVar[str] = "explanation"
    text: Text
    label: int
    predicted: int
    scores: tuple[float, ...]
    labels: tuple[str, ...]
    norm: float
    seed: int
    saliencies: tuple[Saliency, ...]

    def __getitem__(self, method: str) -> Saliency:
        found = {own.method: own for own in self.saliencies}
        if method not in found:
            raise UnknownName("method of this explanation", method, found)
        return found[method]

    @property
    def answered(self) -> tuple[Saliency, ...]:
        """The methods that answered."""
        return tuple(own for own in self.saliencies if not own.reason)

    def agreement(self, top: Iterable[int] = (1, 3)) -> tuple[Agreement, ...]:
        """How far each two methods that answered agree on the order of the words; `top`: sizes of sets compared."""
        sizes = tuple(top)
        return tuple(agreement(one, other, sizes) for one, other in combinations(self.answered, 2))

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary, as `lexproof explain --json` prints it."""
        return {
            "answer": self.kind,
            "text": str(self.text),
            "premise": self.text.premise,
            "predicted": self.predicted,
            "labels": list(self.labels),
            "scores": [_short(score) for score in self.scores],
            **self.saliency_json(),
            "queries": 1 + sum(own.queries for own in self.saliencies),
            "seconds": round(sum(own.seconds for own in self.saliencies), 6),
            "seed": self.seed,
        }

    def saliency_json(self) -> dict[str, Any]:
        """The label, the words, the norm, the methods and how far they agree: what a run keeps of an explanation."""
        return {
            "label": self.label,
            "words": list(self.text.words),
            "norm": "inf" if self.norm == math.inf else self.norm,
            "methods": {own.method: own.to_json() for own in self.saliencies},
            "agreement": [own.to_json() for own in self.agreement()],
        }

    def _repr_html_(self) -> str:
        from lexproof.report.explanations import fragment

        return fragment(self.to_json())


def _field(own: Detail | None, name: str) -> Any:
    """A field of a detail; radii in full, since a bound that is rounded up is not proven."""
    value = None if own is None else getattr(own, name)
    return value if isinstance(own, SafeRadius) else _short(value)


def _short(value: Any) -> Any:
    return shown(value) if isinstance(value, float) else value
