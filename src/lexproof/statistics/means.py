"""Confidence intervals of the mean of numbers in [0, 1], from independent draws."""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from lexproof.points import FloatArray
from lexproof.statistics.intervals import check_confidence


def empirical_bernstein(values: FloatArray, confidence: float) -> tuple[float, float]:
    """Interval that holds the mean with probability at least `confidence`, for any distribution on [0, 1].

    |mean - sample mean| <= sqrt(2 s^2 ln(4 / delta) / n) + 7 ln(4 / delta) / (3 (n - 1)), s^2 the sample variance and
    delta = 1 - confidence: narrow where the numbers vary little.  Reference: Maurer and Pontil 2009, theorem 4, at
    delta / 2 for either side.  With fewer than two numbers nothing is known: (0, 1).
    """
    check_confidence(confidence)
    n = len(values)
    if n < 2:
        return 0.0, 1.0
    lead = log(4 / (1 - confidence))
    mean, variance = float(np.mean(values)), float(np.var(values, ddof=1))
    half_width = sqrt(2 * variance * lead / n) + 7 * lead / (3 * (n - 1))
    return max(0.0, mean - half_width), min(1.0, mean + half_width)
