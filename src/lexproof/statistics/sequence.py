"""A confidence sequence of a share: intervals that hold at all sample sizes at once, so one may stop at any moment.

Guarantee: with probability at least `confidence`, the true share lies in `anytime(s_n, n, …)` for **every** n = 1, 2, …
together, for any share.  So the interval is valid at the n at which one stops, whatever made one stop: the width, a
threshold, the clock.  It always holds the observed share s / n.

Proof.  For a share p and a rival q the likelihood ratio L_n(q : p) = (q/p)^s ((1-q)/(1-p))^(n-s) of n independent draws
with s successes is a martingale under p that starts at 1, and so is a mixture M_n(p) = sum_j w_j L_n(q_j : p) with
q_j = min(1, p + d_j) and weights that sum to 1.  By Ville's inequality it ever reaches 2 / alpha with probability at
most alpha / 2.  The lower end leaves out the p with M_n(p) >= 2 / alpha.  They are a ray: each L_n(p + d : p) falls in
p, since the derivatives of s ln((p + d) / p) and of (n - s) ln((1 - p - d) / (1 - p)) by p are negative; where p + d
passes 1 it is 0 after a failure, and p^(-s) without one.  The search for its end keeps a share that is left out, so
that what it does not resolve widens the interval.  The upper end is the lower end for failures.  At p = s / n every
L_n is at most 1, so s / n is never left out.

Cost: with weight w_0 on d_0 = the half width eps asked for, that width takes about
2 p (1 - p) ln(2 / (alpha w_0)) / eps² draws: few where the share is near 0 or 1, and a little more than Hoeffding's
fixed number at p = 1/2 (4,872 instead of 4,794 for eps = 0.025, alpha = 0.005).  The other d_j double, for early looks
and far thresholds.

Symbols: s successes of n draws, p share, q rival, d shift, w weight, alpha = 1 - confidence, eps = half width.

References: Ville 1939; Wald 1945; Robbins 1970 (Statistical methods related to the law of the iterated logarithm);
Howard, Ramdas, McAuliffe and Sekhon 2021; Waudby-Smith and Ramdas 2024.  The mixture over fixed shifts is ours: it is
nearly the best at one width, where those papers want to be good at every n.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lexproof.errors import InputError
from lexproof.statistics.intervals import check_confidence, check_half_width

Floats = NDArray[np.float64]

_FIRST = 0.9  # weight of the shift by the half width that is asked for
_PARTS = 32  # into which a round of the search for an end cuts what is left of the unit interval
_ROUNDS = 4
_STEPS = np.arange(1, _PARTS) / _PARTS


def anytime(successes: int, n: int, confidence: float, half_width: float) -> tuple[float, float]:
    """Interval that holds the true share at every n at once; tightest where its half width is about `half_width`."""
    low, high = anytime_all([successes], [n], confidence, half_width)
    return float(low[0]), float(high[0])


def anytime_all(successes: ArrayLike, n: ArrayLike, confidence: float, half_width: float) -> tuple[Floats, Floats]:
    """The same for many pairs of counts: lower and upper ends."""
    check_confidence(confidence)
    check_half_width(half_width)
    s, total = np.broadcast_arrays(np.asarray(successes, np.float64), np.asarray(n, np.float64))
    if ((s < 0) | (s > total)).any():
        raise InputError("expected 0 <= successes <= n for a confidence sequence, got other counts")
    ends = _lower(np.concatenate([s, total - s]), np.concatenate([total - s, s]), 1 - confidence, half_width)
    return ends[: len(s)], 1.0 - ends[len(s) :]


@lru_cache(maxsize=64)
def anytime_samples(half_width: float, confidence: float) -> int:
    """Draws after which the half width is reached whatever they showed: those that an even split takes."""
    low, high = 1, 2
    while not _is_reached(high, half_width, confidence):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_reached(middle, half_width, confidence) else (middle, high)
    return high


def _is_reached(n: int, half_width: float, confidence: float) -> bool:
    low, high = anytime(n // 2, n, confidence, half_width)
    return high - low <= 2 * half_width


@lru_cache(maxsize=64)
def _mixture(half_width: float) -> tuple[Floats, Floats]:
    """Shifts d_j and the logarithms of their weights."""
    shifts = [half_width]
    while 2 * shifts[-1] < 1:
        shifts.append(2 * shifts[-1])
    rest = len(shifts) - 1
    weights = [_FIRST] + [(1 - _FIRST) / rest] * rest if rest else [1.0]
    return np.array(shifts), np.log(weights)


def _lower(s: Floats, f: Floats, alpha: float, half_width: float) -> Floats:
    """For each pair of successes and failures the largest share found that the mixture rules out, 0 if none is."""
    low = np.zeros(len(s))
    width = s / np.maximum(s + f, 1.0)  # of what holds the end: the observed share is never ruled out
    for _ in range(_ROUNDS):
        # many shares at once, which takes numpy hardly longer than one: each round narrows the width _PARTS times
        p = low[:, None] + width[:, None] * _STEPS  # (B, _PARTS - 1)
        is_out = _log_mixture(p, s, f, half_width) >= np.log(2 / alpha)
        passed = np.where(is_out.all(axis=1), _PARTS - 1, np.argmin(is_out, axis=1))
        width = width / _PARTS
        low = low + width * passed
    return low


def _log_mixture(p: Floats, s: Floats, f: Floats, half_width: float) -> Floats:
    """ln M_n(p) for each row of shares with the counts of that row; at p = 0, only met without successes, it is < 0."""
    shifts, weights = _mixture(half_width)
    s, f, p = s[:, None, None], f[:, None, None], p[:, :, None]
    q = np.minimum(p + shifts, 1.0)  # (B, P, J)
    with np.errstate(divide="ignore", invalid="ignore"):
        won = np.where(s > 0, s * np.log(q / p), 0.0)
        lost = np.where(f > 0, f * np.log((1 - q) / (1 - p)), 0.0)
    terms = weights + won + lost  # -inf where a failure rules the rival out
    most = np.maximum(terms.max(axis=2), -1e300)  # a number, where all rivals are ruled out
    total: Floats = most + np.log(np.exp(terms - most[:, :, None]).sum(axis=2) + 1e-300)
    return total
