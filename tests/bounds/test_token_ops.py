"""Choices of tokens and products with constants: exact forms, boxes that hold, and the same as written out."""

from __future__ import annotations

import pytest
import torch
from rule_checks import check_rule, random_points
from swap_cases import normal

from lexproof.bounds.graph import Box, LinearOp, inner
from lexproof.bounds.token_ops import Chosen, JoinTokens, Stretched, TimesConstant

ROWS, COUNT, WIDTH = 3, 2, 4


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


AT = torch.tensor([[1, 0, 1, 0], [0, 0, 0, 0], [1, 1, 0, 1]])  # tokens that are read twice, or never

CASES: list[tuple[str, LinearOp, list[tuple[int, ...]]]] = [
    ("tokens", Chosen(AT, COUNT), [(COUNT, WIDTH)]),
    ("tokens of heads", Chosen(AT, COUNT), [(2, COUNT, WIDTH)]),
    ("join", JoinTokens((COUNT, 3)), [(COUNT, WIDTH), (3, WIDTH)]),
    ("join of heads", JoinTokens((3, COUNT)), [(2, 3, WIDTH), (2, COUNT, WIDTH)]),
    ("product", TimesConstant(normal(generator(2), ROWS, WIDTH, 5)), [(COUNT, WIDTH)]),
    ("product of heads", TimesConstant(normal(generator(3), ROWS, 2, WIDTH, 5)), [(2, COUNT, WIDTH)]),
    ("turned product", TimesConstant(normal(generator(3), ROWS, 2, WIDTH, 5), turned=True), [(2, COUNT, WIDTH)]),
    ("product with nothing", TimesConstant(normal(generator(4), ROWS, 2, WIDTH, 0)), [(2, COUNT, WIDTH)]),
    ("product of nothing", TimesConstant(normal(generator(5), ROWS, 2, 0, 5)), [(2, COUNT, 0)]),
    ("stretched", Stretched(normal(generator(2), ROWS, COUNT, WIDTH)), [(COUNT, 1)]),
    ("stretched of heads", Stretched(normal(generator(2), ROWS, 2, COUNT, WIDTH)), [(2, COUNT, 1)]),
]


@pytest.mark.parametrize(("op", "shapes"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_forms_and_boxes_hold_and_forms_lose_nothing(op: LinearOp, shapes: list[tuple[int, ...]]) -> None:
    boxes = []
    for number, shape in enumerate(shapes):
        middle, radius = normal(generator(6 + number), ROWS, *shape), normal(generator(7 + number), ROWS, *shape).abs()
        radius[0] = 0.0  # a row that does not move
        boxes.append(Box(middle - radius, middle + radius))
    points = list(zip(*(random_points(box, 5, generator(8)) for box in boxes), strict=True))
    check_rule(op, boxes, points)
    form = normal(generator(9), ROWS, 3, *op.value(*points[0]).shape[1:])
    for point in points:
        forms, constant = op.pull(form)
        found = constant + sum(inner(part, given) for part, given in zip(forms, point, strict=True))
        torch.testing.assert_close(found, inner(form, op.value(*point)))
    assert torch.equal(op.interval(*boxes).low[0], op.interval(*boxes).high[0])


def test_a_box_of_chosen_tokens_is_exact() -> None:
    low, high = normal(generator(1), ROWS, 2, COUNT, WIDTH), normal(generator(2), ROWS, 2, COUNT, WIDTH) + 9.0
    found = Chosen(AT, COUNT).interval(Box(low, high))
    assert torch.equal(found.low[0, :, 0], low[0, :, 1])
    assert torch.equal(found.high[1, :, 3], high[1, :, 0])
