"""Recorded proofs, verified by a checker that knows only the description of their form."""

import json
from itertools import count

import numpy as np
import pytest
from exact_additive_cases import is_proven, larger_net, small_net, thetas

from lexproof.certify.exact import branching, small
from lexproof.certify.exact.solver import decide, minimum


@pytest.fixture
def hard_way(monkeypatch):
    """Regions are bounded and split, at phases too, even where evaluating all their points would be quicker."""
    monkeypatch.setattr(small, "_PAIRS", 0)
    monkeypatch.setattr(branching, "_PHASES_FROM", 2)


def kinds(node):
    """The kinds of nodes of a tree."""
    found = set(node) & {"points", "bound", "drop", "phase", "position", "empty"}
    children = [node[name] for name in ("then", "off", "on", "stays") if name in node]
    return found.union(*(kinds(child) for child in (*children, *(child for _, child in node.get("words", [])))))


def test_proofs_of_small_networks_hold(hard_way):
    met = set()
    for seed in range(150):
        net = small_net(np.random.default_rng(seed), positions=5)
        theta = thetas(net)
        solved = minimum(net, theta=theta, record=True)
        if solved.lower:
            proof = json.loads(json.dumps(solved.proof))
            assert is_proven(net, theta, proof, solved.lower - 1), seed
            met |= set().union(*(kinds(part["tree"]) for part in proof["rivals"]))
    assert met >= {"points", "bound", "drop"}


def test_proofs_of_larger_networks_hold_and_use_every_kind_of_split(hard_way):
    met = set()
    for seed in range(9):
        net = larger_net(seed, rivals=1 + seed % 2)
        solved = minimum(net, theta=0.0, record=True)
        assert is_proven(net, 0.0, json.loads(json.dumps(solved.proof)), solved.lower - 1)
        met |= set().union(*(kinds(part["tree"]) for part in solved.proof["rivals"]))
    assert met == {"points", "bound", "drop", "phase", "position", "empty"}


def test_a_proof_says_nothing_about_a_larger_radius_or_another_threshold():
    net = larger_net(2)
    solved = minimum(net, theta=0.0, record=True)
    assert is_proven(net, 0.0, solved.proof, solved.lower - 1)
    assert not is_proven(net, 0.0, solved.proof, solved.lower)
    assert not is_proven(net, 2.0, solved.proof, solved.lower - 1)
    for part in solved.proof["rivals"]:
        part["swaps"] += 1
    assert not is_proven(net, 0.0, solved.proof, solved.lower)


def test_proofs_are_kept_only_when_asked_for_and_up_to_a_size(hard_way):
    net = larger_net(5)
    assert minimum(net, theta=0.0).proof is None
    whole = minimum(net, theta=0.0, record=True)
    assert whole.proof is not None
    short = minimum(net, theta=0.0, record=True, max_record=2)
    assert short.proof is None and (short.lower, short.upper) == (whole.lower, whole.upper)


def test_a_decision_is_proven_at_its_number_of_swaps():
    net = larger_net(4)
    least = minimum(net, theta=0.0).upper
    answer = decide(net, least - 1, theta=0.0, record=True)
    assert answer.lower == least and is_proven(net, 0.0, answer.proof, least - 1)


@pytest.mark.parametrize("limit", [0, 2, 4, 10, 20])
def test_a_bracket_that_was_cut_short_has_a_proof_of_its_lower_end(limit):
    net = larger_net(5, positions=30, units=40, spread=0.2, head=2.5)
    ticks = count()
    solved = minimum(net, theta=0.0, record=True, time_limit=limit, clock=lambda: float(next(ticks)))
    assert solved.reason
    assert is_proven(net, 0.0, solved.proof, solved.lower - 1)


@pytest.mark.parametrize("nodes", [0, 1, 5, 20, 50])
def test_a_limit_of_nodes_gives_the_same_proven_bracket_each_time(nodes):
    net = larger_net(5, positions=30, units=40, spread=0.2, head=2.5)
    whole = minimum(net, theta=0.0)
    solved = minimum(net, theta=0.0, record=True, max_nodes=nodes)
    assert solved.reason == f"branch and bound took max_nodes={nodes}"
    assert solved.lower <= whole.lower and (solved.upper is None or solved.upper >= whole.upper)
    assert is_proven(net, 0.0, solved.proof, solved.lower - 1)
    again = minimum(net, theta=0.0, record=True, max_nodes=nodes)
    assert (again.lower, again.upper, again.nodes) == (solved.lower, solved.upper, solved.nodes)
