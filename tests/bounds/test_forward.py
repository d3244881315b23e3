"""Recurrent steps bounded forward: boxes of all values, bounds of forms, and what happens where forms are no use."""

import math

import pytest
import torch
from form_cases import DIM, ROWS, WORDS, ball, points
from torch import Tensor

import lexproof.bounds.forward as forward
from lexproof.bounds.affine_forms import AffineForms
from lexproof.bounds.backward import interval_relaxation, linear_relaxation
from lexproof.bounds.ball import NORMS
from lexproof.bounds.forward import forward_relaxation
from lexproof.bounds.gates import CellState, HiddenState
from lexproof.bounds.graph import Graph
from lexproof.bounds.linear_ops import Affine, Constant, Join
from lexproof.bounds.recurrence import OpenStep

UNITS, STEPS, CLASSES = 4, 5, 3


def network(seed: int, scale: float, steps: int = STEPS) -> Graph:
    """Steps of which the first reads an open word in all rows, the third in some rows and the others in none."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return scale * torch.randn(*shape, generator=generator, dtype=torch.float64)

    entry, weight = normal(4 * UNITS, DIM), normal(4 * UNITS, UNITS)
    weight[::5] = 0.0  # gates that do not move
    reads = torch.zeros(steps, ROWS, WORDS, dtype=torch.float64)
    reads[0, :, 0] = 1.0
    if steps > 2:
        reads[2, 1:, 1] = 1.0
    graph = Graph()
    cell = graph.add(Constant(normal(ROWS, UNITS)))
    state = None
    for number in range(steps):
        base, is_open = normal(ROWS, 4 * UNITS), bool(reads[number].any())
        inputs = (*((0,) if is_open else ()), *(() if state is None else (state,)))
        gates, out = (
            graph.add(
                OpenStep(
                    base[:, cut], entry[cut] if is_open else None, reads[number], None if state is None else weight[cut]
                ),
                *inputs,
            )
            for cut in (slice(0, 3 * UNITS), slice(3 * UNITS, 4 * UNITS))
        )
        cell = graph.add(CellState(), gates, cell)
        state = graph.add(HiddenState(), out, cell)
    assert state is not None
    graph.add(Affine(normal(CLASSES, UNITS), normal(CLASSES)), state)
    return graph


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
def test_values_lie_in_boxes_and_above_bounds(norm: float, scale: float) -> None:
    for seed in range(3):
        graph, region = network(seed, scale), ball(seed, norm)
        relaxation = forward_relaxation(graph, region)
        forms = torch.randn(ROWS, 4, CLASSES, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        lower = relaxation.lower(graph.last, forms)
        for at in points(region, 60, seed):
            values = graph.values(at)
            for value, box in zip(values, relaxation.boxes, strict=True):
                assert (value >= box.low - 1e-11).all() and (value <= box.high + 1e-11).all()
            assert (lower <= torch.einsum("nsc,nc->ns", forms, values[-1]) + 1e-11).all()


def test_boxes_are_tighter_than_those_of_intervals() -> None:
    graph, region = network(0, 0.5), ball(0, 2.0, (0.1, 0.2, 0.3))
    found, plain = forward_relaxation(graph, region), interval_relaxation(graph, region)
    for box, wide in zip(found.boxes, plain.boxes, strict=True):
        assert (box.low >= wide.low - 1e-12).all() and (box.high <= wide.high + 1e-12).all()
    last = graph.last - 1
    width, wider = (boxes[last].high - boxes[last].low for boxes in (found.boxes, plain.boxes))
    assert width.mean() < 0.5 * wider.mean()


def test_a_point_is_exact() -> None:
    graph, region = network(1, 1.0), ball(1, 2.0, (0.0, 0.0, 0.0))
    for value, box in zip(graph.values(region.center), forward_relaxation(graph, region).boxes, strict=True):
        torch.testing.assert_close(box.low, value, rtol=0, atol=1e-11)
        torch.testing.assert_close(box.high, value, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", ["_OUTGROWN", "_MOST"])
def test_intervals_may_take_the_place_of_forms(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of single units, or of all from some step on: looser, still sound, and no symbols are left."""
    graph, region = network(2, 1.5), ball(2, 2.0, (0.5, 0.5, 0.5))
    usual = forward_relaxation(graph, region)
    monkeypatch.setattr(forward, name, -1.0)
    calls = []
    replaced = AffineForms.replaced
    monkeypatch.setattr(AffineForms, "replaced", lambda *given: (calls.append(1), replaced(*given))[1])
    found = forward_relaxation(graph, region)
    if name == "_OUTGROWN":
        assert calls
    else:  # the first cell state has no forms, so nothing after it has planes of its own
        assert len(found.relaxed) == 1 < len(usual.relaxed)
    for at in points(region, 60, 3):
        for value, box in zip(graph.values(at), found.boxes, strict=True):
            assert (value >= box.low - 1e-11).all() and (value <= box.high + 1e-11).all()


def test_many_steps_do_not_overflow() -> None:
    """Weights that blow every form up, over many steps: states are bounded by intervals, bounds are finite."""
    graph, region = network(3, 6.0, steps=30), ball(3, math.inf, (1.0, 1.0, 1.0))
    found = forward_relaxation(graph, region)
    assert all(torch.isfinite(box.low).all() and torch.isfinite(box.high).all() for box in found.boxes)
    assert torch.isfinite(found.lower(graph.last, torch.ones(ROWS, 1, CLASSES, dtype=torch.float64))).all()


def test_other_operations_are_bounded_by_intervals() -> None:
    graph, region = network(4, 0.5, steps=1), ball(4, 2.0)
    graph.add(Join((CLASSES, CLASSES)), graph.last, graph.last)
    found = forward_relaxation(graph, region)
    again = found.boxes[-2]
    torch.testing.assert_close(found.boxes[-1].low, torch.cat([again.low, again.low], 1))


def test_bounds_are_tighter_than_backward_ones_on_average() -> None:
    lost = torch.zeros(2)
    for seed in range(5):
        graph, region = network(seed, 0.6), ball(seed, 2.0, (0.2, 0.3, 0.4))
        form = torch.eye(CLASSES, dtype=torch.float64).expand(ROWS, -1, -1)
        exact = graph.value(region.center)
        for number, relax in enumerate((forward_relaxation, linear_relaxation)):
            lost[number] += float((exact - relax(graph, region).lower(graph.last, form)).mean())
    assert lost[0] < lost[1]
