"""Confidence intervals of the mean of numbers in [0, 1], from independent draws."""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from lexproof.points import FloatArray
from lexproof.statistics.intervals import check_confidence

_HALVINGS = 60


def mean_interval(values: FloatArray, confidence: float) -> tuple[float, float]:
    """Interval that holds the mean with probability at least `confidence`, for any distribution on [0, 1].

    Where two intervals meet, each at half of delta = 1 - confidence: Chernoff's, which is the better of few numbers,
    and the empirical Bernstein one, which is the better of many that vary little.  Without numbers nothing is known:
    (0, 1).
    """
    check_confidence(confidence)
    if not len(values):
        return 0.0, 1.0
    delta = (1 - confidence) / 2
    low, high = _chernoff(float(np.mean(values)), len(values), delta)
    least, most = _empirical_bernstein(values, delta)
    return max(low, least), min(high, most)


def _empirical_bernstein(values: FloatArray, delta: float) -> tuple[float, float]:
    """Mean ± sqrt(2 s^2 ln(4 / delta) / n) + 7 ln(4 / delta) / (3 (n - 1)), s^2 the sample variance.

    Reference: Maurer and Pontil 2009, theorem 4, at delta / 2 for either side.
    """
    n = len(values)
    if n < 2:
        return 0.0, 1.0
    lead = log(4 / delta)
    mean, variance = float(np.mean(values)), float(np.var(values, ddof=1))
    half_width = sqrt(2 * variance * lead / n) + 7 * lead / (3 * (n - 1))
    return max(0.0, mean - half_width), min(1.0, mean + half_width)


def _chernoff(mean: float, n: int, delta: float) -> tuple[float, float]:
    """The shares p with n KL(mean, p) <= ln(2 / delta), KL of two coins.

    Numbers in [0, 1] with mean p have exponential moments no larger than a coin of p, by convexity, so that Chernoff's
    bound for coins holds for their mean (Hoeffding 1963, theorem 1).
    """
    most = log(2 / delta) / n
    return _end(mean, 0.0, most), _end(mean, 1.0, most)


def _end(mean: float, far: float, most: float) -> float:
    """The share between the mean and 0 or 1 where the divergence reaches `most`, on the far side of it by rounding."""
    if _divergence(mean, far) <= most:
        return far
    near = mean
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        near, far = (middle, far) if _divergence(mean, middle) <= most else (near, middle)
    return far


def _divergence(q: float, p: float) -> float:
    """KL(q, p) of two coins; infinite where q has a side that p has not."""
    total = 0.0
    for own, other in ((q, p), (1 - q, 1 - p)):
        if own > 0:
            total += own * log(own / other) if other > 0 else float("inf")
    return total
