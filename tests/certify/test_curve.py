"""Certified radii from one sweep, against the least margin of every text."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from lexproof.bounds.first_ops import SumOfWords
from lexproof.bounds.graph import Graph
from lexproof.bounds.linear_ops import Affine
from lexproof.bounds.program import Program
from lexproof.bounds.region import SwapRegion
from lexproof.bounds.relu import Relu
from lexproof.certify.curve import certified
from lexproof.certify.lowering import form_of, program_of
from lexproof.goal import Goal
from lexproof.space import Space
from lexproof.victims.base import Victim
from small_victims import SHAPES, word_space, word_victim

METHODS = [("interval",), ("linear",), ("interval", "linear")]


def least_margins(victim: Victim, space: Space, goal: Goal) -> list[float]:
    """The least margin of logits of texts with at most r swaps, for every r, by the log of the scores."""
    points = space.points()
    logits = np.log(victim.scores(space.render(points)))
    rivals = [k for k in range(victim.classes) if k != goal.label] if goal.target is None else [goal.target]
    margins = (logits[:, [goal.label]] - logits[:, rivals]).min(axis=1)
    swaps = np.count_nonzero(points, axis=1)
    return [float(margins[swaps <= r].min()) for r in range(space.max_swaps + 1)]


@pytest.mark.parametrize("methods", METHODS)
@pytest.mark.parametrize("shape", SHAPES)
def test_no_bound_is_above_the_truth(shape: str, methods: tuple[str, ...]) -> None:
    proven = 0
    scale = 0.4 if shape in ("lstm", "bilstm", "cnn-deep") else 0.7  # deep networks leave intervals little to prove
    for seed in range(1 if "lstm" in shape else 3 if shape == "cnn-deep" else 8):
        victim, space = word_victim(shape, seed, scale=scale), word_space(seed + 7, words=4, max_swaps=3)
        label = int(victim.predict([str(space.original)])[0])
        target = None if seed % 3 else (label + 1) % 3
        goal = Goal(label, target, victim.rounding)
        truth = least_margins(victim, space, goal)
        form = form_of(goal, victim.classes)
        theta = -1.0 if seed % 2 == 0 else 2 * victim.rounding
        bounds = list(
            certified(program_of(victim, space), form, range(1, space.max_swaps + 1), theta, methods, steps=2)
        )
        for bound in bounds:
            assert bound.method in methods
            assert theta < bound.margin <= truth[bound.radius] + 1e-4
        assert all(a.radius < b.radius for a, b in pairwise(bounds))
        proven += len(bounds)
    assert proven


def test_more_methods_and_more_steps_prove_no_less() -> None:
    totals = dict.fromkeys(("interval", "linear", "ascended", "all"), 0)
    for seed in range(25):
        victim, space = word_victim("mlp", seed, scale=0.6), word_space(seed, words=6, max_swaps=5)
        label = int(victim.predict([str(space.original)])[0])
        form = form_of(Goal(label), victim.classes)
        program, radii = program_of(victim, space), range(1, space.max_swaps + 1)

        interval, linear, ascended, both = (
            max((bound.radius for bound in certified(program, form, radii, 0.0, methods, steps=steps)), default=0)
            for methods, steps in (
                (("interval",), 0),
                (("linear",), 0),
                (("linear",), 20),
                (("interval", "linear"), 20),
            )
        )
        assert max(interval, linear) <= both
        assert linear <= ascended <= both
        for name, radius in zip(totals, (interval, linear, ascended, both), strict=True):
            totals[name] += radius
    assert totals["interval"] < totals["linear"] < totals["ascended"]


@pytest.mark.parametrize("methods", METHODS)
def test_radii_in_parts_are_radii_at_once(methods: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(4):
        victim, space = word_victim("cnn-flat", seed, scale=0.6), word_space(seed + 20, max_swaps=4)
        form = form_of(Goal(int(victim.predict([str(space.original)])[0])), victim.classes)
        radii = range(1, space.max_swaps + 1)
        program = program_of(victim, space)
        whole = max((bound.radius for bound in certified(program, form, radii, 0.0, methods)), default=0)
        with monkeypatch.context() as patch:
            patch.setattr("lexproof.certify.curve._CELLS", 1)  # one radius at a time
            parts = max((bound.radius for bound in certified(program, form, radii, 0.0, methods)), default=0)
        assert whole == parts


def test_no_radii_and_no_rivals_of_a_bound() -> None:
    victim, space = word_victim("mlp", 0), word_space(3, max_swaps=3)
    assert not list(certified(program_of(victim, space), form_of(Goal(0), 3), range(1, 1), 0.0, ("linear",)))


@pytest.mark.parametrize("methods", METHODS)
@pytest.mark.parametrize("size", [float("inf"), float("nan"), 1e308])
@pytest.mark.parametrize("everywhere", [False, True])
def test_what_overflows_proves_nothing(methods: tuple[str, ...], size: float, everywhere: bool) -> None:
    """The margin of class 0 falls to -size with one swap, or is not even known without one."""
    graph = Graph()
    hidden = graph.add(SumOfWords(torch.zeros(2, dtype=torch.float64), 2), 0)
    last = torch.tensor([[-1.0, 1.0], [1.0, -1.0]], dtype=torch.float64)
    graph.add(Affine(last * 8.0, torch.tensor([5.0, 0.0], dtype=torch.float64)), graph.add(Relu(), hidden))
    changes = torch.tensor([[[[size, 0.0]], [[0.0, 0.0]]]], dtype=torch.float64)
    original = torch.zeros(1, 2, 2, dtype=torch.float64)
    if everywhere:
        original[0, 1, 0] = size
    region = SwapRegion(original, torch.tensor([[0, 1]]), changes, torch.tensor([1]))
    program = Program(graph, region, np.zeros((1, 2, 1, 2), np.int32))
    form = torch.tensor([[1.0, -1.0]], dtype=torch.float64)
    assert not list(certified(program, form, range(1, 2), 0.0, methods, steps=3))
