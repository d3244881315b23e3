"""The exact solver of one-layer convolutions against full enumeration."""

import json
from itertools import count

import numpy as np
import pytest
from exact_cnn_cases import random_net, sets, truth

from lexproof.certify.exact.cnn_net import WindowedNet
from lexproof.certify.exact.cnn_solver import curve, decide, minimum
from lexproof.errors import InputError

FOREVER = 1e9


@pytest.mark.parametrize("block", range(10))
def test_the_minimum_is_that_of_full_enumeration(block: int) -> None:
    for seed in range(100 * block, 100 * block + 100):
        rng = np.random.default_rng(seed)
        net = random_net(rng)
        most = int(rng.integers(0, 8))
        theta = float(rng.choice([0.0, 1e-6, 0.5]))
        expected = truth(net, min(most, 5), theta) if most < 6 else truth(net, most, theta)
        solved = minimum(net, theta=theta, max_swaps=most, time_limit=FOREVER)
        assert solved.reason == ""
        assert solved.upper == expected
        assert solved.lower == (most + 1 if expected is None else expected)
        if expected is not None:
            assert len(solved.swaps) == expected
            assert net.margins([solved.swaps]).min() <= theta + 1e-12
            assert len(set(net.position[list(solved.swaps)])) == expected


def test_decide_agrees_with_the_minimum() -> None:
    for seed in range(2000, 2100):
        net = random_net(np.random.default_rng(seed))
        least = truth(net, 6, 1e-6)
        for swaps in range(7):
            answer = decide(net, swaps, theta=1e-6, time_limit=FOREVER)
            if least is None or swaps < least:
                assert (answer.lower, answer.upper) == (swaps + 1, None)
            else:
                assert answer.upper is not None
                assert least <= answer.upper <= swaps
                assert net.margins([answer.swaps]).min() <= 1e-6 + 1e-12


def test_decide_is_right_a_hair_beside_the_least_margin() -> None:
    nodes = 0
    for seed in range(2600, 2800):
        rng = np.random.default_rng(seed)
        net = random_net(rng, most_units=40)
        swaps = int(rng.integers(2, 5))
        least = float(net.margins(sets(net, swaps)).min())
        above = decide(net, swaps, theta=least + 1e-7, time_limit=FOREVER)
        below = decide(net, swaps, theta=least - 1e-7, time_limit=FOREVER)
        assert above.upper is not None
        assert net.margins([above.swaps]).min() <= least + 1e-7
        assert (below.lower, below.upper) == (swaps + 1, None)
        nodes += below.nodes
    assert nodes > 1000  # several regions each


def test_a_start_is_used_only_if_it_is_adversarial() -> None:
    found = 0
    for seed in range(2100, 2160):
        net = random_net(np.random.default_rng(seed))
        every = sets(net, 6)
        margins = net.margins(every).min(axis=1)
        flips = [chosen for chosen, margin in zip(every, margins, strict=True) if margin <= 0.0]
        harmless = [chosen for chosen, margin in zip(every, margins, strict=True) if margin > 1e-9]
        for start in (*flips[-1:], *harmless[-1:]):
            solved = minimum(net, theta=0.0, max_swaps=6, time_limit=FOREVER, start=start)
            assert solved.upper == min(map(len, flips), default=None)
            found += bool(flips)
    assert found > 20


def test_a_time_limit_of_0_leaves_what_is_known_of_the_text_itself() -> None:
    closed = 0
    for seed in range(2200, 2260):
        net = random_net(np.random.default_rng(seed))
        is_flip = net.margins([()]).min() <= 0.0
        solved = minimum(net, theta=0.0, max_swaps=3, time_limit=0.0)
        assert solved.lower == (0 if is_flip else 1)
        assert solved.upper == (0 if is_flip else None)
        if not is_flip:
            assert solved.reason == ("the time limit was reached" if net.candidates else "")
        closed += is_flip
    assert 0 < closed < 60


def test_a_bracket_under_any_time_limit_holds_the_minimum() -> None:
    stopped = 0
    for seed in range(2300, 2340):
        net = random_net(np.random.default_rng(seed))
        least = truth(net, 6, 0.0)
        for limit in range(0, 24, 2):
            ticks = count()
            solved = minimum(
                net, theta=0.0, max_swaps=6, time_limit=limit, clock=lambda ticks=ticks: float(next(ticks))
            )
            stopped += solved.reason != ""
            assert solved.lower <= (7 if least is None else least)
            assert solved.upper is None or (least is not None and solved.upper >= least)
    assert stopped > 30


