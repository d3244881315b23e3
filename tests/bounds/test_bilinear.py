"""Planes of matrix products: checked at all corners, where a multilinear function minus a plane is least."""

from itertools import product

import pytest
import torch
from rule_checks import check_rule, random_points, uniform
from torch import Tensor

from lexproof.bounds.bilinear import MatrixProduct
from lexproof.bounds.graph import Box, inner


def random_box(shape: tuple[int, ...], generator: torch.Generator) -> Box:
    center, size = uniform(shape, -2, 2, generator), 10 ** uniform(shape, -6, 0.5, generator)
    size = torch.where(uniform(shape, 0, 1, generator) < 0.2, 0.0, size)
    return Box(center - size, center + size)


def corners(boxes: list[Box]) -> list[list[Tensor]]:
    """Every corner of the first three rows of two boxes, side by side."""
    sizes = [box.low[0].numel() for box in boxes]
    found = []
    for bits in product([0.0, 1.0], repeat=sum(sizes)):
        parts = torch.tensor(bits, dtype=torch.float64).split(sizes)
        found.append(
            [
                box.low + part.reshape(box.low.shape[1:]) * (box.high - box.low)
                for box, part in zip(boxes, parts, strict=True)
            ]
        )
    return found


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shapes", [((1, 2), (2, 3)), ((2, 1), (1, 3)), ((2, 2), (2, 2))])
def test_all_corners(shapes: tuple[tuple[int, int], tuple[int, int]], transposed: bool) -> None:
    generator = torch.Generator().manual_seed(4)
    left, right = shapes
    boxes = [random_box((20, *left), generator), random_box((20, *(right[::-1] if transposed else right)), generator)]
    check_rule(MatrixProduct(transposed), boxes, corners(boxes), rounding=1e-9)


def test_heads_and_inner_points() -> None:
    generator = torch.Generator().manual_seed(5)
    boxes = [random_box((3, 2, 4, 5), generator), random_box((3, 2, 6, 5), generator)]
    points = list(zip(*(random_points(box, 20, generator) for box in boxes), strict=True))
    check_rule(MatrixProduct(transposed=True), boxes, points, rounding=1e-9)
    found = MatrixProduct(transposed=True).interval(*boxes)
    assert found.low.shape == (3, 2, 4, 6)


def test_interval_is_reached_by_a_single_product() -> None:
    boxes = [
        Box(torch.tensor([[[-1.0]]]), torch.tensor([[[2.0]]])),
        Box(torch.tensor([[[-3.0]]]), torch.tensor([[[5.0]]])),
    ]
    assert [end.item() for end in MatrixProduct().interval(*boxes)] == [-6.0, 10.0]


def test_a_constant_factor_is_exact() -> None:
    generator = torch.Generator().manual_seed(6)
    wide, fixed = random_box((2, 3, 4), generator), uniform((2, 4, 5), -1, 1, generator)
    boxes = [wide, Box(fixed, fixed)]
    form = uniform((2, 7, 3, 5), -1, 1, generator)
    pulled = MatrixProduct().relax(*boxes).pull(form)
    for point in random_points(wide, 5, generator):
        bound = inner(pulled.forms[0], point) + inner(pulled.forms[1], fixed) + pulled.constant
        torch.testing.assert_close(bound, inner(form, point @ fixed))
    assert not any(mask.any() for mask in MatrixProduct().unsettled(*boxes))


def test_unsettled_asks_for_a_partner_that_moves() -> None:
    zeros, ones = torch.zeros(1, 2, 2), torch.ones(1, 2, 2)
    left = Box(zeros, torch.tensor([[[1.0, 1.0], [0.0, 1.0]]]))
    right = Box(zeros, torch.tensor([[[0.0, 0.0], [1.0, 0.0]]]))  # only what is multiplied by the second column moves
    a, b = MatrixProduct().unsettled(left, right)
    assert a.tolist() == [[[False, True], [False, True]]]
    assert b.tolist() == [[[False, False], [True, False]]]
    a, b = MatrixProduct(transposed=True).unsettled(left, Box(right.low.mT, right.high.mT))
    assert b.tolist() == [[[False, True], [False, False]]]
    assert all(mask.all() for mask in MatrixProduct().unsettled(Box(zeros, ones), Box(zeros, ones)))
