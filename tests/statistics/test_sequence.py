"""The confidence sequence: against brute force, against the worst moment to stop, and what it costs."""

from functools import cache

import numpy as np
import pytest
from drawn_shares import RUNS, allowed, running
from numpy.typing import NDArray

from lexproof.errors import InputError
from lexproof.statistics.intervals import clopper_pearson, hoeffding_samples
from lexproof.statistics.sequence import _mixture, anytime, anytime_all, anytime_samples

LONGEST = 2000


def mixture(p: float, s: int, f: int, half_width: float) -> float:
    """M_n(p) as the definition says."""
    shifts, weights = _mixture(half_width)
    rivals = [min(1.0, p + d) for d in shifts]
    return sum(float(np.exp(w)) * (q / p) ** s * ((1 - q) / (1 - p)) ** f for q, w in zip(rivals, weights, strict=True))


@pytest.mark.parametrize("half_width", [0.01, 0.025, 0.3, 0.6])
def test_ends_are_where_the_mixture_reaches_its_level(half_width: float) -> None:
    for s, f in ((1, 0), (9, 0), (0, 9), (3, 7), (60, 40), (95, 5), (1, 150)):
        low, high = anytime(s, s + f, 0.95, half_width)
        assert 0 <= low <= s / (s + f) <= high <= 1
        for end, won, lost in ((low, s, f), (1 - high, f, s)):
            if end > 0:  # just outside the share is ruled out, just inside it is not
                assert mixture(end, won, lost, half_width) >= 2 / 0.05 * (1 - 1e-9)
                assert mixture(end + 2e-6, won, lost, half_width) < 2 / 0.05
            elif won:
                assert mixture(2e-6, won, lost, half_width) < 2 / 0.05


def test_weights_sum_to_one_and_the_mixture_is_a_martingale() -> None:
    for half_width in (0.001, 0.025, 0.4, 0.9):
        assert np.exp(_mixture(half_width)[1]).sum() == pytest.approx(1.0)
        for p in (0.05, 0.5, 0.97):
            for s, f in ((0, 0), (3, 2), (7, 0)):
                ahead = p * mixture(p, s + 1, f, half_width) + (1 - p) * mixture(p, s, f + 1, half_width)
                assert ahead == pytest.approx(mixture(p, s, f, half_width))


def test_ends_grow_with_successes_and_mirror() -> None:
    for n in (1, 7, 200):
        low, high = anytime_all(np.arange(n + 1), np.full(n + 1, n), 0.99, 0.05)
        assert (np.diff(low) >= 0).all()
        assert (np.diff(high) >= 0).all()
        np.testing.assert_allclose(low, 1 - high[::-1], atol=1e-12)
    assert anytime(0, 0, 0.95, 0.025) == (0.0, 1.0)


@cache
def most_inside(p: float, confidence: float) -> NDArray[np.int64]:
    """For n = 1 … LONGEST the most successes for which p is not below the interval, by the definition and bisection."""
    n, (shifts, weights) = np.arange(1, LONGEST + 1), _mixture(0.025)
    won = np.log(np.minimum(p + shifts, 1) / p)
    lost = np.log(np.maximum(1 - p - shifts, 1e-100) / (1 - p))  # one failure is enough where the rival is 1
    low, high = np.zeros(len(n), np.int64), n + 1  # inside, outside
    for _ in range(12):
        s = (low + high) // 2
        ratios = np.exp(np.minimum(weights + s[:, None] * won + (n - s)[:, None] * lost, 700.0))
        is_out = ratios.sum(axis=1) >= 2 / (1 - confidence)
        low, high = np.where(is_out, low, s), np.where(is_out, s, high)
    assert (anytime_all(low, n, confidence, 0.025)[0] <= p).all()  # and the function under test says the same
    outer = high <= n
    assert (anytime_all(high[outer], n[outer], confidence, 0.025)[0] > p - 2e-6).all()
    return low


@pytest.mark.parametrize("confidence", [0.9, 0.995])
@pytest.mark.parametrize("p", [0.5, 0.9, 0.98])
def test_holds_at_the_worst_moment_to_stop(p: float, confidence: float) -> None:
    n = np.arange(1, LONGEST + 1)
    fewest, most = n - most_inside(1 - p, confidence), most_inside(p, confidence)
    successes = running(np.random.default_rng(int(1000 * p)).random((RUNS, LONGEST)) < p)
    failed = ((successes < fewest) | (successes > most)).any(axis=1)
    assert failed.sum() <= allowed(confidence)


def test_a_fixed_interval_does_not_hold_at_the_worst_moment() -> None:
    """So the test above can fail: looking at every n breaks an interval made for one n."""
    p, confidence = 0.9, 0.9
    ends = [[clopper_pearson(s, n, confidence) for s in range(n + 1)] for n in range(1, 120)]
    successes = running(np.random.default_rng(0).random((300, 119)) < p)
    failed = [any(not ends[n][s][0] <= p <= ends[n][s][1] for n, s in enumerate(path)) for path in successes.tolist()]
    assert sum(failed) > allowed(confidence, 300)


def test_an_even_split_takes_the_most_draws() -> None:
    for half_width, confidence in ((0.025, 0.995), (0.1, 0.9), (0.6, 0.95)):
        n = anytime_samples(half_width, confidence)
        s = np.unique(np.linspace(0, n, 300).astype(int))
        low, high = anytime_all(s, np.full(len(s), n), confidence, half_width)
        assert ((high - low) / 2 <= half_width + 1e-6).all()
    most = anytime_samples(0.025, 0.995)
    assert hoeffding_samples(0.025, 0.995) < most == 4872  # the price of looking, at the least favorable share


def test_bad_counts_are_refused() -> None:
    with pytest.raises(InputError, match="expected 0 <= successes <= n"):
        anytime(3, 2, 0.95, 0.025)
    with pytest.raises(InputError, match=r"expected a confidence in \(0, 1\), got 1"):
        anytime(1, 2, 1.0, 0.025)
    with pytest.raises(InputError, match=r"expected a half width in \(0, 1\), got 2"):
        anytime(1, 2, 0.9, 2)
