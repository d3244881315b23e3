"""The additive bound over ReLUs against full enumeration of its region."""

import numpy as np
import pytest
from exact_additive_cases import points, small_net

from lexproof.certify.exact.additive import AdditiveNet, Rival
from lexproof.certify.exact.ascent import Pace, ascend
from lexproof.certify.exact.region import Columns, Region
from lexproof.certify.exact.relu_hull import HullBound


def cases(count, seed):
    """Regions of random networks: some swaps fixed, some candidates gone, some phases fixed, budgets too large too."""
    rng = np.random.default_rng(seed)
    while count:
        net = small_net(rng, positions=5)
        region = Region.whole(net, int(rng.integers(1, 8)))
        free = np.flatnonzero(rng.random(len(net.position)) < 0.8)
        if rng.random() < 0.5 and len(net.position):
            first = int(rng.integers(len(net.position)))
            free = free[net.position[free] != net.position[first]]
            region = region.swapping(net, first, free)
        region = region.keeping(free)
        for unit in np.flatnonzero(rng.random(len(net.z0)) < 0.2):
            region = region.phased(int(unit), int(rng.choice([-1, 1])))
        if len(free) and region.budget:
            count -= 1
            yield rng, net, region


def inside(net, region):
    """The free swaps of the points of a region, and their hidden layers; phases are heeded."""
    for swaps in points(net, region.free, region.budget):
        hidden = region.hidden + net.change[list(swaps)].sum(axis=0)
        if (hidden * region.phase >= 0).all():
            yield swaps, hidden


def unreachable(net, region):
    """A rival with theta just below the least margin of the region: neither a witness nor a proof ends an ascent."""
    least = min(float(Rival.of(net, 0, 0.0).margin(hidden)) for _, hidden in inside(net, region))
    return Rival.of(net, 0, least - 1e-9)


def random_dual(rng, hull):
    dual = hull.start()
    shares = (
        rng.random(dual.shares.shape) if rng.random() < 0.7 else rng.integers(0, 2, dual.shares.shape).astype(float)
    )
    width = 1 + np.abs(hull.rival.weight[hull.sloped])
    slopes = np.clip(rng.normal(size=len(dual.slopes)) * width, hull.least, hull.most)
    return dual._replace(shares=shares, slopes=slopes)


def test_the_bound_is_below_the_margin_at_every_point_whatever_the_dual_values():
    met = 0
    for rng, net, region in cases(400, seed=1):
        hull = HullBound(Rival.of(net, 0, 0.0), region)
        everything = list(inside(net, region))
        assert not (hull.is_empty and everything)
        for dual in (hull.start(), random_dual(rng, hull), random_dual(rng, hull)):
            bound = hull.at(dual)
            gain = dict(zip(hull.columns.free.tolist(), bound.gains, strict=True))
            base = bound.value - np.sort(bound.best)[: hull.budget].sum()
            for swaps, hidden in everything:
                margin = hull.rival.margin(hidden)
                assert base + sum(gain[c] for c in swaps) <= margin + 1e-9
                assert bound.value <= margin + 1e-9
                met += abs(bound.value - margin) < 1e-9
    assert met > 50  # the bound is often tight


def test_ranges_are_those_of_the_points():
    for _, net, region in cases(200, seed=2):
        hull = HullBound(Rival.of(net, 0, 0.0), region)
        hidden = [region.hidden + net.change[list(s)].sum(axis=0) for s in points(net, region.free, region.budget)]
        np.testing.assert_allclose(hull.low, np.min(hidden, axis=0), atol=1e-9)
        np.testing.assert_allclose(hull.high, np.max(hidden, axis=0), atol=1e-9)


def test_a_candidate_that_is_left_out_is_in_no_adversarial_point():
    left_out = 0
    for rng, net, region in cases(400, seed=3):
        theta = float(rng.normal())
        hull = HullBound(Rival.of(net, 0, theta), region)
        for dual in (hull.start(), random_dual(rng, hull)):
            bound = hull.at(dual)
            gone = set(hull.columns.free[~hull.survivors(bound)].tolist())
            left_out += len(gone)
            assert bound.value <= theta or len(gone) == len(region.free)
            for swaps, hidden in inside(net, region):
                assert not gone.intersection(swaps) or hull.rival.margin(hidden) > theta - 1e-9
    assert left_out > 500


def test_ascent_never_lowers_the_bound_and_reports_only_real_witnesses():
    raised = witnesses = 0
    for rng, net, region in cases(300, seed=4):
        theta = float(rng.normal())
        hull = HullBound(Rival.of(net, 0, theta), region)
        if hull.is_empty:
            continue
        start = hull.at(hull.start()).value
        found = ascend(hull, hull.start(), Pace(30, 0.2))
        assert found.bound.value >= start
        assert found.bound.value == pytest.approx(hull.at(found.dual).value)
        raised += found.bound.value > start + 1e-6
        if found.witness is not None:
            witnesses += 1
            assert len(found.witness) <= region.budget + len(region.fixed)
            assert net.is_adversarial(found.witness, theta)
    assert raised > 10 and witnesses > 20


def test_dual_values_of_a_larger_region_are_taken_over():
    better = 0
    for _, net, region in cases(200, seed=5):
        if len(region.free) < 3 or region.phase.any():
            continue
        whole = HullBound(unreachable(net, region), region)
        found = ascend(whole, whole.start(), Pace(40, 0.2))
        # fewer candidates leave every line valid, so the bound cannot fall
        part = HullBound(whole.rival, region.keeping(region.free[1:]))
        warm = part.at(part.warm(found.dual)).value
        assert warm >= found.bound.value - 1e-9
        better += warm > part.at(part.start()).value + 1e-9
    assert better > 5


def test_one_bent_unit_is_bounded_exactly_where_the_triangle_is_not():
    looser = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        change = rng.normal(size=(8, 2))
        net = AdditiveNet(np.array([0.0, 20.0]), change, np.arange(8), np.array([[-1.0, 1.0]]), np.array([-20.0]))
        region = Region.whole(net, 3)
        hull = HullBound(unreachable(net, region), region)
        assert hull.bent.tolist() == [0]
        best = ascend(hull, hull.start(), Pace(300, 0.2)).bound.value
        assert best == pytest.approx(hull.rival.theta, abs=0.02)
        looser += hull.at(hull.start()).value < hull.rival.theta - 0.2
    assert looser > 5


def test_columns_hold_every_candidate_once_and_find_the_greatest_of_each_position():
    rng = np.random.default_rng(6)
    for _ in range(100):
        position = rng.integers(0, 6, rng.integers(1, 15))
        free = np.sort(rng.permutation(len(position))[: rng.integers(1, len(position) + 1)])
        columns = Columns.of(position, free)
        assert sorted(columns.free.tolist()) == free.tolist()
        values = rng.normal(size=(3, len(free)))
        greatest = columns.most(values)
        assert greatest.shape == (3, len(set(position[free].tolist())))
        for number, at in enumerate(columns.place[: columns.places]):
            assert at == number
            same = columns.place == number
            assert len(set(position[columns.free[same]].tolist())) == 1
            np.testing.assert_allclose(greatest[:, number], np.maximum(values[:, same].max(axis=1), 0.0))