def test_decide_says_when_the_time_is_up() -> None:
    net = random_net(np.random.default_rng(7))
    answer = decide(net, 2, theta=-1e6, time_limit=0.0)
    assert (answer.lower, answer.upper, answer.reason) == (0, None, "the time limit was reached")


def test_the_curve_is_below_every_margin_and_never_rises() -> None:
    tight = 0
    for seed in range(2400, 2500):
        net = random_net(np.random.default_rng(seed))
        bounds = curve(net, 4)
        assert (np.diff(bounds) <= 0).all()
        for swaps, bound in enumerate(bounds):
            least = net.margins(sets(net, swaps)).min()
            assert bound <= least + 1e-12
            tight += bool(least - bound < 1e-9)
    assert tight >= 200  # exact for 0 swaps and for 1


def test_more_swaps_than_positions_are_as_many_as_there_are() -> None:
    net = random_net(np.random.default_rng(3))
    solved = minimum(net, theta=-1e6, max_swaps=10**6, time_limit=FOREVER)
    assert solved.lower == 10**6 + 1


def test_without_candidates_only_the_text_counts() -> None:
    net = WindowedNet(np.ones((2, 1)), np.zeros(0, np.int64), np.zeros((0, 3, 1)), 1, np.ones((1, 1)), np.zeros(1))
    assert minimum(net, theta=0.0, max_swaps=2, time_limit=FOREVER).lower == 3
    assert minimum(net, theta=1.0, max_swaps=2, time_limit=FOREVER).upper == 0
    assert curve(net, 2).tolist() == [1.0, 1.0, 1.0]


def test_wrong_arguments_are_refused() -> None:
    net = random_net(np.random.default_rng(0))
    same = np.flatnonzero(net.position == np.bincount(net.position).argmax())[:2].tolist()
    with pytest.raises(InputError, match="finite theta, got nan"):
        minimum(net, theta=float("nan"), max_swaps=2, time_limit=1.0)
    with pytest.raises(InputError, match="at least 0 swaps, got -1"):
        decide(net, -1, theta=0.0, time_limit=1.0)
    with pytest.raises(InputError, match="different positions as a start"):
        minimum(net, theta=0.0, max_swaps=2, time_limit=1.0, start=same)


def test_a_net_of_wrong_numbers_is_refused() -> None:
    z, weight, bias = np.zeros((2, 3)), np.zeros((1, 3)), np.zeros(1)
    with pytest.raises(InputError, match=r"expected z \(L, F\)"):
        WindowedNet(z, np.zeros(1, np.int64), np.zeros((1, 2, 4)), 1, weight, bias)
    with pytest.raises(InputError, match="expected finite numbers"):
        WindowedNet(z, np.zeros(1, np.int64), np.full((1, 2, 3), np.nan), 1, weight, bias)
    with pytest.raises(InputError, match="positions from 0 on and in order"):
        WindowedNet(z, np.full(1, -1), np.zeros((1, 2, 3)), 1, weight, bias)


def test_a_proof_is_plain_json() -> None:
    for seed in range(20):
        solved = minimum(
            random_net(np.random.default_rng(seed)), theta=-3.0, max_swaps=3, time_limit=FOREVER, record=True
        )
        assert json.loads(json.dumps(solved.proof)) == solved.proof


@pytest.mark.parametrize("nodes", [0, 1, 3, 10])
def test_a_limit_of_nodes_gives_the_same_bracket_each_time(nodes: int) -> None:
    for seed in range(20):
        net = random_net(np.random.default_rng(seed))
        whole = minimum(net, theta=0.0, max_swaps=6, time_limit=FOREVER)
        one, two = (minimum(net, theta=0.0, max_swaps=6, time_limit=FOREVER, max_nodes=nodes) for _ in range(2))
        assert (one.lower, one.upper, one.nodes, one.reason) == (two.lower, two.upper, two.nodes, two.reason)
        assert one.lower <= whole.lower
        assert one.upper is None or (whole.upper is not None and one.upper >= whole.upper)
        assert one.reason in ("", f"branch and bound took max_nodes={nodes}")
