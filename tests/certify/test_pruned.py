"""Bound-pruned word branching against every text: what is not scored is proven, and nothing is scored twice."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from lexproof.bounds.first_ops import SumOfWords
from lexproof.bounds.graph import Graph
from lexproof.bounds.linear_ops import Affine
from lexproof.bounds.program import Program
from lexproof.bounds.region import SwapRegion
from lexproof.certify.enumeration import Sweep
from lexproof.certify.lowering import form_of, program_of, threshold
from lexproof.certify.pruned import Effort, PrunedBranching
from lexproof.engine import Engine, Task
from lexproof.goal import Goal
from lexproof.points import FloatArray, dense
from lexproof.space import Space
from lexproof.text import Input
from lexproof.victims.base import Bound, Job, Victim, check_scores
from small_victims import SHAPES, all_scores, lean, swaps_of, word_space, word_victim


class Watched(Victim):
    """A victim that remembers which points it was asked for."""

    kind = "watched"

    def __init__(self, victim: Victim) -> None:
        self.victim, self.labels = victim, victim.labels
        self.rounding = victim.rounding
        self.asked: list[tuple[int, ...]] = []

    @property
    def fingerprint(self) -> str:
        return self.victim.fingerprint

    def scores(self, inputs: Sequence[Input]) -> FloatArray:
        return self.victim.scores(inputs)

    def bind(self, space: Space) -> Bound:
        return self.victim.bind(space)

    def score(self, jobs: Sequence[Job]) -> list[FloatArray]:
        for bound, points in jobs:
            if type(bound) is not Bound:  # asked as points, not once more as texts
                self.asked += map(tuple, dense(points).tolist())
        return self.victim.score(jobs)


def run(
    victim: Victim, space: Space, goal: Goal, budget: int, *, leaf: float, **limits: int | None
) -> tuple[Sweep, Effort, list[tuple[int, ...]]]:
    watched = Watched(victim)
    form = form_of(goal, victim.classes)
    wanted: dict[str, int | None] = {"max_points": None, "max_nodes": None, **limits}
    search = PrunedBranching(program_of(victim, space), form, threshold(goal), leaf_points=leaf, **wanted)  # type: ignore[arg-type]
    (outcome,) = Engine(watched).run([Task(0, space, goal, search(space, goal, budget))])
    assert outcome.error is None
    return outcome.claim, search.effort, watched.asked


def goal_of(victim: Victim, space: Space, *, targeted: bool = False) -> Goal:
    label = int(victim.predict([str(space.original)])[0])
    return Goal(label, (label + 1) % victim.classes if targeted else None, victim.rounding)


@pytest.mark.parametrize("leaf", [0, 6, float("inf")])
@pytest.mark.parametrize("shape", SHAPES)
def test_agrees_with_every_text(shape: str, leaf: float) -> None:
    kinds = set()
    for seed in range(3 if "lstm" in shape or shape == "cnn-deep" else 8):
        victim, space = word_victim(shape, seed), word_space(seed, words=4 if "lstm" in shape else 5, max_swaps=5)
        goal = goal_of(victim, space, targeted=seed % 3 == 2)
        points, scores = all_scores(victim, space)
        for budget in (0, 1, 2, 9):
            if budget > space.max_swaps + 4 or (budget == 9 and "lstm" in shape):
                continue
            sweep, effort, asked = run(victim, space, goal, budget, leaf=leaf)
            within = (swaps_of(points) <= budget) & (swaps_of(points) > 0)
            flipped = within & goal.reached(scores)
            assert not effort.stopped
            assert len(asked) == len(set(asked)) == effort.points
            assert {int(np.count_nonzero(point)) for point in asked} <= set(range(1, budget + 1))
            kinds.add(sweep.flip is None)
            if sweep.flip is not None:
                assert tuple(sweep.flip.tolist()) in set(map(tuple, points[flipped].tolist()))
                continue
            assert not flipped.any()
            proven = np.array([tuple(point) not in set(asked) for point in points.tolist()]) & within
            # what was not scored differs by a bound, or looks like another text to the victim
            assert (goal.margin(scores[proven]) > -1e-9).all()
            bound = victim.bind(space)
            looks = set(map(tuple, dense(bound.canonical(np.array([[0] * space.n, *asked], np.int32))).tolist()))
            for point, margin in zip(points[proven], goal.margin(scores[proven]), strict=True):
                same = tuple(dense(bound.canonical(point[None]))[0].tolist())
                assert margin > goal.slack or same in looks
    assert kinds == {True, False}


def test_bounds_save_texts_and_leaves_save_bounds() -> None:
    scored, nodes = dict.fromkeys((0, 40, float("inf")), 0), dict.fromkeys((0, 40, float("inf")), 0)
    for seed in (3, 4, 6, 8):
        victim = lean(word_victim("cnn-flat", seed, scale=0.5), 0, 2.0)
        space = word_space(seed, words=6, options=4, max_swaps=3)
        for leaf in scored:
            sweep, effort, _ = run(victim, space, Goal(0, None, victim.rounding), 3, leaf=leaf)
            assert sweep.flip is None
            scored[leaf] += effort.points
            nodes[leaf] += effort.nodes
    assert scored[0] < scored[float("inf")] / 3
    assert nodes[0] >= nodes[40] > nodes[float("inf")] == 0


def test_predicates_take_texts_out() -> None:
    found = set()
    for seed in range(30):
        whole = word_space(seed, words=3, max_swaps=3)
        victim = word_victim("cnn-flat", seed)
        space = Space(whole.original, whole.choices, 3, lambda texts: np.array([len(text) % 3 > 0 for text in texts]))
        goal = goal_of(victim, space)
        points, scores = all_scores(victim, space)
        flipped = goal.reached(scores) & (swaps_of(points) > 0) & space.accepts(points)
        rejected = goal.reached(scores) & (swaps_of(points) > 0) & ~space.accepts(points)
        sweep, _, _ = run(victim, space, goal, 3, leaf=0)
        assert (sweep.flip is not None) == bool(flipped.any())
        if sweep.flip is not None:
            assert space.accepts(sweep.flip[None])[0]
        found.add((bool(flipped.any()), bool(rejected.any())))
    assert (False, True) in found


@pytest.mark.parametrize(("name", "limit"), [("max_nodes", 1), ("max_nodes", 0), ("max_points", 3), ("max_points", 0)])
def test_limits_are_kept_and_said(name: str, limit: int) -> None:
    victim, space = word_victim("cnn-deep", 3, scale=1.5), word_space(5, words=6, options=4, max_swaps=4)
    goal = Goal(0, None, lean(victim, 0, 1e3).rounding)
    assert run(victim, space, goal, 4, leaf=0)[1].points == 0  # proven by the bound of the first node
    goal = replace(goal, slack=1e3)  # nothing is proven, nothing flips
    sweep, effort, asked = run(victim, space, goal, 4, leaf=0, **{name: limit})
    assert sweep.flip is None
    assert effort.stopped == f"proving 4 swaps took more than {name}={limit}"
    assert (effort.nodes if name == "max_nodes" else effort.points) <= limit
    assert name == "max_nodes" or len(asked) <= limit


def test_many_nodes_in_small_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(6):
        victim, space = word_victim("cnn-flat", seed), word_space(seed + 9, words=5, max_swaps=3)
        goal = goal_of(victim, space)
        whole = run(victim, space, goal, 3, leaf=0)
        with monkeypatch.context() as patch:
            patch.setattr("lexproof.certify.pruned._CELLS", 1)
            patch.setattr("lexproof.certify.pruned._BATCH", 2)
            parts = run(victim, space, goal, 3, leaf=0)
        assert (whole[0].flip is None) == (parts[0].flip is None)
        if whole[0].flip is None:
            assert set(whole[2]) == set(parts[2])


class Trap(Victim):
    """Flips if both `a1` and `b1` are there, and not otherwise."""

    kind = "trap"
    labels = ("no", "yes")
    fingerprint = "trap"

    def scores(self, inputs: Sequence[Input]) -> FloatArray:
        both = np.array(["a1" in given and "b1" in given for given in inputs], np.float64)
        return check_scores(np.stack([1 - both, both], axis=1), len(inputs), 2, "trap")


@pytest.mark.parametrize("size", [float("nan"), -float("inf"), -1e308])
def test_what_overflows_eliminates_nothing(size: float) -> None:
    """A gain that overflows at one word must not be left out when another word's swaps are ruled out."""
    graph = Graph()
    total = graph.add(SumOfWords(torch.full((1,), 5.0, dtype=torch.float64), 4), 0)
    graph.add(Affine(torch.tensor([[1.0], [-1.0]], dtype=torch.float64), torch.zeros(2, dtype=torch.float64)), total)
    changes = torch.full((1, 4, 1, 1), -1e-6, dtype=torch.float64)
    changes[0, 0] = size
    places, budget = torch.arange(4)[None], torch.tensor([2])
    region = SwapRegion(torch.zeros(1, 4, 1, dtype=torch.float64), places, changes, budget)
    swaps = np.array([[[[word, 1]] for word in range(4)]], np.int32)
    form = torch.tensor([[1.0, -1.0]], dtype=torch.float64)
    search = PrunedBranching(Program(graph, region, swaps), form, 0.0, max_points=None, max_nodes=None, leaf_points=0)
    space = Space("a b c d", [["a1"], ["b1"], ["c1"], ["d1"]], 2)
    (outcome,) = Engine(Trap()).run([Task(0, space, Goal(0), search(space, Goal(0), 2))])
    assert outcome.claim.flip is not None
    assert outcome.claim.flip.tolist() == [1, 1, 0, 0]


def test_a_space_of_many_candidates_takes_little_memory() -> None:
    import tracemalloc

    victim = word_victim("cnn-deep", 0, scale=2.0, max_length=150)
    space = Space(" ".join(["w1"] * 150), [[f"w{j}" for j in range(2, 22)]] * 150, 150)
    goal = goal_of(victim, space)
    tracemalloc.start()
    run(victim, space, goal, 150, leaf=0, max_points=20_000, max_nodes=3)
    peak = tracemalloc.get_traced_memory()[1]  # of Python and numpy
    tracemalloc.stop()
    assert peak < 100e6
