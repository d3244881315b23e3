"""Monte Carlo tree search: weights, simulations and claims worked out by hand, and against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hunting import adding, hunt

import lexproof as lp
from lexproof.attacks.mcts import Mcts, ladders, measure, pickup, simulate
from lexproof.goal import Goal
from lexproof.space import Space
from toys import Additive, random_space

THREE = Space("a b c", [["x"], ["y"], ["z"]])


def test_pickup_weights() -> None:
    sizes = np.array([3, 1, 2, 0])
    distances = np.array([[1.0, 2.0, 3.0], [7.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    expected = [[5 / 12, 4 / 12, 3 / 12], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]
    assert np.allclose(pickup(distances, sizes), expected)


def test_distances_are_places_in_candidate_order_unless_given() -> None:
    space = Space("a bb", [["x", "uuu"], []])
    assert measure(space, None).tolist() == [[1.0, 2.0], [0.0, 0.0]]
    assert measure(space, lambda word, other: len(other) - len(word)).tolist() == [[0.0, 2.0], [0.0, 0.0]]


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf")])
def test_wrong_distances_are_refused(wrong: float) -> None:
    with pytest.raises(lp.InputError, match=f"expected finite distances >= 0, got {wrong}"):
        measure(THREE, lambda word, other: wrong)


def test_small_sets_are_simulated_in_full() -> None:
    sizes = np.array([2, 3, 2, 4])
    ladder = ladders(np.tile(np.arange(1.0, 5.0), (4, 1)) * (np.arange(4) < sizes[:, None]), sizes)
    swaps, owner = simulate(np.random.default_rng(0), ladder, sizes, (0, 2), np.array([1, 3]), sims=12)
    points = swaps.dense()
    assert owner.tolist() == [0] * 12 + [1] * 12
    assert len(np.unique(points[:12], axis=0)) == 12  # 2 x 2 x 3 texts, each once
    assert ((points[:12] > 0) == [True, True, True, False]).all()
    assert ((points[12:] > 0) == [True, False, True, True]).all()  # 16 texts: 12 draws
    assert (points <= sizes).all()


def test_draws_follow_the_weights() -> None:
    sizes = np.array([3, 3])
    ladder = ladders(np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 1.0]]), sizes)
    swaps, _ = simulate(np.random.default_rng(0), ladder, sizes, (1,), np.array([0]), sims=8)
    assert len(swaps) == 8
    many = [
        simulate(np.random.default_rng(seed), ladder, sizes, (1,), np.array([0]), sims=8)[0].dense()
        for seed in range(1000)
    ]
    points = np.concatenate(many)
    for position, expected in ((0, [5 / 12, 4 / 12, 3 / 12]), (1, [0.5, 0.5, 0.0])):
        shares = np.bincount(points[:, position], minlength=4)[1:] / len(points)
        assert np.abs(shares - expected).max() < 0.02


def test_it_is_exact_when_nothing_is_left_out() -> None:
    # fewest swaps, then the least sum of places in candidate order, by enumeration of the space
    victim, found = Additive(1, quadratic=0.4), set()
    for seed in range(40):
        space = random_space(np.random.default_rng(seed))
        label = int(victim.predict([space.original.input])[0])
        points = space.points()
        flips = points[victim.scores(space.render(points)).argmax(axis=1) != label]
        exact = min(((np.count_nonzero(p), p.sum()) for p in flips), default=None)
        answer = lp.find(victim, space, label, attack=Mcts(sims=10_000, steps=10_000))
        if exact is None:
            assert isinstance(answer, lp.Unknown)
            continue
        assert isinstance(answer, lp.Broken)
        places = [space.choices[change.position].index(change.new) + 1 for change in answer.changed]
        assert (answer.swaps, sum(places)) == exact
        found.add(answer.swaps)
    assert found >= {1, 2}


def test_no_text_is_asked_for_beyond_what_can_still_be_better() -> None:
    # a flip with one swap: all single swaps are seen, and no pair is tried
    hunted = hunt(Mcts(), THREE, adding({"a": 1.0, "c": 0.5, "y": -2.0}))
    assert hunted.found == "a y c"
    assert hunted.asked[1:] == [["x b c", "a y c", "a b z"]]


def test_steps_bound_the_expansions() -> None:
    score = adding({"a": 9.0, "x": 8.0, "b": 0.2, "c": 0.1})
    for steps in (1, 2, 5):
        hunted = hunt(Mcts(steps=steps), THREE, score)
        assert hunted.found is None
        assert len(hunted.asked) == 1 + min(steps, 4)  # then all seven sets are known


def test_a_set_is_one_vertex_in_whatever_order() -> None:
    hunted = hunt(Mcts(), THREE, adding({"a": 9.0, "x": 8.0, "b": 0.2, "c": 0.1}))
    texts = [text for texts in hunted.asked for text in texts]
    assert sorted(texts) == sorted(THREE.text(point) for point in THREE.points())


def test_swaps_not_needed_are_put_back() -> None:
    # one simulation a set: where it misses for a alone and hits for a with c, the swap of c is not needed
    names, reduced = [f"x{j}" for j in range(12)], 0
    for cut in range(1, 12):
        for flipping in (names[:cut], names[cut:]):
            weights = {name: -9.0 if name in flipping else 1.0 for name in names}
            score = adding({"a": 1.0, "c": 0.2, "z": 0.1, **weights})
            hunted = hunt(Mcts(sims=1), Space("a c", [names, ["z"]]), score)
            assert hunted.found is None or hunted.found.endswith(" c")
            flipped = [text for texts in hunted.asked for text in texts if score(text)[0] > 0.5]
            reduced += bool(flipped) and flipped[0].endswith(" z")
    assert reduced


def test_a_target_is_reached() -> None:
    def score(text: str) -> list[float]:
        return [0.5 - 0.2 * ("y" in text), 0.3 + 0.1 * ("x" in text), 0.2 + 0.2 * ("x" in text) + 0.05 * ("z" in text)]

    assert hunt(Mcts(), THREE, score, Goal(0, target=2)).found == "x y z"


def test_the_predicate_holds_for_the_claim() -> None:
    space = Space("a b c", [["x"], ["y"], ["z"]], predicate=lambda texts: np.array(["x" not in t for t in texts]))
    hunted = hunt(Mcts(), space, adding({"a": 1.0, "b": 0.6, "c": 0.6, "x": -9.0, "y": -0.6, "z": -0.6}))
    assert hunted.found == "a y z"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sims": 0}, "expected sims >= 1 and steps >= 1, got 0 and 25"),
        ({"steps": 0}, "expected sims >= 1 and steps >= 1, got 25 and 0"),
        ({"alpha": -0.1}, "expected alpha >= 0 and finite, got -0.1"),
        ({"alpha": float("inf")}, "expected alpha >= 0 and finite, got inf"),
    ],
)
def test_settings_are_checked(settings: dict[str, float], message: str) -> None:
    with pytest.raises(lp.InputError, match=message):
        Mcts(**settings)  # type: ignore[arg-type]
