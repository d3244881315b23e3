"""What an estimated share is guaranteed to be: one of three intervals, how wide, how sure, and when drawing may end.

| interval | holds | draws |
|---|---|---|
| `anytime` | at all sample sizes together | until the half width, or the threshold, is settled |
| `clopper-pearson` | at the sample size fixed before | Hoeffding's number, or as many as asked for |
| `hoeffding` | the same, wider: eq. (8) of the PDP paper | Hoeffding's number, or as many as asked for |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from lexproof.errors import InputError
from lexproof.statistics.intervals import (
    check_confidence,
    check_half_width,
    check_threshold,
    clopper_pearson,
    hoeffding,
    hoeffding_samples,
    is_above,
)
from lexproof.statistics.sequence import anytime, anytime_samples

Interval = Literal["anytime", "clopper-pearson", "hoeffding"]

EXACT_POINTS = 5_000
"""Texts scored at most to count flips exactly by bounds: about as many as a sample of fixed size has."""

EXACT_NODES = 32
"""Nodes bounded at most for the same."""

_INTERVALS = ("anytime", "clopper-pearson", "hoeffding")
_LOOK = 32  # draws between two looks at an anytime interval, at least: a share of 1/32 more than needed at most
_BATCH = 1024  # draws a request where nobody looks before the end


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """An interval for the share that flips; `threshold` is one of PR = 1 - share, "is PR above it?"."""

    interval: Interval = "anytime"
    confidence: float = 0.995
    half_width: float = 0.025
    threshold: float | None = None

    def __post_init__(self) -> None:
        check_confidence(self.confidence)
        check_half_width(self.half_width)
        check_threshold(self.threshold)
        if self.interval not in _INTERVALS:
            raise InputError(f"expected interval anytime, clopper-pearson or hoeffding, got {self.interval!r}")

    @property
    def is_anytime(self) -> bool:
        """Whether the interval holds whenever drawing ends."""
        return self.interval == "anytime"

    @property
    def most(self) -> int:
        """Draws that reach the half width whatever they show."""
        if self.is_anytime:
            return anytime_samples(self.half_width, self.confidence)
        return hoeffding_samples(self.half_width, self.confidence)

    def shared(self, parts: int) -> Guarantee:
        """The guarantee for each of so many parts that makes all of them hold together at this confidence."""
        return replace(self, confidence=1 - (1 - self.confidence) / max(1, parts))

    def bounds(self, flips: int, n: int) -> tuple[float, float]:
        """The interval of the share, given `flips` of `n` draws."""
        if self.is_anytime:
            return anytime(flips, n, self.confidence, self.half_width)
        return (clopper_pearson if self.interval == "clopper-pearson" else hoeffding)(flips, n, self.confidence)

    def next_batch(self, n: int) -> int:
        """Draws up to the next look, given n; it depends on nothing else, so that equal seeds give equal answers."""
        return max(_LOOK, n // _LOOK) if self.is_anytime else _BATCH

    def is_met(self, low: float, high: float) -> bool:
        """Whether drawing may end at an anytime interval: it is narrow enough, or the threshold is settled."""
        return high - low <= 2 * self.half_width or self.settled(low, high) != ""

    def settled(self, low: float, high: float) -> str:
        """`above` if the interval of the share says PR > threshold, `below` if it says PR <= threshold, else empty."""
        if self.threshold is None:
            return ""
        if is_above(high, self.threshold):
            return "above"
        return "" if is_above(low, self.threshold) else "below"


@dataclass(slots=True)
class Drawn:
    """Draws so far: `flips` of `n`, and the interval from `low` to `high` that an anytime guarantee gave for them.

    Intervals that hold at all sample sizes together hold where they meet: each look can only narrow the interval.  If
    they do not meet, one of them has failed, which the confidence allows for, and the last is kept.
    """

    flips: int = 0
    n: int = 0
    low: float = 0.0
    high: float = 1.0

    def add(self, flips: int, n: int, guarantee: Guarantee) -> bool:
        """Take so many more; whether drawing may end here, which it never may for a number fixed beforehand."""
        self.flips += flips
        self.n += n
        if not guarantee.is_anytime:
            return False
        low, high = guarantee.bounds(self.flips, self.n)
        meet = max(low, self.low), min(high, self.high)
        self.low, self.high = meet if meet[0] <= meet[1] else (low, high)
        return guarantee.is_met(self.low, self.high)

    def ends(self, guarantee: Guarantee) -> tuple[float, float]:
        """The interval of the share."""
        return (self.low, self.high) if guarantee.is_anytime else guarantee.bounds(self.flips, self.n)


def check_counts(samples: int | None, exact_points: int, exact_nodes: int) -> None:
    """Raise InputError unless something may be drawn and no limit is negative."""
    if samples is not None and samples < 1:
        raise InputError(f"expected at least 1 sample, got {samples}")
    for name, value in (("exact_points", exact_points), ("exact_nodes", exact_nodes)):
        if value < 0:
            raise InputError(f"expected {name} >= 0, got {value}")
