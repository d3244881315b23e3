"""Glyph: a bracket as a small picture, one for each distinct bracket of a run.

From left to right, for 1, 2, … swaps: proven safe, not settled, broken; the same three colors as in the band chart.
A dot marks the smallest flip that is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lexproof.report.numerals import plural
from lexproof.report.status import status

WIDTH, HEIGHT = 96, 16
_LEFT = 5  # room for a dot at 0 swaps
_RIGHT = 91
_AXIS_LIMIT = 30  # brackets beyond it are drawn at the right edge


@dataclass(frozen=True, slots=True)
class Glyph:
    """The three parts, each as (start, width), the position of the dot, and the words that say the same."""

    name: str
    title: str
    proven: tuple[float, float] | None
    unsettled: tuple[float, float] | None
    broken: tuple[float, float] | None
    dot: float | None


def glyph_name(kind: str, lower: int | None, upper: int | None) -> str:
    """The name by which a row refers to its glyph."""
    if kind in ("robust", "error"):
        return f"g-{kind}"
    return f"g-{lower}-{'x' if upper is None else upper}"


def axis_end(records: Iterable[Mapping[str, Any]]) -> int:
    """The largest number of swaps that a glyph has to show."""
    ends = [1]
    for record in records:
        if status(record) not in ("robust", "error"):
            ends += [record["lower"], record.get("upper") or 0]
    return min(max(ends), _AXIS_LIMIT)


def glyph(kind: str, lower: int | None, upper: int | None, end: int) -> Glyph:
    """The picture of one bracket on an axis from 0 to `end` swaps."""
    name = glyph_name(kind, lower, upper)
    if kind == "error":
        return Glyph(name, "not answered", None, None, None, None)
    if kind == "robust":
        return Glyph(name, "proven safe in the whole space", _extent(_LEFT, _RIGHT), None, None, None)
    assert lower is not None

    def x(swaps: float) -> float:
        return round(_LEFT + (_RIGHT - _LEFT) * min(max(swaps, 0), end) / end, 1)

    first_open = x(lower - 1)  # cell k, from k - 1 to k, stands for "k swaps"
    first_broken = x(end if upper is None else upper - 1)
    if upper is None:
        title = f"at least {plural(lower, 'swap')}, no flip known"
    else:
        title = f"exactly {plural(upper, 'swap')}" if lower == upper else f"{lower} to {plural(upper, 'swap')}"
    return Glyph(
        name,
        title,
        _extent(_LEFT, first_open),
        _extent(first_open, first_broken),
        None if upper is None else _extent(first_broken, _RIGHT),
        None if upper is None else x(upper - 0.5),
    )


def _extent(start: float, end: float) -> tuple[float, float] | None:
    return (start, round(end - start, 1)) if end > start else None


def glyphs(records: Iterable[Mapping[str, Any]], end: int) -> tuple[Glyph, ...]:
    """One glyph for each distinct bracket, in order."""
    brackets = {(status(record), record.get("lower"), record.get("upper")) for record in records}
    drawn = {glyph_name(*bracket): glyph(*bracket, end) for bracket in brackets}
    return tuple(drawn[name] for name in sorted(drawn))
