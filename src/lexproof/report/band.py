"""Band: the chart of accuracy by allowed swaps, as geometry that the template draws.

The attacked curve lies above the truth and the certified curve below it; the band between them is not settled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lexproof.report.numerals import confidence, interval, percent, plural
from lexproof.report.scale import Tick, whole_ticks

WIDTH, HEIGHT = 440, 290
LEFT, RIGHT, TOP, BOTTOM = 42, 356, 14, 244
_LABEL_GAP = 34  # least distance of the two labels at the right end
_MOST_LARGE = 14  # more points than this are drawn small
_LONGEST = 30  # swaps; what lies beyond is in summary.json
_ASIDE = 2.5  # whiskers of the two curves stand side by side


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One point of a curve with its interval."""

    x: float
    y: float
    low: float
    high: float
    aside: float
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """What is written at the right end of a curve."""

    y: float
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Both curves, the areas they bound and the axis; areas and lines are lists of points as SVG writes them."""

    attacked: tuple[Mark, ...]
    certified: tuple[Mark, ...]
    attacked_line: str
    certified_line: str
    unsettled_area: str
    proven_area: str
    attacked_end: End
    certified_end: End
    ticks: tuple[Tick, ...]
    table: tuple[tuple[str, str, str], ...]
    confidence: str
    radius: float


def band(curve: Sequence[Mapping[str, Any]]) -> Band | None:
    """The chart of a curve up to 30 swaps, or None if there is nothing to draw."""
    points = [
        point
        for point in curve
        if point["swaps"] <= _LONGEST
        and point["attacked"]["value"] is not None
        and point["certified"]["value"] is not None
    ]
    if not points:
        return None
    end = max(point["swaps"] for point in points)
    attacked = tuple(_mark(point, "attacked", end, _ASIDE) for point in points)
    certified = tuple(_mark(point, "certified", end, -_ASIDE) for point in points)
    upper, lower = _spread(attacked[-1].y, certified[-1].y)
    return Band(
        attacked=attacked,
        certified=certified,
        attacked_line=_path(attacked),
        certified_line=_path(certified),
        unsettled_area=f"{_path(attacked)} {_path(certified[::-1])}",
        proven_area=f"{_path(certified)} {certified[-1].x},{BOTTOM} {certified[0].x},{BOTTOM}",
        attacked_end=End(y=upper, value=percent(points[-1]["attacked"]["value"])),
        certified_end=End(y=lower, value=percent(points[-1]["certified"]["value"])),
        ticks=tuple(Tick(_x(swaps, end), str(swaps)) for swaps in whole_ticks(end)),
        table=tuple((str(p["swaps"]), _cell(p["attacked"]), _cell(p["certified"])) for p in points),
        confidence=confidence(points[0]["attacked"]["confidence"]),
        radius=4 if len(points) <= _MOST_LARGE else 2.4,
    )


def share_y(value: float) -> float:
    """The height at which a share is drawn."""
    return round(BOTTOM - (BOTTOM - TOP) * value, 1)


def _x(swaps: int, end: int) -> float:
    return round(LEFT + 8 + (RIGHT - LEFT - 14) * (swaps / end if end else 0.5), 1)


def _mark(point: Mapping[str, Any], name: str, end: int, aside: float) -> Mark:
    share = point[name]
    words = "not broken" if name == "attacked" else "proven safe"
    return Mark(
        x=_x(point["swaps"], end),
        y=share_y(share["value"]),
        low=share_y(share["low"]),
        high=share_y(share["high"]),
        aside=round(_x(point["swaps"], end) + aside, 1),
        title=f"up to {plural(point['swaps'], 'swap')}: {_cell(share)} {words}",
    )


def _cell(share: Mapping[str, Any]) -> str:
    return f"{percent(share['value'])} ({interval(share['low'], share['high'])})"


def _path(marks: Sequence[Mark]) -> str:
    return " ".join(f"{mark.x},{mark.y}" for mark in marks)


def _spread(upper: float, lower: float) -> tuple[float, float]:
    """Heights of the two labels: beside their curves, moved apart where they would overlap, inside the plot."""
    short = max(0.0, _LABEL_GAP - (lower - upper)) / 2
    lowest = BOTTOM - 14
    upper = min(max(upper - short, TOP + 6), lowest - _LABEL_GAP)
    lower = max(min(lower + short, lowest), upper + _LABEL_GAP)
    return round(upper, 1), round(lower, 1)
