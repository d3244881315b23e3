"""Density: how often each value of a share occurs, as a smooth curve on [0, 1].

Guarantee: the same values give the same curve in any order; it is nowhere negative, and its integral over [0, 1] is 1.

A Gaussian kernel of the fixed bandwidth below, so that curves of different groups are smoothed alike.  What it would
put below 0 or above 1 is reflected: a share lies between the two, and many lie exactly at 1.

Deviation: values are rounded to a 1,000th first, a 20th of the bandwidth, so that thousands of them cost no more.

Reference: Silverman 1986, Density Estimation for Statistics and Data Analysis, section 2.10 (reflection).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

BANDWIDTH = 0.02
"""Standard deviation of the kernel."""

_ROUNDED = 1000
_REACH = 6 * BANDWIDTH  # beyond it a kernel is less than 2e-8 of its height


def density(values: Sequence[float], at: Iterable[float]) -> tuple[float, ...]:
    """The density of the values at these points of [0, 1]; at least one value is needed."""
    counts = Counter(round(value * _ROUNDED) / _ROUNDED for value in values)
    # each value, and where it is seen in the mirrors at 0 and 1
    seen = [(mirrored, n) for value, n in counts.items() for mirrored in (value, -value, 2 - value)]
    near = [(center, n) for center, n in seen if -_REACH <= center <= 1 + _REACH]
    scale = len(values) * BANDWIDTH * math.sqrt(2 * math.pi)
    return tuple(math.fsum(n * _bell(point - center) for center, n in near) / scale for point in at)


def _bell(distance: float) -> float:
    return math.exp(-0.5 * (distance / BANDWIDTH) ** 2) if abs(distance) <= _REACH else 0.0
