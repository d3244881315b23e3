"""Confidence intervals of a share, and the sample sizes that guarantee their width."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, log, sqrt

from lexproof.errors import InputError


def clopper_pearson(successes: int, n: int, confidence: float) -> tuple[float, float]:
    """Interval that holds the true share with probability at least `confidence`, for any share and any n.

    Reference: Clopper and Pearson 1934.  With n = 0 nothing is known: (0, 1).
    """
    from scipy.special import betaincinv  # kept out of `import lexproof`

    if not 0 <= successes <= n:
        raise InputError(f"expected 0 <= successes <= n, got {successes} of {n}")
    check_confidence(confidence)
    tail = (1 - confidence) / 2
    low = 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, tail))
    high = 1.0 if successes == n else float(betaincinv(successes + 1, n - successes, 1 - tail))
    return low, high


def hoeffding(successes: int, n: int, confidence: float) -> tuple[float, float]:
    """Interval of the PDP paper, eq. (8): share ± sqrt(ln(2 / delta) / 2n) with delta = 1 - confidence."""
    check_confidence(confidence)
    if n == 0:
        return 0.0, 1.0
    half_width = sqrt(log(2 / (1 - confidence)) / (2 * n))
    return max(0.0, successes / n - half_width), min(1.0, successes / n + half_width)


def hoeffding_samples(half_width: float, confidence: float) -> int:
    """The least N that guarantees this half width: N > ln(2 / delta) / (2 eps^2), eq. (9); 4,794 for 0.025, 0.995."""
    check_half_width(half_width)
    check_confidence(confidence)
    bound = log(2 / (1 - confidence)) / (2 * half_width**2)
    return ceil(bound) if ceil(bound) > bound else floor(bound) + 1


def check_confidence(confidence: float) -> None:
    """Raise InputError unless the confidence lies strictly between 0 and 1."""
    if not 0 < confidence < 1:
        raise InputError(f"expected a confidence in (0, 1), got {confidence}")


def check_half_width(half_width: float) -> None:
    """Raise InputError unless the half width lies strictly between 0 and 1."""
    if not 0 < half_width < 1:
        raise InputError(f"expected a half width in (0, 1), got {half_width}")


def check_threshold(threshold: float | None) -> None:
    """Raise InputError unless there is no threshold, or one strictly between 0 and 1."""
    if threshold is not None and not 0 < threshold < 1:
        raise InputError(f"expected a threshold in (0, 1), got {threshold}")


def is_above(share: float, threshold: float) -> bool:
    """Whether PR = 1 - share is above the threshold, both taken as the decimal numbers that are written.

    In floating point 1 - 0.7 > 0.3: a text with PR = 0.3 would pass for one with more.
    """
    return 1 - Fraction(str(share)) > Fraction(str(threshold))
