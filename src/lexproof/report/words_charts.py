"""Charts of the page of `lexproof words` as geometry: bars of kappa, dumbbells of accuracy, a histogram of kappa.

Guarantee: every mark stands where its number says; what is open is drawn apart from what is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log10
from typing import Any

from lexproof.report.numerals import count, percent, plural
from lexproof.report.scale import Tick

SCALE, MARGIN = 160, 6
"""Length of the axis from 0 to 1 in a row's chart, and the room on either side of it."""

WIDTH, HEIGHT = 440, 270
LEFT, RIGHT, TOP, BOTTOM = 48, 434, 20, 216
_LABELLED = 5  # ticks of the histogram's axis of kappa


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A share on the axis: from `low` to `high` where it is open, with the interval over the draw of the texts."""

    low: float
    high: float
    interval: tuple[float, float]

    @property
    def open(self) -> float:
        """Length of what is open."""
        return round(self.high - self.low, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of the histogram."""

    x: float
    width: float
    top: float
    height: float
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Words by kappa, with ticks of either axis."""

    columns: tuple[Column, ...]
    ticks: tuple[Tick, ...]
    kappas: tuple[Tick, ...]


def mark(share: Mapping[str, Any]) -> Mark | None:
    """Where a share stands; None if it is one of no texts."""
    if not share["n"]:
        return None
    low, high, first, last = (_at(share[key]) for key in ("lower", "upper", "low", "high"))
    return Mark(low=low, high=high, interval=(first, last))


def histogram(counts: Sequence[int]) -> Histogram | None:
    """Columns as high as the logarithm of their counts, one word being visible; None if there are no words."""
    highest = max(counts, default=0)
    if not highest:
        return None
    width = (RIGHT - LEFT) / len(counts)
    columns = []
    for i, words in enumerate(counts):
        top = _y(words, highest)
        columns.append(
            Column(
                x=round(LEFT + width * i + 0.5, 1),
                width=round(width - 1, 1),
                top=top,
                height=round(BOTTOM - top, 1),
                title=f"kappa from {percent(i / len(counts))} to {percent((i + 1) / len(counts))}: "
                f"{plural(words, 'word')}",
            )
        )
    powers = [10**power for power in range(len(str(highest)))]
    return Histogram(
        columns=tuple(columns),
        ticks=tuple(Tick(_y(words, highest), count(words)) for words in powers),
        kappas=tuple(
            Tick(round(LEFT + (RIGHT - LEFT) * i / (_LABELLED - 1), 1), percent(i / (_LABELLED - 1)))
            for i in range(_LABELLED)
        ),
    )


def _at(share: float) -> float:
    return round(MARGIN + SCALE * share, 1)


def _y(words: int, highest: int) -> float:
    """0 words lie on the axis, 1 word above it, so that a single word is seen."""
    level = (1 + 2 * log10(words)) / (1 + 2 * log10(highest)) if words else 0.0
    return round(BOTTOM - (BOTTOM - TOP) * level, 1)
