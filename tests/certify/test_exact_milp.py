"""The mixed-integer model against full enumeration and the solver."""

import numpy as np
import pytest
from exact_additive_cases import enumerated, expected, larger_net, small_net, thetas

from lexproof.certify.exact.additive import AdditiveNet
from lexproof.certify.exact.milp import minimum_by_milp
from lexproof.certify.exact.milp_bits import SLACK
from lexproof.certify.exact.solver import minimum
from lexproof.errors import InputError


@pytest.mark.parametrize("block", range(3))
def test_the_minimum_is_that_of_full_enumeration_and_of_the_solver(block):
    for seed in range(100 * block, 100 * block + 100):
        net = small_net(np.random.default_rng(seed))
        theta = thetas(net)
        solved = minimum_by_milp(net, theta=theta)
        assert (solved.lower, solved.upper, solved.reason) == (*expected(net, theta), ""), seed
        own = minimum(net, theta=theta)
        assert (solved.lower, solved.upper) == (own.lower, own.upper)
        assert solved.upper is None or (len(solved.swaps) == solved.upper and net.is_adversarial(solved.swaps, theta))


@pytest.mark.parametrize("budget", [0, 1, 3])
def test_a_budget_asks_only_for_points_within_it(budget):
    for seed in range(60):
        net = small_net(np.random.default_rng(seed))
        theta = thetas(net)
        least = enumerated(net, theta)
        solved = minimum_by_milp(net, theta=theta, budget=budget)
        if least is None or least > budget:
            assert (solved.lower, solved.upper, solved.swaps, solved.reason) == (budget + 1, None, (), "")
        else:
            assert solved.lower == solved.upper == least


def test_larger_networks_agree_with_the_solver():
    for seed in (1, 2):
        net = larger_net(seed, positions=9, units=16, rivals=2, head=1.2)
        own = minimum(net, theta=1e-6)
        assert minimum_by_milp(net, theta=1e-6).upper == own.upper
        below = minimum_by_milp(net, theta=1e-6, budget=own.upper - 1)
        assert (below.lower, below.upper) == (own.lower, None)


@pytest.mark.parametrize("limit", [0.0, 0.01, 0.05])
def test_a_bracket_contains_the_truth_when_time_is_short(limit):
    for seed in range(4):
        net = larger_net(seed)
        least = minimum(net, theta=0.0)
        solved = minimum_by_milp(net, theta=0.0, time_limit=limit)
        assert solved.lower <= least.lower
        assert solved.upper is None or solved.upper >= least.lower
        assert solved.reason or (solved.lower, solved.upper) == (least.lower, least.upper)
        if not limit:
            assert (solved.lower, solved.upper, solved.reason) == (1, None, "the time limit of 0 s was reached")


def test_a_point_that_only_the_slack_admits_is_not_a_witness():
    # one swap brings the margin to just above theta, the other to just below
    change = np.array([[-1.0], [-1.0]])
    for near, truth in ((SLACK / 2, None), (-SLACK / 2, 1)):
        net = AdditiveNet(np.array([1.0]), change, np.zeros(2, int), np.ones((1, 1)), np.array([near]))
        solved = minimum_by_milp(net, theta=0.0)
        assert (solved.lower, solved.upper, solved.reason) == (2 if truth is None else 1, truth, "")


def test_many_points_within_the_slack_end_in_a_bracket():
    net = AdditiveNet(np.array([1.0]), -np.ones((80, 1)), np.zeros(80, int), np.ones((1, 1)), np.array([SLACK / 2]))
    solved = minimum_by_milp(net, theta=0.0)
    assert (solved.lower, solved.upper) == (1, None)
    assert solved.reason == "50 points within rounding of theta were excluded"


def test_a_negative_budget_is_refused():
    with pytest.raises(InputError, match="expected budget to be at least 0, got -1"):
        minimum_by_milp(larger_net(0), budget=-1)
