"""Violin: how PR is spread over the texts of each group, as geometry that the template draws.

PR is the share of a text's space that keeps the label (1 minus the share that flips).  A violin is as wide as the
density of that PR among the texts of its group, and each is drawn to the same greatest width; it ends at the largest
and the smallest PR, and a mark stands at the median.  What lies above 0.9 is drawn full.  Under it stand the name, the
share of texts with PR > 0.9 and the number of texts.

Reference: Yang et al. 2022 (PDP), figure 5.  Deviation: the kernel is that of `lexproof.report.density`, as the paper
names none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from lexproof.errors import InputError
from lexproof.report.density import density
from lexproof.report.evidence import label_name
from lexproof.report.numerals import NOTHING, confidence, count, interval, percent, plural, proportion
from lexproof.report.scale import Tick
from lexproof.report.visible import visible

THRESHOLD = 0.9
"""A text resists random swaps if more than this share of its space keeps the label."""

LEFT, RIGHT = 42, 14  # room beside the plot
_TOP, _BOTTOM, _ROW = 12, 222, 290  # of the plot, and from one row of violins to the next
_LEAST_WIDTH, _LEAST_SLOT = 440, 110
_MOST_HALF = 56.0
_STEP = 0.005  # of PR, from one point of an outline to the next
_LETTER = 8.0  # width of a letter of a name


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Texts that are drawn as one violin: their PR, and if it is known the share above 0.9 with its interval."""

    name: str
    values: Sequence[float]
    above: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        wrong = next((value for value in self.values if not 0 <= value <= 1), None)
        if wrong is not None:
            raise InputError(f"expected values of PR in [0, 1], got {wrong!r} in {self.name!r}; PR is 1 - share")


