"""Dots: what share of the allowed texts keeps the label, one dot a text (or a few), as geometry.

Texts are put into equal bins and stacked, so that dots never overlap and ten thousand texts take no more room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lexproof.report.numerals import percent
from lexproof.report.scale import Tick

WIDTH = 440
LEFT, RIGHT, TOP = 14, 426, 30
_BINS = 40
_DIAMETER = 9.0
_MOST_STACKED = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One dot; `is_broken` if a flip is known for its texts."""

    x: float
    y: float
    is_broken: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Dots:
    """The dots, how many texts each stands for at most, the mean, and the axis; `base` is the height of the axis."""

    dots: tuple[Dot, ...]
    radius: float
    per_dot: int
    texts: int
    mean_x: float
    mean: str
    ticks: tuple[Tick, ...]
    base: float
    height: float


def dots(records: Sequence[Mapping[str, Any]]) -> Dots | None:
    """The plot over correctly classified texts that have a share, or None if there are none."""
    measured = [r for r in records if r.get("share") is not None and r.get("upper") != 0]
    kept = [(1 - r["share"]["value"], r.get("upper") is not None) for r in measured]
    if not kept:
        return None
    bins = Counter((min(int(value * _BINS), _BINS - 1), broken) for value, broken in kept)
    highest = max(bins[i, True] + bins[i, False] for i in range(_BINS))
    per_dot = -(-highest // _MOST_STACKED)
    rows = max(-(-bins[i, True] // per_dot) + -(-bins[i, False] // per_dot) for i in range(_BINS))
    base = round(TOP + rows * _DIAMETER + 4, 1)
    mean = sum(value for value, _ in kept) / len(kept)
    return Dots(
        dots=tuple(_stack(bins, per_dot, base)),
        radius=round(_DIAMETER / 2 - 0.8, 1),
        per_dot=per_dot,
        texts=len(kept),
        mean_x=_x(mean),
        mean=percent(mean),
        ticks=tuple(Tick(_x(share / 4), percent(share / 4)) for share in range(5)),
        base=base,
        height=base + 42,
    )


def _stack(bins: Counter[tuple[int, bool]], per_dot: int, base: float) -> list[Dot]:
    stacked = []
    for i in range(_BINS):
        level = 0
        for broken in (True, False):
            for _ in range(-(-bins[i, broken] // per_dot)):
                y = round(base - 6 - _DIAMETER * level, 1)
                stacked.append(Dot(x=_x((i + 0.5) / _BINS), y=y, is_broken=broken))
                level += 1
    return stacked


def _x(value: float) -> float:
    return round(LEFT + (RIGHT - LEFT) * value, 1)
