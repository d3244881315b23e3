"""The mixed-integer model of a convolution with max-pool against full enumeration."""

from itertools import combinations, product

import numpy as np
import pytest

from lexproof.certify.exact.cnn_net import WindowedNet
from lexproof.certify.exact.milp_maxpool import minimum_by_milp


def random_net(rng):
    """Up to 5 places, some without candidates, windows of up to 4 words; half of the networks have ties."""
    places, units, width = (int(rng.integers(1, most)) for most in (6, 5, 5))
    position = np.repeat(np.arange(places), rng.integers(0, 4, places))
    rivals, is_whole = int(rng.integers(1, 5)), rng.random() < 0.5

    def draw(*shape):
        return rng.integers(-2, 3, shape).astype(float) if is_whole else rng.normal(size=shape)

    z, change = draw(places, units), draw(len(position), width, units)
    weight = draw(rivals, units)
    pooled = np.maximum(z.max(axis=0), 0.0)
    head = rng.integers(0, 8, rivals) if is_whole else rng.exponential(3.0, rivals)
    return WindowedNet(z, position, change, width // 2, weight, head - weight @ pooled)


def truth(net, theta):
    """The smallest number of swaps with some margin <= theta, or None."""
    groups = [np.flatnonzero(net.position == p).tolist() for p in sorted(set(net.position.tolist()))]
    for count in range(len(groups) + 1):
        for chosen in combinations(groups, count):
            if net.margins(list(product(*chosen))).min() <= theta:
                return count
    return None


def test_the_minimum_is_that_of_full_enumeration():
    least = []
    for seed in range(150):
        net, theta = random_net(np.random.default_rng(seed)), (0.0, 1e-6, 1.0, -1.0)[seed % 4]
        solved = minimum_by_milp(net, theta=theta)
        least.append(truth(net, theta))
        assert (solved.upper, solved.reason) == (least[-1], ""), seed
        assert solved.lower == (net.positions + 1 if least[-1] is None else least[-1])
        assert solved.upper is None or net.margins([solved.swaps]).min() <= theta
    assert {None, 0, 1, 2} <= set(least)


@pytest.mark.parametrize("budget", [0, 1, 2])
def test_a_budget_asks_only_for_points_within_it(budget):
    for seed in range(40):
        net = random_net(np.random.default_rng(seed))
        least = truth(net, 0.0)
        solved = minimum_by_milp(net, theta=0.0, budget=budget)
        if least is None or least > budget:
            assert (solved.lower, solved.upper, solved.reason) == (budget + 1, None, "")
        else:
            assert solved.lower == solved.upper == least


def test_no_time_is_an_open_bracket_and_no_candidates_a_closed_one():
    net = WindowedNet(np.ones((2, 1)), np.array([0]), np.full((1, 1, 1), -1.0), 0, np.ones((1, 1)), np.zeros(1))
    solved = minimum_by_milp(net, theta=0.0, time_limit=0)
    assert (solved.lower, solved.upper, solved.reason) == (1, None, "the time limit of 0 s was reached")
    empty = WindowedNet(net.z, net.position[:0], net.change[:0], 0, net.weight, net.bias)
    assert (minimum_by_milp(empty, theta=0.0).lower, minimum_by_milp(empty, theta=2.0).upper) == (1, 0)
