"""Histogram: texts by the smallest flip that is known, as geometry that the template draws.

Every answered text stands in exactly one column; what is settled is drawn full, what is open is drawn pale above it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lexproof.report.numerals import count, plural
from lexproof.report.scale import Tick, whole_ticks
from lexproof.report.status import CLOSED, status

WIDTH, HEIGHT = 440, 290
LEFT, RIGHT, TOP, BOTTOM = 42, 434, 24, 236
_MOST_COLUMNS = 10  # numbers of swaps with a column of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: `settled` and `open` are (top, height)."""

    x: float
    width: float
    label: str
    total: str
    total_y: float
    settled: tuple[float, float]
    open: tuple[float, float]
    is_safe: bool
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """The columns and the axis of counts; `errors` texts are not in it."""

    columns: tuple[Column, ...]
    ticks: tuple[Tick, ...]
    errors: int


def histogram(records: Sequence[Mapping[str, Any]]) -> Histogram | None:
    """The histogram of these records, or None if none of them was answered."""
    counts: Counter[tuple[int | None, bool]] = Counter()
    errors = 0
    for record in records:
        kind = status(record)
        if kind == "error":
            errors += 1
        else:
            counts[None if kind == "robust" else record.get("upper"), kind in CLOSED] += 1
    if not counts:
        return None
    groups = _groups(counts)
    highest = max(settled + unsettled for _, settled, unsettled in groups)
    columns = tuple(_column(i, len(groups), group, highest) for i, group in enumerate(groups))
    return Histogram(columns=columns, ticks=_ticks(highest), errors=errors)


def _groups(counts: Mapping[tuple[int | None, bool], int]) -> list[tuple[str, int, int]]:
    """Label, settled and open texts of each column: 0, 1, …, the long tail as one, and "none" for no known flip."""
    found = [upper for upper, _ in counts if upper is not None]
    largest = max(found, default=0)
    end = largest if largest <= _MOST_COLUMNS else _MOST_COLUMNS - 1
    groups = [(str(upper), counts.get((upper, True), 0), counts.get((upper, False), 0)) for upper in range(end + 1)]
    if largest > end:
        tail = {key: number for key, number in counts.items() if key[0] is not None and key[0] > end}
        settled = sum(number for (_, closed), number in tail.items() if closed)
        groups.append((f"{end + 1}+", settled, sum(tail.values()) - settled))
    return [*groups, ("none", counts.get((None, True), 0), counts.get((None, False), 0))]


def _column(index: int, columns: int, group: tuple[str, int, int], highest: int) -> Column:
    label, settled, unsettled = group
    slot = (RIGHT - LEFT) / columns
    width = min(slot * 0.72, 46)
    top, middle = _y(settled + unsettled, highest), _y(settled, highest)
    return Column(
        x=round(LEFT + slot * (index + 0.5) - width / 2, 1),
        width=round(width, 1),
        label=label,
        total=count(settled + unsettled) if settled + unsettled else "",
        total_y=round(top - 6, 1),
        settled=(middle, round(BOTTOM - middle, 1)),
        open=(top, round(middle - top, 1)),
        is_safe=label == "none",
        title=_title(label, settled, unsettled),
    )


def _title(label: str, settled: int, unsettled: int) -> str:
    if label == "none":
        return f"no flip known: {plural(settled, 'text')} proven safe, {count(unsettled)} not settled"
    if label == "0":
        return f"0 swaps: {plural(settled, 'text')} misclassified as they stand"
    return f"{label} {'swap' if label == '1' else 'swaps'}: {plural(settled, 'text')} exact, {count(unsettled)} open"


def _y(number: int, highest: int) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * number / highest, 1)


def _ticks(highest: int) -> tuple[Tick, ...]:
    return tuple(Tick(_y(number, highest), count(number)) for number in whole_ticks(highest, most=5))
