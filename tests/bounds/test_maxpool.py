"""Planes of the max over positions."""

import pytest
import torch
from rule_checks import check_rule, random_points, uniform
from torch import Tensor

from lexproof.bounds.graph import Box, inner
from lexproof.bounds.maxpool import MaxPool

ROWS, FEATURES = 3, 6


def boxes(seed: int, positions: int) -> Box:
    """Boxes of many sizes; a row of points, a feature with all boxes equal, one with a box above all others."""
    generator = torch.Generator().manual_seed(seed)
    center = uniform((ROWS, positions, FEATURES), -2, 2, generator)
    size = 10 ** uniform((ROWS, positions, FEATURES), -6, 0.7, generator)
    size[0] = 0.0
    center[1, :, 1], size[1, :, 1] = 0.5, 1.0
    center[2, 0, 2], size[2, 0, 2] = 99.0, 1.0
    center[1, :, 3] = -99.0  # far below 0
    center[2, :, 4], size[2, :, 4] = 0.0, 0.0
    return Box(center - size, center + size)


def corners(box: Box) -> list[Tensor]:
    """One position at its upper end and all others at their lower ones, and the other way round."""
    found = []
    for t in range(box.low.shape[1]):
        for one, others in ((box.high, box.low), (box.low, box.high)):
            point = others.clone()
            point[:, t] = one[:, t]
            found.append(point)
    return found


