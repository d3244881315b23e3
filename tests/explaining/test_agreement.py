"""Rank agreement and overlap, against counting by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from lexproof.errors import InputError
from lexproof.explaining import Explanation, Saliency
from lexproof.explaining.agreement import agreement, overlap, rank_correlations
from lexproof.text import Text


def saliency(name: str, *values: float | None) -> Saliency:
    return Saliency(method=name, values=values)


def tau_b(one: np.ndarray, other: np.ndarray) -> float:
    """Kendall's tau-b by counting pairs."""
    pairs = [(np.sign(one[i] - one[j]), np.sign(other[i] - other[j])) for i, j in combinations(range(len(one)), 2)]
    agree = sum(a * b for a, b in pairs)
    return float(agree / np.sqrt(sum(a != 0 for a, _ in pairs) * sum(b != 0 for _, b in pairs)))


def spearman(one: np.ndarray, other: np.ndarray) -> float:
    """The correlation of mean ranks."""
    ranks = [np.array([(x < v).sum() + ((x == v).sum() + 1) / 2 for v in x]) for x in (one, other)]
    return float(np.corrcoef(*ranks)[0, 1])


@pytest.mark.parametrize("seed", range(10))
def test_correlations_of_ranks_with_ties(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.integers(0, 4, 9).astype(float), rng.integers(0, 4, 9).astype(float)
    assert rank_correlations(one, other) == pytest.approx((spearman(one, other), tau_b(one, other)))


def test_words_without_a_value_are_left_out() -> None:
    found = agreement(saliency("a", 1.0, None, 3.0, 2.0, 9.0), saliency("b", 0.1, 7.0, 0.3, 0.2, None), (1, 3))
    assert (found.n, found.spearman, found.kendall) == (3, pytest.approx(1.0), pytest.approx(1.0))
    assert found.overlap == {1: 1.0, 3: 1.0}
    assert found.to_json()["overlap"] == {"1": 1.0, "3": 1.0}


@pytest.mark.parametrize(
    ("one", "other"), [((), ()), ((1.0,), (2.0,)), ((1.0, 1.0), (1.0, 2.0)), ((None, 1.0), (1.0, None))]
)
def test_nothing_to_compare(one: tuple[float | None, ...], other: tuple[float | None, ...]) -> None:
    found = agreement(saliency("a", *one), saliency("b", *other), (1,))
    assert (found.spearman, found.kendall) == (None, None)
    assert (found.overlap[1] is None) == (found.n == 0)


def test_noise_that_no_record_shows_is_not_ranked() -> None:
    noise = saliency("lime", 1e-17, -2e-17, 3e-12)
    found = agreement(saliency("radius", 0.1, 0.2, 0.3), noise, (1, 3))
    assert (found.n, found.spearman, found.kendall) == (3, None, None)
    assert noise.order() == [0, 1, 2]
    assert str(noise.to_json()["saliency"]) == "[0.0, 0.0, 0.0]"  # and none of them is -0.0
    apart = agreement(saliency("radius", 0.1, 0.2, 0.3), saliency("lime", 1e-9, 2e-9, 3e-9), (1,))
    assert apart.spearman == pytest.approx(1.0)


def test_overlap_of_the_most_salient() -> None:
    one, other = np.array([5.0, 4.0, 3.0, 2.0, 1.0]), np.array([5.0, 1.0, 2.0, 4.0, 3.0])
    assert [overlap(one, other, k) for k in (1, 2, 3, 4, 5, 9)] == [1.0, 0.5, 1 / 3, 0.75, 1.0, 1.0]
    assert overlap(np.zeros(3), np.array([0.0, 0.0, 1.0]), 1) == 0.0  # ties: the first word


def test_every_two_methods_that_answered_are_compared() -> None:
    found = Explanation(
        text=Text.parse("a b c"), label=0, predicted=0, scores=(0.6, 0.4), labels=("n", "p"), norm=2.0, seed=0,
        saliencies=(
            saliency("a", 1, 2, 3), Saliency(method="x", reason="no"), saliency("b", 3, 2, 1), saliency("c", 1, 3, 2)
        ),
    )  # fmt: skip
    compared = found.agreement(top=[2])
    assert [(own.first, own.second) for own in compared] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert compared[0].spearman == pytest.approx(-1.0)
    assert [own.overlap for own in compared] == [{2: 0.5}, {2: 1.0}, {2: 0.5}]
    with pytest.raises(InputError, match="expected sets of at least 1 word, got 0"):
        found.agreement(top=[0])


def test_order_puts_unknown_words_last_and_keeps_the_text_among_ties() -> None:
    assert saliency("a", 1.0, None, 2.0, 1.0, None, -3.0).order() == [2, 0, 3, 5, 1, 4]