@dataclass(frozen=True, slots=True, kw_only=True)
class Violin:
    """One violin; `full` and `pale` are outlines as SVG writes them, heights are None where there is no text."""

    x: float
    name: str
    caption: tuple[str, str]
    title: str
    base: float
    bar: tuple[float, float]
    full: str
    pale: str
    most: float | None
    least: float | None
    middle: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The axis of one row of violins."""

    ticks: tuple[Tick, ...]
    threshold: float
    middle: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Violins:
    """All violins, an axis a row of them, the size of the picture, and the same as a table.

    `confidence` is that of the intervals of the table, empty if it has none.
    """

    violins: tuple[Violin, ...]
    axes: tuple[Axis, ...]
    width: float
    right: float
    height: float
    table: tuple[tuple[str, ...], ...]
    confidence: str


def violins(groups: Sequence[Group], per_row: int = 6) -> Violins | None:
    """The plot of these groups, at most so many side by side; None if no group has a text."""
    if not any(group.values for group in groups):
        return None
    rows = -(-len(groups) // per_row)
    columns = -(-len(groups) // rows)
    width = max(_LEAST_WIDTH, LEFT + RIGHT + columns * _LEAST_SLOT)
    slot = (width - LEFT - RIGHT) / columns
    drawn = [
        _violin(group, round(LEFT + slot * (i % columns + 0.5), 1), slot, i // columns * _ROW)
        for i, group in enumerate(groups)
    ]
    return Violins(
        violins=tuple(drawn),
        axes=tuple(_axis(row * _ROW) for row in range(rows)),
        width=width,
        right=width - RIGHT,
        height=rows * _ROW,
        table=tuple(_cells(group) for group in groups),
        confidence=next((confidence(group.above["confidence"]) for group in groups if group.above is not None), ""),
    )


def class_groups(
    records: Sequence[Mapping[str, Any]], labels: Sequence[str], share: Mapping[str, Any] | None
) -> list[Group]:
    """Correctly classified texts of a run by their label; `share` is that of its summary, which has the intervals."""
    found: dict[int, list[float]] = {}
    for record in records:
        if record.get("share") is not None and record.get("upper") != 0 and record.get("label") is not None:
            found.setdefault(record["label"], []).append(1 - record["share"]["value"])
    known = {entry["label"]: entry.get("above") for entry in (share or {}).get("classes") or ()}
    return [
        Group(name=label_name(labels, label), values=values, above=known.get(label))
        for label, values in sorted(found.items())
    ]


def _violin(group: Group, x: float, slot: float, top: float) -> Violin:
    half = min(0.42 * slot, _MOST_HALF)
    values = group.values
    least, most = (min(values), max(values)) if values else (0.0, 0.0)
    full, pale = _outlines(values, x, half, top) if least < most else ("", "")
    caption = (f"{_cells(group)[1]} above {THRESHOLD:g}", f"n = {count(len(values))}")
    bar = half if least == most else half / 2  # equal values have no outline: their line is as wide as one
    return Violin(
        x=x,
        name=short(visible(group.name), slot),
        caption=caption if values else ("no text", ""),
        title=_title(group),
        base=top + _BOTTOM,
        bar=(round(x - bar, 1), round(x + bar, 1)),
        full=full,
        pale=pale,
        most=_y(most, top) if values else None,
        least=_y(least, top) if values else None,
        middle=_y(median(values), top) if values else None,
    )


def _outlines(values: Sequence[float], x: float, half: float, top: float) -> tuple[str, str]:
    """The part above the threshold and the part below it, cut at the largest and the smallest value."""
    least, most = min(values), max(values)
    inner = (i * _STEP for i in range(1, round(1 / _STEP)))
    at = sorted({least, most, *(p for p in (*inner, THRESHOLD) if least < p < most)})
    widths = density(values, at)
    widest = max(widths)
    points = [(p, half * width / widest) for p, width in zip(at, widths, strict=True)]
    full = [point for point in points if point[0] >= THRESHOLD]
    pale = [point for point in points if point[0] <= THRESHOLD]
    return _closed(full, x, top), _closed(pale, x, top)


def _closed(points: Sequence[tuple[float, float]], x: float, top: float) -> str:
    if len(points) < 2:
        return ""
    right = [(x + width, _y(p, top)) for p, width in points]
    left = [(x - width, _y(p, top)) for p, width in reversed(points)]
    return " ".join(f"{at:.1f},{y}" for at, y in (*right, *left))


def _axis(top: float) -> Axis:
    ticks = tuple(Tick(_y(fifth / 5, top), f"{fifth / 5:g}") for fifth in range(6))
    return Axis(ticks=ticks, threshold=_y(THRESHOLD, top), middle=top + (_TOP + _BOTTOM) / 2)


def _y(value: float, top: float) -> float:
    return round(top + _BOTTOM - (_BOTTOM - _TOP) * value, 1)


def short(name: str, width: float) -> str:
    """A name that is cut where it would be wider than this, as far as one can tell without its font."""
    letters = int(width / _LETTER)
    return name if len(name) <= letters else f"{name[: letters - 1]}…"


def _cells(group: Group) -> tuple[str, ...]:
    """Name, share above 0.9, its interval, number of texts, least, median and largest PR."""
    values, above = group.values, group.above
    name = visible(group.name)
    if not values:
        return (name, NOTHING, NOTHING, "0", NOTHING, NOTHING, NOTHING)
    stated = NOTHING if above is None else interval(above["low"], above["high"])
    share = sum(value > THRESHOLD for value in values) / len(values)
    scores = (proportion(score) for score in (min(values), median(values), max(values)))
    return (name, percent(share), stated, count(len(values)), *scores)


def _title(group: Group) -> str:
    name, share, stated, _, least, middle, most = _cells(group)
    if not group.values:
        return f"{name}: no text"
    texts = plural(len(group.values), "text")
    around = "" if group.above is None else f" ({confidence(group.above['confidence'])} interval {stated})"
    return f"{name}: {texts}, PR from {least} to {most}, median {middle}; PR > {THRESHOLD:g} on {share}{around}"
