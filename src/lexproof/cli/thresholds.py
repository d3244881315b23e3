"""`--fail-under`: a robustness gate for continuous integration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lexproof.errors import InputError

_PLAIN = ("clean", "aua", "certified")
_AT = ("attacked", "certified")


def parse_thresholds(given: Sequence[str]) -> list[tuple[str, float]]:
    """`0.6` (accuracy under attack), `clean=0.8`, `certified=0.3`, `attacked@2=0.5`, `certified@1=0.4`."""
    return [_parse(text) for text in given]


def _parse(text: str) -> tuple[str, float]:
    metric, _, number = text.rpartition("=")
    metric = metric or "aua"
    base, at, swaps = metric.partition("@")
    known = metric in _PLAIN or (at and base in _AT and swaps.isdecimal())
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not known or not 0 <= value <= 1:
        expected = "SHARE or METRIC=SHARE with METRIC clean, aua, certified, attacked@N or certified@N"
        raise InputError(f"expected --fail-under {expected} and a share in [0, 1], got {text!r}")
    return metric, value


def missed(summary: Mapping[str, Any], thresholds: Sequence[tuple[str, float]]) -> list[str]:
    """One line a threshold that the summary does not reach."""
    lines = []
    for metric, least in thresholds:
        value = _value(summary, metric)
        if value is None or value < least:
            shown = "unknown (no texts)" if value is None else f"{value:.4f}"
            lines.append(f"threshold missed: {metric} is {shown}, expected at least {least:g}")
    return lines


def _value(summary: Mapping[str, Any], metric: str) -> float | None:
    base, at, swaps = metric.partition("@")
    if not at:
        value: float | None = summary[base]["value"]
        return value
    curve = summary["curve"]
    point = curve[min(int(swaps), len(curve) - 1)]  # beyond its end the curve stays where it is
    value = point[base]["value"]
    return value
