"""How the numbers of `lexproof words` are written: a share of texts, or a bracket of one, with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lexproof.report.numerals import NOTHING, at_least, at_most, interval, percent


def estimate(share: Mapping[str, Any]) -> str:
    """A share as a percentage; where it is open, both ends, rounded outwards."""
    if not share["n"]:
        return NOTHING
    if share["value"] is not None:
        return percent(share["value"])
    return f"{_least(share['lower'])} to {_most(share['upper'])}"


def _least(value: float) -> str:
    return percent(value) if value in (0, 1) else f"{at_least(_hundredths(value))}%"


def _most(value: float) -> str:
    return percent(value) if value in (0, 1) else f"{at_most(_hundredths(value))}%"


def _hundredths(value: float) -> float:
    return round(100 * value, 9)  # ends are ratios of counts: 7 of 100 is 7, not the next number above it


def reach(share: Mapping[str, Any]) -> str:
    """The interval over the draw of the texts."""
    return interval(share["low"], share["high"]) if share["n"] else NOTHING


def change(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Two accuracies on the same texts, "98% → 71%"; nothing if there are no such texts."""
    return f"{estimate(before)} → {estimate(after)}" if before["n"] else NOTHING
