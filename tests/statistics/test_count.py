"""The question `count`: samples used, thresholds, time limits, any batch, curves, and what it says."""

import json
from collections.abc import Sequence

import numpy as np
import pytest

import lexproof as lp
from lexproof.answers import from_json
from lexproof.asking import Item, answer_all, answer_one
from lexproof.cli.answers import sentence
from lexproof.cli.shares import ShareSummary
from lexproof.counting import Count, CountCurve
from lexproof.engine import Engine, Limits
from lexproof.errors import InputError
from lexproof.points import FloatArray
from lexproof.space import Space
from lexproof.statistics.guarantee import Drawn, Guarantee
from lexproof.statistics.intervals import hoeffding_samples
from lexproof.text import Input
from lexproof.victims.base import Victim

QUARTER = hoeffding_samples(0.025, 0.995) // 4


class FirstWord(Victim):
    """Flips if the text begins with `x`."""

    kind = "first-word"
    labels = ("no", "yes")
    fingerprint = "first-word"

    def scores(self, inputs: Sequence[Input]) -> FloatArray:
        flips = np.array([str(given).startswith("x") for given in inputs], np.float64)
        return np.stack([flips, 1 - flips], axis=1)


def one_in(n: int, flips: int = 1) -> Space:
    """A space of more than 10^6 texts in which all n words for the first position are as frequent; `flips` flip."""
    first = [f"x{i}" if i < flips else f"y{i}" for i in range(n - 1)]
    return Space("a b c d", [first, *([f"{c}{i}" for i in range(40)] for c in "bcd")])


@pytest.mark.parametrize(("n", "flips"), [(20, 1), (50, 1), (20, 0)])
def test_at_most_a_quarter_of_hoeffdings_samples(n: int, flips: int) -> None:
    """For PR = 0.95, 0.98 and 1 over 200 seeded runs: every run at 0.98 and 1, the mean and 97 of 100 at 0.95."""
    guarantee, truth = Guarantee(), flips / n
    used, held = [], 0
    for seed in range(200):
        flipped = np.random.default_rng(seed).random(5000) < truth
        drawn, is_met = Drawn(), False
        while not is_met:
            batch = flipped[drawn.n : drawn.n + guarantee.next_batch(drawn.n)]
            is_met = drawn.add(int(batch.sum()), len(batch), guarantee)
        used.append(drawn.n)
        held += drawn.low <= truth <= drawn.high
        assert drawn.high - drawn.low <= 0.05
    assert held >= 195  # 1 failure expected
    assert np.mean(used) <= QUARTER
    assert np.mean(np.array(used) <= QUARTER) >= (0.97 if truth == 0.05 else 1.0)


@pytest.mark.parametrize(("n", "flips"), [(20, 1), (20, 0), (4, 1)])
def test_a_count_draws_until_the_width_is_reached(n: int, flips: int) -> None:
    for seed in range(3):
        share = lp.count(FirstWord(), one_in(n, flips), 1, seed=seed)
        assert isinstance(share, lp.Share)
        assert (share.method, share.confidence, share.seed) == ("anytime", 0.995, seed)
        assert share.low <= flips / n <= share.high
        assert (share.high - share.low) / 2 <= 0.025
        assert share.value == share.flips / share.n
        assert (share.robust_low, share.robust, share.robust_high) == (1 - share.high, 1 - share.value, 1 - share.low)
        assert share.n <= (QUARTER if n == 20 else 4872)
    fixed = lp.count(FirstWord(), one_in(n, flips), 1, interval="hoeffding")
    assert isinstance(fixed, lp.Share)
    assert (fixed.n, fixed.method) == (4794, "hoeffding")


def test_samples_limit_an_anytime_count() -> None:
    share = lp.count(FirstWord(), one_in(4), 1, samples=100)
    assert isinstance(share, lp.Share)
    assert share.n == 100
    assert share.low <= 0.25 <= share.high
    assert share.high - share.low > 0.05


@pytest.mark.parametrize("interval", ["anytime", "clopper-pearson", "hoeffding"])
def test_a_threshold_is_settled(interval: str) -> None:
    for n, settled in ((20, "above"), (4, "below"), (10, "")):
        share = lp.count(FirstWord(), one_in(n), 1, threshold=0.9, interval=interval)  # type: ignore[arg-type]
        assert isinstance(share, lp.Share)
        assert (share.settled, share.threshold) == (settled, 0.9)
        if interval == "anytime" and settled == "below":
            assert share.n < 300  # far from the threshold it takes few draws
            assert share.high - share.low > 0.05
    exact = lp.count(FirstWord(), Space("a", [["x1", *(f"y{i}" for i in range(8))]]), 1, threshold=0.9)
    assert isinstance(exact, lp.Share)
    assert (exact.value, exact.settled) == (0.1, "below")  # PR is not above 0.9


