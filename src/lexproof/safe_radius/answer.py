"""The answer of `radius`: a bracket of the maximal safe radius, with what shows its upper end."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from lexproof.answers import Answer, Cost
from lexproof.errors import InputError
from lexproof.space import Change


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorFlip:
    """Vectors of the open tokens, in scaled coordinates, with which the victim predicts another class."""

    vectors: tuple[tuple[float, ...], ...]
    distance: float
    predicted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WordFlip:
    """A text with other words in the place of open ones, which the victim reads as another class."""

    text: str
    changed: tuple[Change, ...]
    distance: float
    predicted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RadiusBracket(Answer):
    """`lower <= MSR <= upper`: how far the words of an index set may move before the predicted class changes.

    Distances are taken in coordinates scaled to [0, 1], in one norm over all open tokens together.  `lower` is proven:
    every point within it, words or not, keeps the class by more than `rounding`.  `upper`, None if nothing was found,
    is the distance of the nearer of `flip` and `replacement`.  `diameter` is the largest distance of two texts that
    differ in these tokens only.  `any_replacement`: all of the embedding is proven, then `lower` is the diameter.
    `reason` says what is missing and why.
    """

    kind: ClassVar[str] = "radius"
    text: str
    premise: str | None
    words: tuple[int, ...]
    norm: float
    predicted: int
    lower: float
    upper: float | None
    diameter: float
    any_replacement: bool
    flip: VectorFlip | None
    replacement: WordFlip | None
    rounding: float
    victim: str
    reason: str = ""

    def __str__(self) -> str:
        """The bracket in one line; `repr` shows the vectors, too."""
        norm = {1.0: "L1", 2.0: "L2", math.inf: "L∞"}[self.norm]
        upper = "?" if self.upper is None else f"{self.upper:.6g}"
        safe = ", any replacement is safe" if self.any_replacement else ""
        words = ", ".join(str(word) for word in self.words)
        return f"{self.lower:.6g} <= {norm} radius of words {words} <= {upper} (diameter {self.diameter:.6g}{safe})"

    @property
    def normalized(self) -> float:
        """The lower end as a share of the diameter; 1 says that any replacement is safe."""
        if self.any_replacement:
            return 1.0
        return self.lower / self.diameter if self.lower else 0.0  # without tokens there is no diameter

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary; `radius_from_json` gives back an equal answer.  The norm inf is written as a string."""
        norm = "inf" if self.norm == math.inf else self.norm
        return {**Answer.to_json(self), "norm": norm, "normalized": self.normalized}


def radius_from_json(record: Mapping[str, Any]) -> RadiusBracket:
    """The answer that `to_json` wrote; keys that belong to the run are ignored."""
    if record.get("answer") != RadiusBracket.kind:
        raise InputError(f"expected 'answer' to be {RadiusBracket.kind!r}, got {record.get('answer')!r}")
    names = {field.name for field in fields(RadiusBracket)} - {"cost"}
    missing = sorted(names - record.keys())
    if missing:
        raise InputError(f"expected the keys of a radius, missing {', '.join(missing)}")
    values = {name: record[name] for name in names}
    values["norm"], values["words"] = float(values["norm"]), tuple(values["words"])
    if (flip := values["flip"]) is not None:
        values["flip"] = VectorFlip(**{**flip, "vectors": tuple(tuple(row) for row in flip["vectors"])})
    if (words := values["replacement"]) is not None:
        values["replacement"] = WordFlip(**{**words, "changed": tuple(Change(**own) for own in words["changed"])})
    cost = Cost(**{key: record[key] for key in ("queries", "cached", "seconds") if key in record})
    return RadiusBracket(**values, cost=cost)
