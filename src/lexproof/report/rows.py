"""Rows: each record as the page shows it.  The template and the script draw the same row from the same fields."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lexproof.errors import InputError
from lexproof.report.evidence import evidence, share_value, verdict
from lexproof.report.glyph import glyph_name
from lexproof.report.numerals import NOTHING, count, score
from lexproof.report.saliency import Line, is_short, lines
from lexproof.report.segments import Segment, after_swaps, segments
from lexproof.report.status import CLOSED, status
from lexproof.report.visible import visible

_REQUIRED = ("id", "text", "answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One text: sort keys (numbers or None), cells (strings ready to show), segments and evidence."""

    id: int | str
    status: str
    label: int | None
    premise: str | None
    segments: tuple[Segment, ...]
    verdict: str
    witness: str | None
    copy: str | None
    """The witness with its hidden characters as they are, if it has any."""
    glyph: str
    keys: dict[str, float | None]
    cells: dict[str, str]
    evidence: tuple[tuple[str, str], ...]
    saliency: tuple[Line, ...] = ()
    """The text as each method of an explanation sees it, if the run has explanations."""
    unfolded: bool = True
    """Whether these lines are shown at once."""

    @property
    def closed(self) -> bool:
        """Whether the minimum is known, or proven not to exist."""
        return self.status in CLOSED

    def to_json(self) -> dict[str, Any]:
        """What the script needs; a witness that the segments spell out already is written as true."""
        spelled = self.witness is not None and self.witness == after_swaps(self.segments)
        fields = {
            "id": self.id,
            "status": self.status,
            "closed": self.closed,
            "label": self.label,
            "premise": self.premise,
            "segments": [segment.to_json() for segment in self.segments],
            "verdict": self.verdict,
            "witness": True if spelled else self.witness,
            "copy": self.copy,
            "glyph": self.glyph,
            "keys": self.keys,
            "cells": self.cells,
            "evidence": self.evidence,
            "saliency": [line.to_json() for line in self.saliency] or None,
            "unfolded": self.unfolded if self.saliency else None,
        }
        return {name: value for name, value in fields.items() if value is not None}


def row(record: Mapping[str, Any], labels: Sequence[str]) -> Row:
    """The row of a record; InputError if the record lacks what every record has."""
    missing = [name for name in _REQUIRED if record.get(name) is None]
    if missing:
        raise InputError(f"expected a record with {', '.join(_REQUIRED)}, got one without {', '.join(missing)}")
    kind = status(record)
    # the witness of a misclassified text is the text itself: there is nothing to show or to copy
    raw = record.get("witness") if kind != "wrong" else None
    witness = None if raw is None else visible(raw)
    keys = _keys(record, kind)
    return Row(
        id=record["id"] if isinstance(record["id"], int) else visible(str(record["id"])),
        status=kind,
        label=record.get("label"),
        premise=None if record.get("premise") is None else visible(record["premise"]),
        segments=segments(record["text"], record.get("changed") or (), record.get("breakers") or ()),
        verdict=verdict(record, kind, labels),
        witness=witness,
        copy=raw if raw != witness else None,
        glyph=glyph_name(kind, record.get("lower"), record.get("upper")),
        keys=keys,
        cells={**_cells(keys, kind), "share": share_value(record.get("share"))},
        evidence=evidence(record, labels),
        saliency=lines(record["text"], record.get("explanation"), labels),
        unfolded=is_short(record["text"]),
    )


def _keys(record: Mapping[str, Any], kind: str) -> dict[str, float | None]:
    scores, predicted = record.get("scores") or (), record.get("predicted")
    confidence = scores[predicted] if predicted is not None and 0 <= predicted < len(scores) else None
    keys = {
        "lower": None if kind == "error" else record.get("lower"),
        "upper": None if kind == "error" else record.get("upper"),
        "share": (record.get("share") or {}).get("value"),
        "confidence": confidence,
        "queries": record.get("queries"),
    }
    return {name: value if value is None or math.isfinite(value) else None for name, value in keys.items()}


def _cells(keys: Mapping[str, float | None], kind: str) -> dict[str, str]:
    def whole(name: str) -> str:
        value = keys[name]
        return NOTHING if value is None else count(int(value))

    without_upper = {"robust": "none exists", "unsettled": "none known"}
    return {
        "lower": NOTHING if kind == "robust" else whole("lower"),
        "upper": without_upper.get(kind) or whole("upper"),
        "confidence": score(keys["confidence"]),
        "queries": whole("queries"),
    }