@pytest.mark.parametrize("positions", [1, 2, 3, 7])
@pytest.mark.parametrize("rectified", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_planes_hold(seed: int, rectified: bool, positions: int) -> None:
    box = boxes(seed, positions)
    level = box.low.amax(1, keepdim=True)
    # all positions as near to one level as their boxes allow: there the plane above is farthest from steps
    levels = [(level + share).clamp(box.low, box.high) for share in (-0.5, 0.0, 0.1, 1.0)]
    random = random_points(box, 20, torch.Generator().manual_seed(seed))
    check_rule(MaxPool(rectified), [box], [(point,) for point in [*random, *corners(box), *levels]])


@pytest.mark.parametrize("rectified", [False, True])
def test_the_value_is_the_largest(rectified: bool) -> None:
    given = torch.tensor([[[-1.0, 3.0], [-2.0, 1.0]]], dtype=torch.float64)
    assert MaxPool(rectified).value(given).tolist() == [[0.0 if rectified else -1.0, 3.0]]
    found = MaxPool(rectified).interval(Box(given, given + 1.5))
    assert found.low.tolist() == [[0.0 if rectified else -1.0, 3.0]]
    assert found.high.tolist() == [[0.5, 4.5]]


def test_a_position_above_all_others_is_taken_exactly() -> None:
    low, high = torch.zeros(1, 3, 1, dtype=torch.float64), torch.ones(1, 3, 1, dtype=torch.float64)
    low[0, 1], high[0, 1] = 5.0, 8.0
    given = (low + high) / 2
    for rectified in (False, True):
        for sign in (1.0, -1.0):
            form = torch.full((1, 1, 1), sign, dtype=torch.float64)
            (part,), constant = MaxPool(rectified).relax(Box(low, high)).pull(form)
            assert (inner(part, given) + constant).item() == sign * 6.5


def test_max_pools_that_never_fire_are_0() -> None:
    low = torch.full((1, 2, 1), -3.0, dtype=torch.float64)
    for sign in (1.0, -1.0):
        form = torch.full((1, 1, 1), sign, dtype=torch.float64)
        (part,), constant = MaxPool(rectified=True).relax(Box(low, low + 1)).pull(form)
        assert not part.any()
        assert constant.item() == 0.0


def test_only_positions_that_may_be_largest_are_unsettled() -> None:
    low = torch.tensor([[[0.0], [2.0], [-1.0], [4.0]]], dtype=torch.float64)
    high = torch.tensor([[[5.0], [3.0], [4.5], [4.0]]], dtype=torch.float64)
    assert MaxPool().unsettled(Box(low, high))[0][0, :, 0].tolist() == [True, False, True, False]
    assert not MaxPool(rectified=True).unsettled(Box(low - 9, high - 9))[0].any()


def test_slopes_that_are_all_0_are_equal_weights() -> None:
    box = boxes(0, 3)
    slopes = torch.zeros(ROWS, 1, 4, FEATURES, dtype=torch.float64)
    (part,), _ = MaxPool().relax(box, slopes=slopes).pull(torch.ones(ROWS, 1, FEATURES, dtype=torch.float64))
    torch.testing.assert_close(part, torch.full_like(part, 1 / 3))


def test_a_floor_is_one_more_position() -> None:
    """In value, box, unsettled positions and planes: as a position that holds the floor."""
    for seed in range(3):
        box, generator = boxes(seed, 3), torch.Generator().manual_seed(seed)
        floor = uniform((ROWS, FEATURES), -2, 2, generator)
        floor[1, 0], floor[2, 1] = 99.0, -99.0
        with_floor = MaxPool(floor=floor)
        wide = Box(*(torch.cat([end, floor[:, None]], 1) for end in box))
        for ours, theirs in zip(with_floor.interval(box), MaxPool().interval(wide), strict=True):
            assert torch.equal(ours, theirs)
        assert torch.equal(with_floor.unsettled(box)[0], MaxPool().unsettled(wide)[0][:, :3])
        form = uniform((ROWS, 4, FEATURES), -1, 1, generator)
        (ours,), constant = with_floor.relax(box).pull(form)
        (theirs,), beside = MaxPool().relax(wide).pull(form)
        torch.testing.assert_close(ours, theirs[:, :, :3])
        torch.testing.assert_close(constant, beside + inner(theirs[:, :, 3], floor))


@pytest.mark.parametrize("rectified", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_planes_with_a_floor_hold(seed: int, rectified: bool) -> None:
    box, generator = boxes(seed, 4), torch.Generator().manual_seed(seed)
    floor = torch.lerp(box.low.amin(1), box.high.amax(1), uniform((ROWS, FEATURES), -0.2, 1.2, generator))
    # where the plane above and the function part most: at the floor, as far as boxes allow
    levels = [(floor[:, None] + step).clamp(box.low, box.high) for step in (-0.1, 0.0, 0.1)]
    points = [*random_points(box, 20, generator), *corners(box), *levels]
    check_rule(MaxPool(rectified, floor), [box], [(point,) for point in points])


def test_one_position_above_a_floor_lies_below_its_chord() -> None:
    low, high = torch.full((1, 1, 1), -1.0).double(), torch.full((1, 1, 1), 3.0).double()
    pool = MaxPool(floor=torch.ones(1, 1).double())
    (part,), constant = pool.relax(Box(low, high)).pull(torch.full((1, 1, 1), -1.0).double())
    assert (part.item(), constant.item()) == (-0.5, -1.5)


def test_the_planes_of_cnn_cert_are_among_those_that_may_be_chosen() -> None:
    """The g for which the slopes above sum to 1, and these slopes as weights below."""
    low = torch.tensor([[[0.0], [0.5], [-1.0]]], dtype=torch.float64)
    high = torch.tensor([[[2.0], [3.0], [2.5]]], dtype=torch.float64)
    width = high - low
    g = ((high / width).sum(1) - 1) / (1 / width).sum(1)
    weights = (high - g[:, None]) / width
    share = (g - low.amax(1)) / (high.amax(1) - low.amax(1))
    slopes = torch.cat([weights, share[:, None]], 1)[:, None]
    planes = MaxPool().relax(Box(low, high), slopes=slopes)
    torch.testing.assert_close(planes.above[:, 0], weights)
    torch.testing.assert_close(planes.below[:, 0], weights)
    torch.testing.assert_close(planes.above_at[:, 0], g - (weights * low).sum(1))


def test_floors_follow_their_rows() -> None:
    floor = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)
    chosen = MaxPool(floor=floor).of_rows(torch.tensor([2, 0]))
    assert chosen.floor is not None
    assert chosen.floor.tolist() == [[3.0], [1.0]]
    repeated = MaxPool(floor=floor[:1]).repeated(3)
    assert repeated.floor is not None
    assert repeated.floor.tolist() == [[1.0]] * 3
    assert MaxPool(True).repeated(4).rectified
