"""The parts of the exact solver of convolutions, each against its definition on every set of a small net."""

import numpy as np
import pytest
from exact_cnn_cases import random_net, sets
from exact_cnn_check import check_proof

from lexproof.certify.exact.cnn_branching import branch
from lexproof.certify.exact.cnn_cells import reduce
from lexproof.certify.exact.cnn_net import WindowedNet
from lexproof.certify.exact.cnn_rival import Rival
from lexproof.certify.exact.cnn_solver import decide
from lexproof.errors import EvidenceError


def region(net: WindowedNet, rng: np.random.Generator, most: int) -> tuple[list[int], list[int]]:
    """Fixed swaps and free candidates at other positions."""
    fixed: list[int] = []
    for c in rng.permutation(net.candidates)[: int(rng.integers(0, most + 1))].tolist():
        if net.position[c] not in net.position[fixed]:
            fixed.append(c)
    others = [c for c in range(net.candidates) if net.position[c] not in net.position[fixed] and rng.random() < 0.8]
    return fixed, others


def mask(net: WindowedNet, free: list[list[int]]) -> np.ndarray:
    """The free candidates of each region."""
    found = np.zeros((len(free), net.candidates), np.bool_)
    for row, chosen in zip(found, free, strict=True):
        row[chosen] = True
    return found


def test_the_reduced_net_is_the_same_function_within_its_budget() -> None:
    dropped = 0
    for seed in range(300):
        net = random_net(np.random.default_rng(seed))
        for budget in range(5):
            cells = reduce(net, budget)
            rivals = [Rival.of(cells, number) for number in range(len(net.bias))]
            for size in range(budget + 1):
                exactly = [chosen for chosen in sets(net, size) if len(chosen) == size]
                paths = np.array(exactly, np.int64).reshape(len(exactly), size)
                got = np.column_stack([rival.margins(rival.values(paths)) for rival in rivals])
                np.testing.assert_allclose(got, net.margins(exactly), atol=1e-12)
            dropped += net.z.size - len(cells.unit)
    assert dropped > 1000


def test_single_swaps_are_exact_on_any_region() -> None:
    for seed in range(300):
        rng = np.random.default_rng(seed)
        net = random_net(rng)
        cells = reduce(net, 4)
        regions = [region(net, rng, 3) for _ in range(4)]
        depth = min(len(fixed) for fixed, _ in regions)
        paths = np.array([fixed[:depth] for fixed, _ in regions], np.int64).reshape(4, depth)
        row = np.repeat(np.arange(4), [len(free) for _, free in regions])
        candidate = np.array([c for _, part in regions for c in part], np.int64)
        expected = net.margins([(*paths[b], c) for b, c in zip(row, candidate, strict=True)])
        for number in range(len(net.bias)):
            rival = Rival.of(cells, number)
            values = rival.values(paths)
            got = rival.margins(values)[row] + rival.singles(values, row, candidate)
            np.testing.assert_allclose(got, expected[:, number], atol=1e-12)


def test_the_bound_is_below_the_margin_of_every_set_of_its_region() -> None:
    tight = checked = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        net = random_net(rng)
        fixed, others = region(net, rng, 2)
        for budget in range(1, 5):
            cells = reduce(net, len(fixed) + budget)
            chosen = sets(net, budget, others)
            margins = net.margins([(*fixed, *more) for more in chosen])
            for number in range(len(net.bias)):
                rival = Rival.of(cells, number)
                values = rival.values(np.array([fixed], np.int64).reshape(1, -1))
                gain = rival.gains(values, mask(net, [others]), budget)[0]
                assert (np.isfinite(gain) == mask(net, [others])[0]).all()
                bounds = np.array([rival.margins(values)[0] + gain[list(more)].sum() for more in chosen])
                assert (bounds <= margins[:, number] + 1e-12).all()
                tight += int((margins[:, number] - bounds < 1e-9).sum())
                checked += len(bounds)
    assert 0.05 < tight / checked < 0.9


