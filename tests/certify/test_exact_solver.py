"""The exact solver of additive networks against full enumeration, and its brackets when time is short."""

from itertools import count

import numpy as np
import pytest
from exact_additive_cases import enumerated, expected, larger_net, points, small_net, thetas

from lexproof.certify.exact import branching, small
from lexproof.certify.exact.additive import AdditiveNet
from lexproof.certify.exact.solver import curve, decide, minimum
from lexproof.errors import InputError


@pytest.fixture
def hard_way(monkeypatch):
    """Regions are bounded and split, at phases too, even where evaluating all their points would be quicker."""
    monkeypatch.setattr(small, "_PAIRS", 0)
    monkeypatch.setattr(branching, "_PHASES_FROM", 2)


@pytest.mark.parametrize("block", range(10))
def test_the_minimum_is_that_of_full_enumeration(block):
    for seed in range(100 * block, 100 * block + 100):
        net = small_net(np.random.default_rng(seed))
        theta = thetas(net)
        solved = minimum(net, theta=theta)
        assert (solved.lower, solved.upper, solved.reason) == (*expected(net, theta), ""), seed
        if solved.upper is not None:
            assert len(solved.swaps) == solved.upper and solved.is_closed
            assert net.is_adversarial(solved.swaps, theta)


def test_the_minimum_is_that_of_full_enumeration_by_bounds_and_splits(hard_way):
    least = []
    for seed in range(1000, 1600):
        net = small_net(np.random.default_rng(seed), positions=7)
        theta = thetas(net)
        solved = minimum(net, theta=theta)
        assert (solved.lower, solved.upper) == expected(net, theta), seed
        least.append(solved.upper)
    assert sum(r is not None and r >= 3 for r in least) > 15


def test_larger_networks_take_splits_and_agree_with_enumeration(hard_way):
    nodes = []
    for seed in range(8):
        net = larger_net(seed, positions=9, units=16, rivals=1 + seed % 2, head=1.6)
        solved = minimum(net, theta=1e-6)
        assert (solved.lower, solved.upper) == expected(net, 1e-6)
        nodes.append(solved.nodes)
    assert max(nodes) > 10


@pytest.mark.parametrize("most", [0, 1, 2, 3, 5, 50])
def test_no_more_swaps_than_asked_for(most):
    for seed in range(60):
        net = small_net(np.random.default_rng(seed))
        theta = thetas(net)
        least = enumerated(net, theta)
        solved = minimum(net, theta=theta, max_swaps=most)
        if least is None or least > most:
            assert (solved.lower, solved.upper, solved.swaps) == (most + 1, None, ())
        else:
            assert solved.lower == solved.upper == least


def test_decide_agrees_with_the_minimum_at_every_number_of_swaps(hard_way):
    for seed in range(100):
        net = small_net(np.random.default_rng(seed))
        theta = thetas(net)
        least = enumerated(net, theta)
        for swaps in range(8):
            answer = decide(net, swaps, theta=theta)
            assert answer.reason == ""
            if least is None or least > swaps:
                assert (answer.lower, answer.upper) == (swaps + 1, None)
            else:
                assert least <= answer.upper <= swaps and net.is_adversarial(answer.swaps, theta)


@pytest.mark.parametrize("limit", [0, 0.5, 3, 10, 40, 200])
def test_a_bracket_contains_the_truth_when_time_is_short(limit, hard_way):
    for seed in range(40):
        net = small_net(np.random.default_rng(seed)) if seed % 4 else larger_net(seed, positions=8, units=16, head=1.2)
        least = enumerated(net, 0.0)
        ticks = count()  # a second at every look at the clock
        solved = minimum(net, theta=0.0, time_limit=limit, clock=lambda ticks=ticks: float(next(ticks)))
        truth = net.positions + 1 if least is None else least
        assert 0 <= solved.lower <= truth
        assert solved.upper is None or truth <= solved.upper == len(solved.swaps)
        is_closed = solved.lower > net.positions or solved.lower == solved.upper
        assert (solved.reason == "") == is_closed
        assert is_closed or solved.reason == f"the time limit of {limit:g} s was reached"


def test_the_lower_end_rises_before_a_long_search_is_over():
    net = larger_net(5, positions=40, units=64, spread=0.15, head=2.5)
    ticks = count()
    solved = minimum(net, theta=0.0, time_limit=60, clock=lambda: float(next(ticks)))
    assert solved.reason and 3 < solved.lower < solved.upper