@pytest.mark.parametrize("tenth", range(1, 10))
def test_a_share_at_the_threshold_is_not_above_it(tenth: int) -> None:
    words = [*(f"x{i}" for i in range(tenth)), *(f"y{i}" for i in range(9 - tenth))]
    share = lp.count(FirstWord(), Space("a", [words]), 1, threshold=(10 - tenth) / 10)
    assert isinstance(share, lp.Share)
    assert (share.method, share.flips, share.n, share.settled) == ("exact", tenth, 10, "below")


@pytest.mark.parametrize("threshold", [0, 1, -0.5, float("nan")])
def test_a_threshold_lies_between_0_and_1(threshold: float) -> None:
    with pytest.raises(InputError, match=r"expected a threshold in \(0, 1\), got"):
        lp.count(FirstWord(), one_in(4), 1, threshold=threshold)
    with pytest.raises(InputError, match=r"expected a threshold in \(0, 1\), got"):
        ShareSummary(threshold)


@pytest.mark.parametrize("interval", ["anytime", "clopper-pearson"])
def test_a_text_that_cannot_be_sampled_does_not_take_the_others_with_it(interval: str) -> None:
    choices = one_in(4).choices
    never = Space("a b c d", choices, predicate=lambda texts: np.zeros(len(texts), np.bool_))
    question = Count(interval=interval, samples=3)  # type: ignore[arg-type]
    first, second = answer_all(question, FirstWord(), [Item(0, never, 1), Item(1, one_in(4), 1)])
    assert isinstance(first.answer, lp.Unknown) and "too few to sample" in first.answer.reason
    assert isinstance(second.answer, lp.Share)


@pytest.mark.parametrize("limits", [Limits(200, None), Limits(50, None)])
def test_an_anytime_count_cut_short_answers_with_what_it_has(limits: Limits) -> None:
    for question in (Count(interval="anytime", limits=limits), Count(limits=limits)):
        (answered,) = answer_all(question, FirstWord(), [Item(0, one_in(4), 1)])
        if question.interval != "anytime":
            assert isinstance(answered.answer, lp.Unknown)
            continue
        assert isinstance(answered.answer, lp.Share)
        assert answered.answer.low <= 0.25 <= answered.answer.high
        assert 0 < answered.answer.n <= limits.max_queries  # type: ignore[operator]
        assert (answered.answer.method, answered.outcome.stopped) == (
            "anytime", f"budget of {limits.max_queries} queries used up",
        )  # fmt: skip


def test_an_enumeration_cut_short_knows_what_it_does_not_know() -> None:
    space = Space("a b", [["x1", *(f"y{i}" for i in range(40))], [f"b{i}" for i in range(40)]])
    truth = 41 / space.size
    for predicate in (None, lambda texts: np.array(["b7" not in text for text in texts])):
        inside = Space(space.original, space.choices, predicate=predicate)
        for budget in (100, 900, 1722):
            question = Count(interval="anytime", limits=Limits(budget, None))
            (answered,) = answer_all(question, FirstWord(), [Item(0, inside, 1)])
            share = answered.answer
            assert isinstance(share, lp.Share)
            assert share.low <= truth <= share.high
            assert (share.method, share.confidence) == (("partial", 1.0) if budget < space.size else ("exact", 1.0))
    (answered,) = answer_all(Count(limits=Limits(900, None)), FirstWord(), [Item(0, space, 1)])
    assert isinstance(answered.answer, lp.Unknown)


def test_a_time_limit_leaves_an_interval() -> None:
    share = lp.count(FirstWord(), one_in(4), 1, half_width=0.002, time_limit=0.05)
    assert isinstance(share, lp.Share)
    assert share.low <= 0.25 <= share.high


def test_a_curve_cut_short_knows_what_it_does_not_know() -> None:
    space = one_in(4)
    truths = [0, 1 / 123, (space.stratum(2) - 4800) / 3 / space.stratum(2)]
    methods = set()
    for budget in (30, 100, 1000, 5000):
        question = CountCurve(samples=1000, interval="anytime", half_width=0.1, limits=Limits(budget, None))
        (answered,) = answer_all(question, FirstWord(), [Item(0, space, 1)])
        if budget < 3 * 32:
            assert isinstance(answered.answer, lp.Unknown)
            continue
        curve = answered.answer
        assert isinstance(curve, lp.ShareCurve)
        methods |= {(k, share.method) for k, share in enumerate(curve.strata)}
        for share, truth in zip(curve.strata, truths, strict=False):
            assert share.low <= truth <= share.high
        assert all(0 <= row.low <= row.value <= row.high <= 1 for row in curve.radii)
    assert {(0, "partial"), (1, "partial"), (1, "exact"), (2, "anytime")} <= methods
    fixed = CountCurve(samples=1000, interval="hoeffding", limits=Limits(1000, None))
    (answered,) = answer_all(fixed, FirstWord(), [Item(0, space, 1)])
    assert isinstance(answered.answer, lp.Unknown)


