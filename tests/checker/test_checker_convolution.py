"""Proof trees of convolutions: what the solver proves is accepted, what is not true never is."""

import numpy as np
import pytest
from checker_cases import damaged, least_margins, rivals, seen, sets, through_json, windowed_net

from lexproof.certify.exact.cnn_solver import minimum
from lexproof.checker.convolution_bound import gains
from lexproof.checker.convolution_cells import cells_of
from lexproof.checker.convolution_tree import check_convolution
from lexproof.errors import EvidenceError

FOREVER = 1e9


def proven(net, theta, radius=4):
    solved = minimum(net, theta=theta, max_swaps=radius, time_limit=FOREVER, record=True)
    return through_json(solved.proof) if solved.lower > radius else None


def check(net, proof, radius, theta):
    return check_convolution(seen(net), 0, rivals(net), proof, radius, theta)


def refused(net, proof, radius, theta):
    try:
        check(net, proof, radius, theta)
    except EvidenceError:
        return True
    return False


def test_left_out_cells_never_decide():
    left_out = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        net = seen(windowed_net(rng, places=6))
        radius = int(rng.integers(0, 4))
        cells = cells_of(net, radius)
        left_out += net.start.size - len(cells.unit)
        for chosen in sets(net.position, radius):
            values = cells.value.copy()
            made = np.isin(cells.candidate, chosen)
            np.add.at(values, cells.cell[made], cells.change[made])
            features = cells.floor.copy()
            np.maximum.at(features, cells.unit, values)
            assert features == pytest.approx(net.features(chosen))
    assert left_out > 500


def test_gains_give_a_bound():
    tight = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        net = seen(windowed_net(rng, places=6))
        weight, bias = net.weight[0] - net.weight[1], float(net.bias[0] - net.bias[1])
        made = [int(rng.integers(len(net.position)))] if len(net.position) and rng.random() < 0.5 else []
        budget = int(rng.integers(1, 4))
        cells = cells_of(net, budget + 1 + int(rng.integers(0, 2)))
        free = np.flatnonzero(rng.random(len(net.position)) < 0.8)
        free = free[~np.isin(net.position[free], net.position[made])]
        gain = gains(cells, weight, net.values(made)[cells.place, cells.unit], free, budget)
        start = net.features(made) @ weight + bias
        for chosen in sets(net.position, budget, free):
            margin, bound = net.features(made + chosen) @ weight + bias, start + gain[chosen].sum()
            assert bound <= margin + 1e-9
            tight += bool(chosen) and bound > margin - 1e-9
    assert tight > 1000  # a bound that is always far below would pass as well


@pytest.mark.parametrize("block", range(4))
def test_what_the_solver_proves_is_accepted_and_no_more(block):
    """A proof for a lower threshold is no proof for one that some set does not exceed."""
    trees = 0
    for seed in range(50 * block, 50 * block + 50):
        net = windowed_net(np.random.default_rng(seed))
        margins = least_margins(net, 3)
        for radius in (1, 3):
            truth = margins[radius]
            proof = proven(net, truth - 1e-5, radius)
            assert proof is not None
            trees += any(proof["rivals"])
            assert check(net, proof, radius, truth - 1e-5) >= len(net.bias)
            assert refused(net, proof, radius, truth + 1e-6)
    assert trees > 20


def test_damaged_proofs_prove_nothing_that_is_false():
    rng = np.random.default_rng(1)
    still, broken = 0, 0
    for seed in range(30):
        net = windowed_net(np.random.default_rng(seed))
        truth = least_margins(net, 3)[3]
        proof = proven(net, truth - 1e-5, 3)
        for _ in range(20):
            other = damaged(proof, rng)
            assert refused(net, other, 3, truth + 1e-6)
            if refused(net, other, 3, truth - 1e-5):
                broken += 1
            else:
                still += 1
    assert broken > 200
    assert still > 20


@pytest.fixture(scope="module")
def branched():
    """A net, a threshold, and a proof for 3 swaps in which every child of the first rival is needed."""
    for seed in range(100):
        net = windowed_net(np.random.default_rng(seed))
        theta = least_margins(net, 3)[3] - 1e-5
        proof = proven(net, theta, 3)
        first = proof["rivals"][0]
        if len(first) < 2:
            continue
        without = [{**proof, "rivals": [first[:i] + first[i + 1 :], *proof["rivals"][1:]]} for i in range(len(first))]
        if all(refused(net, other, 3, theta) for other in without):
            return net, theta, proof, without
    raise AssertionError("no such net")


def test_a_deleted_child_is_missed(branched):
    net, theta, proof, without = branched
    assert check(net, proof, 3, theta) > 2
    for other in without:
        with pytest.raises(EvidenceError, match="of the sets that no child of \\[\\] holds, got"):
            check(net, other, 3, theta)


FORGED = {
    "no children": lambda proof: proof["rivals"].__setitem__(0, []),
    "a child twice": lambda proof: proof["rivals"][0].append(proof["rivals"][0][0]),
    "an unknown child": lambda proof: proof["rivals"][0].append([10**6, []]),
    "a negative child": lambda proof: proof["rivals"][0].append([-1, []]),
    "a child by name": lambda proof: proof["rivals"][0].append(["0", []]),
    "a child without a tree": lambda proof: proof["rivals"][0].append([0]),
    "no tree": lambda proof: proof["rivals"].__setitem__(0, None),
    "a rival is missing": lambda proof: proof["rivals"].pop(),
    "rivals as an object": lambda proof: proof.update(rivals={}),
    "a smaller radius": lambda proof: proof.update(radius=2),
    "a larger radius": lambda proof: proof.update(radius=10**30),
    "radius as a float": lambda proof: proof.update(radius=3.0),
    "no radius": lambda proof: proof.pop("radius"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_trees_are_refused(branched, name):
    net, theta, proof, _ = branched
    forged = through_json(proof)
    FORGED[name](forged)
    with pytest.raises(EvidenceError, match=r"^expected "):
        check(net, forged, 3, theta)


def test_a_deeply_nested_tree_is_refused_like_any_other(branched):
    net, theta, proof, _ = branched
    tree = []
    for _ in range(50_000):
        tree = [[0, tree]]
    with pytest.raises(EvidenceError, match=r"^expected "):
        check(net, {**proof, "rivals": [tree] * len(net.bias)}, 3, theta)