def test_a_known_witness_is_where_the_search_starts():
    net = larger_net(6, positions=9, units=16, head=1.2)
    known = next(s for s in points(net, range(len(net.position)), 9) if len(s) > 6 and net.is_adversarial(s, 0.0))
    stopped = minimum(net, theta=0.0, start=known, time_limit=0)
    assert (stopped.upper, stopped.swaps) == (len(known), known)
    assert minimum(net, theta=0.0, start=known).upper == minimum(net, theta=0.0).upper < len(known)
    assert decide(net, 8, theta=0.0, start=known).swaps == known


def test_a_network_without_candidates_and_one_that_is_adversarial_already():
    net = AdditiveNet(np.ones(2), np.zeros((0, 2)), np.zeros(0, int), np.ones((3, 2)), np.zeros(3))
    assert (minimum(net, theta=0.0).lower, minimum(net, theta=0.0).upper) == (1, None)
    assert minimum(net, theta=2.0).upper == minimum(net, theta=2.0).lower == 0
    assert curve(net, 2).tolist() == [2.0, 2.0, 2.0]


def test_the_curve_falls_and_lies_below_every_margin():
    met = 0
    for seed in range(25):
        net = small_net(np.random.default_rng(seed), positions=4)
        bounds = curve(net, 6)
        assert (np.diff(bounds) <= 0).all()
        for swaps in points(net, range(len(net.position)), 6):
            least = net.margins(net.hidden(swaps)).min()
            assert bounds[len(swaps)] <= least + 1e-9
            met += abs(bounds[len(swaps)] - least) < 1e-9
    assert met > 50


def test_the_curve_spends_nothing_above_its_limit():
    net = larger_net(0)
    quick, best = curve(net, 6, limit=-100.0), curve(net, 6)
    assert (quick <= best + 1e-9).all() and (quick[2:] < best[2:]).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"z0": np.zeros((1, 2))}, r"expected z0 of shape \(2,\), got \(1, 2\)"),
        ({"change": np.zeros((3, 1))}, r"expected change of shape \(3, 2\), got \(3, 1\)"),
        ({"weight": np.zeros((1, 3))}, r"expected weight of shape \(1, 2\), got \(1, 3\)"),
        ({"bias": np.array([np.nan])}, "expected finite numbers in bias, got a NaN or infinity"),
        ({"weight": np.zeros((0, 2)), "bias": np.zeros(0)}, "expected at least 1 rival class, got none"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(change, message):
    parts = {
        "z0": np.zeros(2),
        "change": np.zeros((3, 2)),
        "position": np.arange(3),
        "weight": np.zeros((1, 2)),
        "bias": np.zeros(1),
    }
    with pytest.raises(InputError, match=message):
        AdditiveNet(**(parts | change))


def test_questions_that_make_no_sense_are_refused():
    net = larger_net(0)
    with pytest.raises(InputError, match="expected max_swaps to be at least 0, got -1"):
        minimum(net, max_swaps=-1)
    with pytest.raises(InputError, match="expected theta to be a finite number, got nan"):
        decide(net, 1, theta=float("nan"))
    with pytest.raises(InputError, match=r"expected swaps that are adversarial at theta = 0, got \[0\]"):
        minimum(net, start=[0])
    with pytest.raises(InputError, match=r"expected candidates below \d+, got \[99\]"):
        minimum(net, start=[99])


def test_margins_that_equal_the_threshold_up_to_rounding_are_decided(hard_way):
    # sums of 0.1 and the like round differently in every order, so bounds and points meet theta on either side
    for seed in range(150):
        rng = np.random.default_rng(seed)
        position = np.repeat(np.arange(5), 2)
        change = rng.integers(-3, 4, (10, 4)) / 10
        weight = rng.integers(-3, 4, (2, 4)) / 10
        net = AdditiveNet(rng.integers(-3, 4, 4) / 10, change, position, weight, np.array([0.3, 0.2]))
        theta = float(rng.integers(-3, 4) / 100)
        solved = minimum(net, theta=theta)
        certain, possible = expected(net, theta - 1e-9), expected(net, theta + 1e-9)
        assert possible[0] <= solved.lower <= certain[0]
        assert solved.reason == "" and (solved.upper is None or net.is_adversarial(solved.swaps, theta))
