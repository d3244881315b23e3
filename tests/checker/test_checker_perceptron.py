"""Proof trees of perceptrons: what the solver proves is accepted, what is not true never is."""

import numpy as np
import pytest
from checker_cases import additive_net, damaged, least_margins, rivals, seen, sets, through_json

from lexproof.certify.exact.solver import minimum
from lexproof.checker.networks import Perceptron
from lexproof.checker.perceptron_bound import Margin, Ranges, Region
from lexproof.checker.perceptron_tree import check_perceptron
from lexproof.checker.sums import TOLERANCE, greatest, least
from lexproof.errors import EvidenceError


def proven(net, theta, radius=4):
    """A proof that no set of at most `radius` candidates has a margin of at most theta, or None."""
    solved = minimum(net, theta=theta, max_swaps=radius, record=True)
    return through_json(solved.proof) if solved.lower > radius else None


def check(net, proof, radius, theta):
    return check_perceptron(seen(net), 0, rivals(net), proof, radius, theta)


def refused(net, proof, radius, theta):
    try:
        check(net, proof, radius, theta)
    except EvidenceError:
        return True
    return False


def test_sums_over_positions_are_exact():
    rng = np.random.default_rng(0)
    for _ in range(50):
        position = rng.integers(0, 4, rng.integers(0, 7))
        values, budget = rng.normal(size=len(position)), int(rng.integers(0, 5))
        every = [values[chosen].sum() for chosen in sets(position, budget)]
        assert greatest(values[None], position, budget)[0] == pytest.approx(max(every))
        assert least(values, position, budget) == pytest.approx(min(every))


def test_any_multipliers_give_a_bound():
    """Also outside of their ranges, which they are moved into."""
    tight = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        net = additive_net(rng, positions=4, units=5)
        own, units = seen(net), range(5)
        free, budget = np.flatnonzero(rng.random(len(net.position)) < 0.8), int(rng.integers(0, 4))
        phase = rng.choice([-1, 0, 0, 0, 1], 5).astype(np.int8)
        shares = {str(h): (100 * rng.normal(0.5, 0.6, len(free))).tolist() for h in units if rng.random() < 0.7}
        slopes = {str(h): rng.normal() for h in units if rng.random() < 0.7}
        margin = Margin(net.weight[0], float(net.bias[0]))
        ranges = Ranges(own, Region(net.z0, free, budget, phase))
        bound = ranges.bound(margin, {"shares": shares, "slopes": slopes})
        inside, on_edge = 0, False
        for chosen in sets(net.position, budget, free):
            hidden = net.z0 + net.change[chosen].sum(axis=0)
            if ((hidden * phase >= 0) | (phase == 0)).all():
                inside += 1
                on_edge |= bool((np.abs(hidden) < 1e-6).any())
                value = bound.base + bound.gains[np.isin(free, chosen)].sum()
                assert value <= margin.of(hidden) + 1e-9
                assert bound.least <= value + 1e-9
                with_each = [bound.least_with(int(at)) for at in np.flatnonzero(np.isin(free, chosen))]
                assert all(limit <= value + 1e-9 for limit in with_each)
                tight += value > margin.of(hidden) - 1e-9
        assert not ranges.is_empty or not inside or on_edge
    assert tight > 100  # a bound that is always far below would pass as well


@pytest.mark.parametrize("block", range(4))
def test_what_the_solver_proves_is_accepted_and_no_more(block):
    """A proof for a lower threshold is no proof for one that some set does not exceed."""
    for seed in range(50 * block, 50 * block + 50):
        net = additive_net(np.random.default_rng(seed), positions=7)
        radius = 3 + seed % 2
        truth = least_margins(net, radius)[radius]
        proof = proven(net, truth - 1e-5, radius)
        assert proof is not None
        assert check(net, proof, radius, truth - 1e-5) >= len(net.bias)
        assert refused(net, proof, radius, truth + 1e-6)


def test_damaged_proofs_prove_nothing_that_is_false():
    """Of hundreds of them none is accepted above the truth; some are still proofs below it, most are not."""
    rng = np.random.default_rng(1)
    still, broken = 0, 0
    for seed in range(25):
        net = additive_net(np.random.default_rng(seed), positions=7)
        truth = least_margins(net, 4)[4]
        proof = proven(net, truth - 1e-5)
        for _ in range(25):
            other = damaged(proof, rng)
            assert refused(net, other, 4, truth + 1e-6)
            if refused(net, other, 4, truth - 1e-5):
                broken += 1
            else:
                still += 1
    assert broken > 200
    assert still > 25


def tight(seed):
    """A net, a threshold that 4 swaps just do not reach, and the proof."""
    net = additive_net(np.random.default_rng(seed), positions=14, per_position=5, units=24)
    low, high = -60.0, 10.0
    for _ in range(8):
        theta = (low + high) / 2
        low, high = (theta, high) if minimum(net, theta=theta, max_swaps=4).lower > 4 else (low, theta)
    return net, low, proven(net, low)


@pytest.fixture(scope="module")
def large():
    """One whose proof has all kinds of nodes but `empty`."""
    for seed in range(60, 100):
        net, theta, proof = tight(seed)
        if all(f"'{kind}'" in str(proof) for kind in ("drop", "position", "phase")):
            return net, theta, proof
    raise AssertionError("no such net")


def test_tight_proofs_with_phases():
    """Thresholds at which solvers have to split: the checker follows them, and refuses what is above."""
    for seed in range(60, 64):
        net, theta, proof = tight(seed)
        assert check(net, proof, 4, theta) > 10
        assert refused(net, proof, 4, theta + 0.5)