def test_same_seed_same_answer_for_any_batch() -> None:
    spaces = [one_in(n) for n in (4, 20, 7, 3, 50)]
    for question in (Count(interval="anytime", seed=3), CountCurve(samples=200, interval="anytime", seed=3)):
        seen = []
        for width, max_rows in ((1, 7), (2, 100), (64, 16_384)):
            engine = Engine(FirstWord(), width=width, max_rows=max_rows)
            items = [Item(key, space, 1) for key, space in enumerate(spaces)]
            found = {a.item.key: a.answer.to_json() for a in answer_all(question, FirstWord(), items, engine)}  # type: ignore[union-attr]
            seen.append({key: {k: v for k, v in one.items() if k != "seconds"} for key, one in found.items()})
        assert seen[0] == seen[1] == seen[2]


def test_a_curve_enumerates_what_is_small_and_draws_the_rest() -> None:
    space = one_in(4)
    curve = lp.count_curve(FirstWord(), space, 1, half_width=0.05, confidence=0.99)
    assert isinstance(curve, lp.ShareCurve)
    assert [share.method for share in curve.strata] == ["exact", "exact", "anytime", "anytime", "anytime"]
    assert [share.radius for share in curve.strata] == [row.radius for row in curve.radii] == [0, 1, 2, 3, 4]
    assert (curve.strata[1].flips, curve.strata[1].n) == (1, 123)
    assert curve.strata[2].confidence == pytest.approx(1 - 0.01 / 3)
    # where the first word is swapped, one of its three substitutes flips
    sizes = [space.stratum(k) for k in range(5)]
    rest = [1, 120, 4800, 64_000, 0]  # texts with k swaps and the first word as it was
    for k, share in enumerate(curve.strata):
        assert share.low <= (sizes[k] - rest[k]) / 3 / sizes[k] <= share.high
    for r, row in enumerate(curve.radii):
        truth = sum(sizes[k] - rest[k] for k in range(r + 1)) / 3 / sum(sizes[: r + 1])
        assert row.low - 1e-12 <= truth <= row.high + 1e-12
        assert row.high - row.low <= 0.1 + 1e-9
        assert row.robust == 1 - row.value
    again = from_json(json.loads(json.dumps(curve.to_json())))
    assert again == curve


def test_a_threshold_is_settled_for_each_number_of_swaps() -> None:
    question = CountCurve(interval="anytime", threshold=0.9, samples=1000)
    curve = answer_one(question, FirstWord(), one_in(4), 1)
    assert isinstance(curve, lp.ShareCurve)
    # PR is 1, 122/123, 0.968…, 0.941 and 2/3
    assert [share.settled for share in curve.strata] == ["above", "above", "above", "above", "below"]
    assert curve.strata[4].n < 300


def test_a_curve_under_a_condition_on_whole_texts() -> None:
    small = Space("a b", [["x1", "y1"], ["b1"]], predicate=lambda texts: np.array(["y" not in text for text in texts]))
    curve = lp.count_curve(FirstWord(), small, 1)
    assert isinstance(curve, lp.ShareCurve)
    assert [(share.flips, share.n) for share in curve.strata] == [(0, 1), (1, 2), (1, 1)]
    assert curve.radii[-1].value == 0.5
    whole = one_in(4)
    large = Space(whole.original, whole.choices, predicate=lambda texts: np.ones(len(texts), np.bool_))
    answer = lp.count_curve(FirstWord(), large, 1)
    assert isinstance(answer, lp.Unknown)
    assert "too large for its texts to be counted by number of swaps" in answer.reason


def test_records_of_earlier_versions_are_read() -> None:
    share = lp.count(FirstWord(), one_in(4), 1, samples=50)
    record = share.to_json()
    for name in ("threshold", "settled"):
        del record[name]
    assert from_json(record) == share


def test_sentences() -> None:
    share = lp.count(FirstWord(), one_in(20), 1, threshold=0.9)
    assert isinstance(share, lp.Share)
    said = sentence(share, ("no", "yes"))
    assert f"PR {share.robust:.4f} in [{share.robust_low:.4f}, {share.robust_high:.4f}]; PR is above 0.9" in said
    curve = sentence(lp.count_curve(FirstWord(), one_in(4), 1, samples=60), ("no", "yes"))
    assert "all intervals together with confidence 0.995" in curve
    assert "up to 1 swaps: PR" in curve
    assert "exactly 4: " in curve


def test_bad_limits_are_refused() -> None:
    for name in ("exact_points", "exact_nodes"):
        with pytest.raises(InputError, match=f"expected {name} >= 0, got -1"):
            lp.count(FirstWord(), one_in(4), 1, **{name: -1})  # type: ignore[arg-type]
        with pytest.raises(InputError, match=f"expected {name} >= 0, got -1"):
            lp.count_curve(FirstWord(), one_in(4), 1, **{name: -1})  # type: ignore[arg-type]
