"""Each interval holds at its stated rate over 2,000 seeded runs, and draws are uniform, over a space and a stratum."""

import numpy as np
import pytest
from drawn_shares import RUNS, SPACE, VICTIM, Flips, allowed
from scipy.stats import chisquare

from lexproof.asking import answer_one
from lexproof.counting import Count, CountCurve
from lexproof.errors import InputError
from lexproof.space import Space
from lexproof.statistics.by_swaps import shares_by_radius, shares_by_swaps
from lexproof.statistics.guarantee import Drawn, Guarantee, Interval
from lexproof.statistics.share import Tally

CONFIDENCE, MOST = 0.9, 150
FLIPS = Flips()


def draws() -> list[np.ndarray]:
    """Of each run, which of its draws flip."""
    return [FLIPS.of(SPACE.sample(np.random.default_rng([seed, 7]), MOST)) for seed in range(RUNS)]


@pytest.fixture(scope="module")
def runs() -> list[np.ndarray]:
    return draws()


@pytest.mark.parametrize("interval", ["anytime", "clopper-pearson", "hoeffding"])
def test_intervals_hold_as_often_as_stated(interval: Interval, runs: list[np.ndarray]) -> None:
    guarantee = Guarantee(interval=interval, confidence=CONFIDENCE, half_width=0.08)
    truth, failed, ended = FLIPS.share(SPACE.max_swaps), 0, set()
    assert 0.05 < truth < 0.95
    for flips in runs:
        drawn, is_met = Drawn(), False
        while drawn.n < MOST and not is_met:
            batch = flips[drawn.n : drawn.n + guarantee.next_batch(drawn.n)]
            is_met = drawn.add(int(batch.sum()), len(batch), guarantee)
        low, high = drawn.ends(guarantee)
        failed += not low <= truth <= high
        ended.add(drawn.n)
    assert failed <= allowed(CONFIDENCE)
    assert (ended == {MOST}) == (interval != "anytime")


def test_too_narrow_an_interval_is_found_out(runs: list[np.ndarray]) -> None:
    """So the test above can fail."""
    truth = FLIPS.share(SPACE.max_swaps)
    guarantee = Guarantee(interval="clopper-pearson", confidence=0.8)
    ends = [guarantee.bounds(int(flips.sum()), MOST) for flips in runs]
    assert sum(not low <= truth <= high for low, high in ends) > allowed(CONFIDENCE)


@pytest.fixture(scope="module")
def stratified() -> np.ndarray:
    """Of each run, how many of 40 draws with exactly 1, 2, … swaps flip."""
    counts = [
        FLIPS.of(SPACE.sample(np.random.default_rng(k), 40 * RUNS, k)).reshape(RUNS, 40).sum(axis=1)
        for k in range(1, SPACE.max_swaps + 1)
    ]
    return np.stack(counts, axis=1)


@pytest.mark.parametrize("interval", ["anytime", "clopper-pearson", "hoeffding"])
def test_all_intervals_of_a_curve_hold_together(interval: Interval, stratified: np.ndarray) -> None:
    guarantee = Guarantee(interval=interval, confidence=CONFIDENCE, half_width=0.1)
    own = guarantee.shared(SPACE.max_swaps)
    ends = [own.bounds(flips, 40) for flips in range(41)]
    by_swaps = [FLIPS.share(k, k) for k in range(SPACE.max_swaps + 1)]
    by_radius = [FLIPS.share(r) for r in range(SPACE.max_swaps + 1)]
    failed = 0
    for run, counts in enumerate(stratified.tolist()):
        held = all(ends[flips][0] <= truth <= ends[flips][1] for flips, truth in zip(counts, by_swaps[1:], strict=True))
        failed += not held
        if run % 20 and held:
            continue
        tallies = [Tally(int(by_swaps[0]), 1, exact=True), *(Tally(c, 40, exact=False, ends=ends[c]) for c in counts)]
        strata = shares_by_swaps(tallies, guarantee, run)
        assert all(share.low <= truth <= share.high for share, truth in zip(strata, by_swaps, strict=True)) == held
        # where each stratum holds, each radius does: it is their mean
        rows = shares_by_radius(SPACE, strata)
        around = [row.low - 1e-12 <= truth <= row.high + 1e-12 for row, truth in zip(rows, by_radius, strict=True)]
        assert all(around) or not held
    assert failed <= allowed(CONFIDENCE)


def test_a_stratified_estimate_and_a_uniform_one_estimate_the_same() -> None:
    truth = FLIPS.share(SPACE.max_swaps)
    uniform, stratified = [], []
    for seed in range(60):
        question = {"samples": 40, "interval": "clopper-pearson", "seed": seed}
        share = answer_one(Count(**question), VICTIM, SPACE, 1)  # type: ignore[arg-type]
        curve = answer_one(CountCurve(**question), VICTIM, SPACE, 1)  # type: ignore[arg-type]
        uniform.append(share.value)  # type: ignore[union-attr]
        stratified.append(curve.radii[-1].value)  # type: ignore[union-attr]
    for values in (uniform, stratified):
        assert abs(np.mean(values) - truth) < 4.5 * np.std(values) / np.sqrt(len(values))
    assert np.std(stratified) < np.std(uniform)  # what is known of the strata is not drawn again


@pytest.mark.parametrize("swaps", [None, 0, 1, 3, 4])
def test_draws_are_uniform(swaps: int | None) -> None:
    points = SPACE.points()
    if swaps is not None:
        points = points[np.count_nonzero(points, axis=1) == swaps]
    drawn = SPACE.sample(np.random.default_rng(3), 30 * len(points), swaps)
    counts = np.unique(np.concatenate([points, drawn]), axis=0, return_counts=True)[1] - 1
    assert len(counts) == len(points)
    assert len(counts) == 1 or chisquare(counts).pvalue > 1e-5


def test_draws_of_one_stratum_respect_a_predicate_and_bad_numbers_are_refused() -> None:
    space = Space("a b c", [["x", "y"], ["z"], ["w"]], predicate=lambda texts: np.array(["x" not in t for t in texts]))
    drawn = space.sample(np.random.default_rng(0), 200, 2)
    assert (np.count_nonzero(drawn, axis=1) == 2).all()
    assert len(np.unique(drawn, axis=0)) == 3  # of y z, y w, z w and two with x
    for swaps in (-1, 4):
        with pytest.raises(InputError, match=f"expected 0 to 3 swaps to sample, got {swaps}"):
            space.sample(np.random.default_rng(0), 1, swaps)
