"""Intervals of a mean hold at their rate for any numbers in [0, 1]."""

import numpy as np
import pytest

from lexproof.errors import InputError
from lexproof.statistics.means import mean_interval


@pytest.mark.parametrize("shape", [(0.1, 5.0), (0.02, 0.02), (3.0, 3.0), (20.0, 1.0)])
@pytest.mark.parametrize("n", [1, 2, 20, 200])
def test_the_mean_lies_within(shape: tuple[float, float], n: int) -> None:
    rng, mean = np.random.default_rng(n), shape[0] / sum(shape)
    ends = np.array([mean_interval(rng.beta(*shape, size=n), 0.9) for _ in range(2000)])
    missed = int(((ends[:, 0] > mean) | (ends[:, 1] < mean)).sum())
    assert missed <= 270  # 200 are allowed; 270 is 5 standard deviations above
    assert (ends[:, 0] <= ends[:, 1]).all() and ends.min() >= 0 and ends.max() <= 1


def test_numbers_that_vary_little_give_a_narrow_interval() -> None:
    low, high = mean_interval(np.full(1000, 0.3), 0.95)
    assert 0.28 < low < 0.3 < high < 0.32
    assert mean_interval(np.array([]), 0.95) == (0.0, 1.0)


def test_few_numbers_are_bounded_as_coins_are() -> None:
    low, high = mean_interval(np.full(60, 0.82), 0.95)
    assert 0.6 < low < 0.82 < high < 0.95
    assert mean_interval(np.ones(50), 0.95)[1] == 1.0 and mean_interval(np.ones(50), 0.95)[0] == pytest.approx(
        (0.05 / 4) ** (1 / 50), abs=1e-9
    )
    assert mean_interval(np.zeros(50), 0.95)[0] == 0.0


def test_a_confidence_is_checked() -> None:
    with pytest.raises(InputError, match="confidence"):
        mean_interval(np.array([0.5, 0.5]), 1.0)
