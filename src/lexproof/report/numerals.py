"""Numerals: how the report writes numbers.  A rounded number never says "none" or "all" when that is not so."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_GROUPED_DIGITS = 12  # longer counts are written as a power of ten

NOTHING = "–"
"""Stands where there is no number."""


def percent(value: float | None) -> str:
    """A share as a percentage; 0% and 100% are exact."""
    if value is None or not math.isfinite(value):
        return NOTHING
    if value in (0, 1):
        return f"{value:.0%}"
    if value < 0.001:
        return "<0.1%"
    if value > 0.999:
        return ">99.9%"
    return f"{value:.0%}" if 0.0995 <= value <= 0.9005 else f"{value:.1%}"


def proportion(value: float) -> str:
    """A share as a number from 0 to 1, to three digits; 0 and 1 are exact."""
    if value in (0, 1):
        return f"{value:.0f}"
    return "<0.001" if value < 0.001 else ">0.999" if value > 0.999 else f"{value:.3f}"


def interval(low: float, high: float) -> str:
    """Both ends of an interval of shares."""
    return f"{percent(low)} to {percent(high)}"


def confidence(value: float) -> str:
    """The confidence of an interval, with the digits it was asked with."""
    return f"{100 * value:.6g}%"


def count(value: int | str) -> str:
    """A count, given as an integer or as its decimal digits; astronomic ones as a power of ten."""
    # digits stay a string: Python refuses to convert integers of more than 4300 digits
    digits = str(value)
    if len(digits) <= _GROUPED_DIGITS:
        return f"{int(digits):,}"
    return f"{digits[0]}.{digits[1:3]}\u00a0×\u00a010{str(len(digits) - 1).translate(_SUPERSCRIPTS)}"


def plural(number: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count(number)} {noun}" if number == 1 else f"{count(number)} {noun}s"


def score(value: float | None) -> str:
    """A score of the classifier."""
    return NOTHING if value is None else f"{value:.2f}"


def small(value: float) -> str:
    """A number that may be very small, such as a margin or a rounding allowance."""
    return f"{value:.3g}"


def at_least(value: float, digits: int = 3) -> str:
    """A proven lower bound, rounded down: what is written is proven, too."""
    return _cut(value, digits, ROUND_FLOOR)


def at_most(value: float, digits: int = 3) -> str:
    """An upper bound, rounded up."""
    return _cut(value, digits, ROUND_CEILING)


def _cut(value: float, digits: int, rounding: str) -> str:
    return f"{float(Context(prec=digits, rounding=rounding).create_decimal_from_float(value)):.{digits}g}"


def signed(value: float | None) -> str:
    """A change that may be very small, with its sign."""
    if value is None:
        return NOTHING
    return f"{value:+.3f}" if abs(value) >= 0.001 or not value else f"{value:+.0e}"


def duration(seconds: float) -> str:
    """A time span in the largest two units that fit."""
    if seconds < 10:
        return f"{seconds:.2g}\u00a0s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}\u00a0h {minutes}\u00a0min"
    return f"{minutes}\u00a0min {rest}\u00a0s" if minutes else f"{rest}\u00a0s"