def nodes(proof, key):
    """All objects with a key."""
    left, found = [proof], []
    while left:
        value = left.pop()
        if isinstance(value, dict):
            if key in value:
                found.append(value)
            left += value.values()
        elif isinstance(value, list):
            left += value
    return found


def test_a_large_tree(large):
    net, theta, proof = large
    assert check(net, proof, 4, theta) > 10
    assert refused(net, proof, 5, theta)


FORGED = {
    "a word is left out": lambda proof: nodes(proof, "words")[0]["words"].pop(),
    "a word twice": lambda proof: nodes(proof, "words")[0]["words"].append(nodes(proof, "words")[0]["words"][0]),
    "a word of another position": lambda proof: nodes(proof, "words")[0]["words"][0].__setitem__(0, 10**6),
    "a phase is empty": lambda proof: nodes(proof, "phase")[0].update(on={"empty": True}),
    "a phase is missing": lambda proof: nodes(proof, "phase")[0].pop("off"),
    "an unknown unit": lambda proof: nodes(proof, "phase")[0].update(phase=99),
    "all are dropped": lambda proof: nodes(proof, "drop")[0].update(drop=list(range(70))),
    "not a candidate": lambda proof: nodes(proof, "drop")[0].update(drop=["3"]),
    "no shares": lambda proof: nodes(proof, "drop")[0]["bound"].update(shares=[]),
    "a unit by another name": lambda proof: nodes(proof, "drop")[0]["bound"]["slopes"].update({"01": 0.0}),
    "too few shares": lambda proof: nodes(proof, "shares")[0]["shares"].update({"0": [1.0]}),
    "too many digits": lambda proof: nodes(proof, "slopes")[0]["slopes"].update({"0": 10**400}),
    "not a number": lambda proof: nodes(proof, "slopes")[0]["slopes"].update({"0": float("nan")}),
    "true as a number": lambda proof: nodes(proof, "slopes")[0].update(slopes={"0": True}),
    "all points": lambda proof: proof["rivals"][0].update(tree={"points": 4}),
    "nothing": lambda proof: proof["rivals"][0].update(tree={}),
    "a list": lambda proof: proof["rivals"][0].update(tree=[]),
    "a rival is missing": lambda proof: proof["rivals"].pop(),
    "fewer swaps": lambda proof: proof["rivals"][0].update(swaps=3),
    "swaps by name": lambda proof: proof["rivals"][0].update(swaps="4"),
    "a lower bound than needed": lambda proof: [node.update(shares={}) for node in nodes(proof, "shares")],
    "a position by name": lambda proof: nodes(proof, "position")[0].update(position="0"),
    "words as an object": lambda proof: nodes(proof, "position")[0].update(words={}),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_forged_trees_are_refused(large, name):
    net, theta, proof = large
    forged = through_json(proof)
    FORGED[name](forged)
    with pytest.raises(EvidenceError, match=r"^expected "):
        check(net, forged, 4, theta)


def test_a_deeply_nested_tree_is_refused_like_any_other(large):
    net, theta, _ = large
    node = {"points": 2}
    for _ in range(50_000):
        node = {"phase": 0, "off": {"empty": True}, "on": node}
    with pytest.raises(EvidenceError, match="expected"):
        check(net, {"rivals": [{"swaps": 4, "tree": node}] * len(net.bias)}, 4, theta)


def test_a_bound_may_miss_by_no_more_than_the_tolerance(large):
    net, _, _ = large
    least = least_margins(net, 1)[1]
    proof = {"rivals": [{"swaps": 1, "tree": {"points": 1}}] * len(net.bias)}
    assert check(net, proof, 1, least + TOLERANCE / 2) == len(net.bias)
    assert refused(net, proof, 1, least + 2 * TOLERANCE)


@pytest.mark.parametrize("value", [0.0, 1e-10, -1e-10, 1e-16])
def test_a_unit_at_zero_has_a_phase(value):
    """Where a unit is 0, neither of its phases is empty: or a tree of two empty cases would prove anything."""
    net = Perceptron(np.array([value]), np.zeros((1, 1)), np.zeros(1, np.int64), np.zeros((2, 1)), np.array([0.0, 9.0]))
    tree = {"phase": 0, "off": {"empty": True}, "on": {"empty": True}}
    with pytest.raises(EvidenceError, match="expected a region without points, got one that may have some"):
        check_perceptron(net, 0, [1], {"rivals": [{"swaps": 1, "tree": tree}]}, 1, 0.0)


def test_a_point_at_zero_is_in_no_way_left_out():
    """Nor where the regions that share the point are wider on the other side."""
    change, weight = np.array([[-3.0, 5.0], [3.0, 5.0]]), np.array([[0.0, 3.0], [0.0, 0.0]])
    net = Perceptron(np.array([5e-10, 0.0]), change, np.array([0, 1]), weight, np.array([0.0, 9.0]))
    empty = {"empty": True}
    off = {"position": 0, "stays": empty, "words": [[0, {"points": 0}]]}
    on = {"position": 1, "stays": empty, "words": [[1, {"points": 0}]]}
    tree = {"phase": 0, "off": off, "on": on}
    with pytest.raises(EvidenceError, match="expected a region without points, got one that may have some"):
        check_perceptron(net, 0, [1], {"rivals": [{"swaps": 1, "tree": tree}]}, 1, 0.0)
