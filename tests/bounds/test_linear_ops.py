"""Affine operations: forms go through them without loss, and boxes hold what they hold."""

from collections.abc import Sequence

import pytest
import torch
from rule_checks import random_points
from swap_cases import normal
from torch import Tensor

from lexproof.bounds.graph import Box, LinearOp, inner
from lexproof.bounds.linear_ops import Add, Affine, Constant, Conv, Flatten, Join, Slice, Stack, Take

ROWS, FORMS = 2, 3


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def conv(width: int) -> Conv:
    return Conv(normal(generator(width), 4, 3, width), normal(generator(9), 4))


def cases() -> list[tuple[str, LinearOp, list[tuple[int, ...]]]]:
    """Operations with the shapes of their inputs."""
    weight, bias = normal(generator(0), 4, 3), normal(generator(1), 4)
    found: list[tuple[str, LinearOp, list[tuple[int, ...]]]] = [
        ("affine", Affine(weight, bias), [(3,)]),
        ("affine of each position", Affine(weight, bias), [(5, 3)]),
        ("affine of each head and position", Affine(weight, bias), [(2, 5, 3)]),
        ("add", Add(), [(4,), (4,)]),
        ("add three", Add(3), [(2, 3)] * 3),
        ("take the first", Take(0, 4), [(4, 3)]),
        ("take the last", Take(3, 4), [(4, 3)]),
        ("slice", Slice(1, 3, 5), [(5,)]),
        ("slice of positions", Slice(0, 2, 5), [(3, 5)]),
        ("slice of everything", Slice(0, 5, 5), [(5,)]),
        ("join", Join((2, 3, 1)), [(2,), (3,), (1,)]),
        ("stack", Stack(3), [(4,)] * 3),
        ("constant", Constant(normal(generator(2), ROWS, 3)), []),
        ("flatten", Flatten((4, 3)), [(4, 3)]),
    ]
    for width in range(1, 6):
        for length in (1, 2, 3, 6):
            found.append((f"convolution of width {width} over {length}", conv(width), [(length, 3)]))
    return found


CASES = cases()


def inputs(shapes: Sequence[tuple[int, ...]], seed: int) -> list[Tensor]:
    return [normal(generator(seed + k), ROWS, *shape) for k, shape in enumerate(shapes)]


@pytest.mark.parametrize(("op", "shapes"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_forms_are_pulled_without_loss(op: LinearOp, shapes: list[tuple[int, ...]]) -> None:
    given = inputs(shapes, 5)
    output = op.value(*given)
    form = normal(generator(8), len(output), FORMS, *output.shape[1:])
    pulled = op.relax(*[Box(part, part) for part in given]).pull(form)
    assert [part.shape for part in pulled.forms] == [(ROWS, FORMS, *shape) for shape in shapes]
    found = sum((inner(part, value) for part, value in zip(pulled.forms, given, strict=True)), pulled.constant)
    torch.testing.assert_close(found, inner(form, output), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("op", "shapes"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_boxes_hold_and_are_reached(op: LinearOp, shapes: list[tuple[int, ...]]) -> None:
    centers, radii = inputs(shapes, 5), [part.abs() for part in inputs(shapes, 25)]
    if radii:
        radii[0][0] = 0.0  # a row that is a point
    boxes = [Box(center - radius, center + radius) for center, radius in zip(centers, radii, strict=True)]
    found = op.interval(*boxes)
    points = zip(*[random_points(box, 20, generator(3)) for box in boxes], strict=True) if boxes else [()]
    for point in points:
        output = op.value(*point)
        assert (output >= found.low - 1e-12).all()
        assert (output <= found.high + 1e-12).all()
    # every end of the box is reached where each input has the end that the sign of its coefficient asks for
    output = op.value(*centers)
    units = (
        torch.eye(output[0].numel(), dtype=torch.float64)
        .reshape(1, -1, *output.shape[1:])
        .expand(ROWS, -1, *output.shape[1:])
    )
    pulled = op.pull(units)
    reach = sum((inner(part.abs(), radius) for part, radius in zip(pulled.forms, radii, strict=True)), 0.0)
    torch.testing.assert_close(
        found.low, output - torch.as_tensor(reach).reshape(-1, *output.shape[1:]) if boxes else output
    )
    torch.testing.assert_close(
        found.high, output + torch.as_tensor(reach).reshape(-1, *output.shape[1:]) if boxes else output
    )


def test_a_linear_operation_asks_for_nothing() -> None:
    for _, op, shapes in CASES:
        boxes = [Box(part, part + 1) for part in inputs(shapes, 1)]
        assert op.is_linear
        assert op.slopes(*boxes) is None
        assert [bool(mask.any()) for mask in op.unsettled(*boxes)] == [False] * len(boxes)


def test_convolutions_are_those_of_torch() -> None:
    for width in range(1, 6):
        op, given = conv(width), normal(generator(4), ROWS, 6, 3)
        layer = torch.nn.functional.conv1d(given.transpose(1, 2), op.weight, op.bias, padding=width - 1)
        left = (width - 1) // 2  # the output at t reads from t - left on: output t + width - 1 - left of a full one
        expected = layer[:, :, width - 1 - left : width - 1 - left + 6].transpose(1, 2)
        torch.testing.assert_close(op.value(given), expected)


def test_a_constant_is_repeated_for_more_rows() -> None:
    constant = Constant(torch.tensor([[1.0, 2.0]], dtype=torch.float64))
    assert constant.repeated(3).value().tolist() == [[1.0, 2.0]] * 3


def test_constants_of_different_rows_are_not_repeated() -> None:
    """A graph of two texts has no single value for the rows of other radii."""
    with pytest.raises(AssertionError, match="rows with values of their own"):
        Constant(torch.tensor([[1.0], [2.0]])).repeated(4)