def test_regions_of_a_batch_do_not_touch_each_other() -> None:
    for seed in range(100):
        rng = np.random.default_rng(seed)
        net = random_net(rng)
        rival = Rival.of(reduce(net, 3), 0)
        parts = [region(net, rng, 1) for _ in range(5)]
        parts = [part for part in parts if len(part[0]) == len(parts[0][0])]
        paths = np.array([fixed for fixed, _ in parts], np.int64).reshape(len(parts), -1)
        together = rival.gains(rival.values(paths), mask(net, [free for _, free in parts]), 3)
        for b, (_, free) in enumerate(parts):
            alone = rival.gains(rival.values(paths[b : b + 1]), mask(net, [free]), 3)
            np.testing.assert_array_equal(together[b], alone[0])


def test_children_cover_every_set_that_the_bound_does_not_prove() -> None:
    for seed in range(400):
        rng = np.random.default_rng(seed)
        net = random_net(rng)
        budget = int(rng.integers(2, 5))
        gain = rng.normal(-0.5, 1, (2, net.candidates)).round(int(rng.integers(0, 3)))
        gain[rng.random(gain.shape) < 0.1] = np.inf
        base, limit = rng.random(2) * 3, 0.5
        children = branch(base, gain, net.position, budget, limit)
        for b in range(2):
            mine = np.flatnonzero(children.row == b)
            for chosen in sets(net, budget, np.flatnonzero(np.isfinite(gain[b])).tolist()):
                holds = [
                    int(children.candidate[m]) in chosen
                    and all(children.free[m, c] for c in chosen if c != children.candidate[m])
                    for m in mine
                ]
                assert sum(holds) <= 1
                if chosen and not any(holds):
                    assert base[b] + gain[b, list(chosen)].sum() > limit


def cut(tree: list, rng: np.random.Generator) -> bool:  # type: ignore[type-arg]
    """Take a random child out of a tree."""
    if not tree:
        return False
    if rng.random() < 0.5 and cut(tree[int(rng.integers(len(tree)))][1], rng):
        return True
    del tree[int(rng.integers(len(tree)))]
    return True


def test_recorded_proofs_check_and_broken_ones_do_not() -> None:
    proofs = failed = damaged = 0
    for seed in range(3000, 3300):
        rng = np.random.default_rng(seed)
        net = random_net(rng)
        swaps = int(rng.integers(0, 5))
        theta = float(net.margins(sets(net, swaps)).min()) - 1e-3
        proof = decide(net, swaps, theta=theta, time_limit=1e9, record=True).proof
        assert check_proof(net, proof, theta) == min(swaps, net.positions)
        proofs += 1
        with pytest.raises(EvidenceError, match=r"expected a (bound|margin) above"):
            check_proof(net, proof, theta + 2e-3)
        if cut(proof["rivals"][int(rng.integers(len(net.bias)))], rng):
            damaged += 1
            try:
                check_proof(net, proof, theta)
            except EvidenceError:
                failed += 1
    assert proofs == 300
    assert failed > 0.8 * damaged > 20  # a child that was proven anyway may be missing


def test_a_proof_names_free_candidates_and_every_rival() -> None:
    net = random_net(np.random.default_rng(1))
    trees = [[] for _ in net.bias]
    with pytest.raises(EvidenceError, match="expected a tree for each of"):
        check_proof(net, {"radius": 1, "rivals": []}, -1e9)
    with pytest.raises(EvidenceError, match="expected a free candidate below"):
        check_proof(net, {"radius": 2, "rivals": [[[0, []], [0, []]], *trees[1:]]}, -1e9)


def test_past_max_record_there_is_no_proof() -> None:
    for seed in range(3000, 3300):
        net = random_net(np.random.default_rng(seed))
        theta = float(net.margins(sets(net, 3)).min()) - 1e-3
        whole = decide(net, 3, theta=theta, time_limit=1e9, record=True)
        if whole.nodes > 5:
            assert whole.proof is not None
            assert decide(net, 3, theta=theta, time_limit=1e9, record=True, max_record=4).proof is None
            assert decide(net, 3, theta=theta, time_limit=1e9).proof is None
            return
    pytest.fail("expected a proof of more than 5 regions")
