"""Steps of a recurrent network that read open words: values, intervals and forms, with and without each input."""

import pytest
import torch
from rule_checks import check_rule, random_points, uniform
from torch import Tensor

from lexproof.bounds.graph import Box
from lexproof.bounds.recurrence import OpenStep

ROWS, WORDS, DIM, STATE, OUT = 3, 2, 3, 4, 5


def step(reads_words: bool, reads_state: bool) -> OpenStep:
    """The first row reads the second word, the second row the first one, the third row none."""
    generator = torch.Generator().manual_seed(0)
    reads = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]], dtype=torch.float64)
    return OpenStep(
        uniform((ROWS, OUT), -1, 1, generator),
        uniform((OUT, DIM), -1, 1, generator) if reads_words else None,
        reads if reads_words else 0 * reads,
        uniform((OUT, STATE), -1, 1, generator) if reads_state else None,
    )


def boxes(op: OpenStep) -> list[Box]:
    generator = torch.Generator().manual_seed(1)
    shapes = [(ROWS, WORDS, DIM)] * (op.entry is not None) + [(ROWS, STATE)] * (op.weight is not None)
    found = []
    for shape in shapes:
        low = uniform(shape, -1, 1, generator)
        found.append(Box(low, low + uniform(shape, 0, 1, generator).round()))  # some do not move
    return found


@pytest.mark.parametrize(("reads_words", "reads_state"), [(True, True), (True, False), (False, True), (False, False)])
def test_the_rule_holds(reads_words: bool, reads_state: bool) -> None:
    op = step(reads_words, reads_state)
    given = boxes(op)
    generator = torch.Generator().manual_seed(2)
    points: list[list[Tensor]] = [random_points(box, 5, generator) for box in given]
    check_rule(op, given, list(zip(*points, strict=True)) if points else [[]])


def test_the_value_by_hand() -> None:
    op = step(True, True)
    generator = torch.Generator().manual_seed(3)
    words, state = uniform((ROWS, WORDS, DIM), -1, 1, generator), uniform((ROWS, STATE), -1, 1, generator)
    assert op.entry is not None and op.weight is not None
    found = op.value(words, state)
    torch.testing.assert_close(found[0], op.base[0] + op.entry @ words[0, 1] + op.weight @ state[0])
    torch.testing.assert_close(found[1], op.base[1] + op.entry @ words[1, 0] + op.weight @ state[1])
    torch.testing.assert_close(found[2], op.base[2] + op.weight @ state[2])


def test_rows_may_be_chosen() -> None:
    op = step(True, True)
    rows = torch.tensor([2, 0, 0])
    chosen = op.of_rows(rows)
    generator = torch.Generator().manual_seed(4)
    words, state = uniform((ROWS, WORDS, DIM), -1, 1, generator), uniform((ROWS, STATE), -1, 1, generator)
    torch.testing.assert_close(chosen.value(words[rows], state[rows]), op.value(words, state)[rows])
