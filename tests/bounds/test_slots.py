"""Operations over slots: rules at points of their boxes, exact ranges, single units, rows of their own."""

import math

import pytest
import torch
from rule_checks import check_rule, random_points, uniform
from swap_cases import normal
from torch import Tensor

from lexproof.bounds.ball import NORMS, BallRegion
from lexproof.bounds.graph import Box, LinearOp
from lexproof.bounds.slots import MaxOfSlots, OpenWords, SumOfSlots

ROWS, WORDS, DIM, OUT, IN = 3, 3, 2, 4, 5


def open_words(seed: int, own_weights: bool) -> OpenWords:
    generator = torch.Generator().manual_seed(seed)
    weight = normal(generator, *([ROWS] if own_weights else []), OUT, 2, DIM)
    weight[..., 0, :, :] = 0.0  # a unit that no word moves
    return OpenWords(weight, normal(generator, ROWS, OUT), 1, WORDS)


def sum_of_slots(seed: int, own_weights: bool) -> SumOfSlots:
    generator = torch.Generator().manual_seed(seed)
    weights = tuple(normal(generator, *([ROWS] if own_weights else []), OUT, IN) for _ in range(2))
    return SumOfSlots(weights, normal(generator, ROWS, OUT))


def boxes(seed: int, count: int, *shape: int) -> list[Box]:
    generator = torch.Generator().manual_seed(seed)
    found = []
    for _ in range(count):
        center, size = normal(generator, ROWS, *shape), 10 ** uniform((ROWS, *shape), -6, 0.7, generator)
        size[0] = 0.0
        found.append(Box(center - size, center + size))
    return found


def joint_points(given: list[Box], seed: int) -> list[tuple[Tensor, ...]]:
    generator = torch.Generator().manual_seed(seed)
    return list(zip(*(random_points(box, 20, generator) for box in given), strict=True))


@pytest.mark.parametrize("own_weights", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_rules_of_sums_hold(seed: int, own_weights: bool) -> None:
    words, slots = boxes(seed, 1, WORDS, DIM), boxes(seed, 2, IN)
    check_rule(open_words(seed, own_weights), words, joint_points(words, seed))
    check_rule(sum_of_slots(seed, own_weights), slots, joint_points(slots, seed))


@pytest.mark.parametrize("own_weights", [False, True])
def test_sums_are_what_they_say(own_weights: bool) -> None:
    generator = torch.Generator().manual_seed(9)
    given, first = normal(generator, ROWS, WORDS, DIM), open_words(1, own_weights)
    slots, second = (normal(generator, ROWS, IN), normal(generator, ROWS, IN)), sum_of_slots(1, own_weights)
    for row in range(ROWS):
        weight = first.weight[row] if own_weights else first.weight
        wanted = first.base[row] + torch.einsum("fkd,kd->f", weight, given[row, 1:])
        torch.testing.assert_close(first.value(given)[row], wanted)
        weights = [own[row] if own_weights else own for own in second.weights]
        wanted = second.base[row] + weights[0] @ slots[0][row] + weights[1] @ slots[1][row]
        torch.testing.assert_close(second.value(*slots)[row], wanted)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("own_weights", [False, True])
def test_the_range_of_the_first_layer_is_that_of_its_forms(own_weights: bool, norm: float) -> None:
    generator = torch.Generator().manual_seed(4)
    center = torch.rand(ROWS, WORDS, DIM, generator=generator, dtype=torch.float64)
    radius = torch.tensor([0.0, 0.3, 5.0], dtype=torch.float64)
    ball = BallRegion(center, radius, norm, torch.zeros_like(center), torch.ones_like(center))
    op = open_words(4, own_weights)
    found = op.budgeted(ball)
    forms = op.pull(torch.eye(OUT, dtype=torch.float64).expand(ROWS, -1, -1))
    torch.testing.assert_close(found.low, ball.minimum(forms.forms[0]) + forms.constant)
    torch.testing.assert_close(found.high, forms.constant - ball.minimum(-forms.forms[0]))
    assert torch.equal(found.low[:, 0], op.base[:, 0])
    torch.testing.assert_close(found.low[0], op.value(center)[0])


@pytest.mark.parametrize("own_weights", [False, True])
def test_single_units_are_pulled_as_forms_are(own_weights: bool) -> None:
    op = sum_of_slots(2, own_weights)
    units, signs = (
        torch.tensor([[0, 3], [2, 1], [1, 1]]),
        torch.tensor([[1.0, -1.0], [-1.0, 1.0], [1.0, -1.0]]).double(),
    )
    form = torch.zeros(ROWS, 2, OUT, dtype=torch.float64).scatter(2, units[:, :, None], signs[:, :, None])
    for found, wanted in zip((*op.pull_units(units, signs).forms,), op.pull(form).forms, strict=True):
        torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(op.pull_units(units, signs).constant, op.pull(form).constant)


@pytest.mark.parametrize("own_weights", [False, True])
def test_pulled_forms_are_added_to_sums_in_place(own_weights: bool) -> None:
    generator = torch.Generator().manual_seed(6)
    op, form = sum_of_slots(3, own_weights), normal(generator, ROWS, 4, OUT)
    start = normal(generator, ROWS, 4, IN)
    plain, kept = op.pull(form), start.clone()
    onto = op.pull_onto(form, [start, None])
    torch.testing.assert_close(onto.forms[0], kept + plain.forms[0])
    torch.testing.assert_close(onto.forms[1], plain.forms[1])
    assert onto.forms[0].data_ptr() == start.data_ptr()


@pytest.mark.parametrize("own_weights", [False, True])
def test_rows_and_units_of_an_operation_are_its_own(own_weights: bool) -> None:
    generator = torch.Generator().manual_seed(7)
    rows = torch.tensor([2, 0, 2])
    given, slots = normal(generator, ROWS, WORDS, DIM), tuple(normal(generator, ROWS, IN) for _ in range(2))
    cases: list[tuple[LinearOp, tuple[Tensor, ...]]] = [
        (open_words(5, own_weights), (given,)),
        (sum_of_slots(5, own_weights), slots),
    ]
    for op, inputs in cases:
        chosen = op.of_rows(rows)  # type: ignore[attr-defined]
        torch.testing.assert_close(chosen.value(*(own[rows] for own in inputs)), op.value(*inputs)[rows])
    units = torch.tensor([[0, 2], [3, 3], [1, 0]])
    first = open_words(5, own_weights)
    torch.testing.assert_close(first.of_units(units).value(given), first.value(given).gather(1, units))


def test_the_max_of_slots_is_max_pool_with_a_floor() -> None:
    for seed in range(3):
        given = boxes(seed, 4, 6)
        floor = normal(torch.Generator().manual_seed(seed), ROWS, 6)
        floor[1] = 99.0  # above all
        floor[2, :3] = -99.0  # below all
        op = MaxOfSlots(floor)
        points = joint_points(given, seed)
        check_rule(op, given, points)
        for point in points[:5]:
            torch.testing.assert_close(op.value(*point), torch.maximum(torch.stack(point).amax(0), floor))
        assert not any(mask[1].any() for mask in op.unsettled(*given))
        rows = torch.tensor([2, 1])
        assert torch.equal(op.of_rows(rows).floor, floor[rows])


def test_a_slot_that_is_not_a_number_may_be_the_largest() -> None:
    bad = Box(torch.full((1, 1), math.nan).double(), torch.full((1, 1), math.nan).double())
    fine = Box(torch.zeros(1, 1).double(), torch.ones(1, 1).double())
    masks = MaxOfSlots(torch.zeros(1, 1).double()).unsettled(bad, fine)
    assert masks[0].all()
