"""Mutations of a whole generation, drawing words, and the limit on swaps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hunting import adding, hunt

import lexproof as lp
from lexproof.attacks.base import Attack
from lexproof.attacks.genetic import Genetic
from lexproof.attacks.population import Brood, draw, keep_to, mutate
from lexproof.attacks.sempso import SemPso
from lexproof.goal import Goal
from lexproof.points import BoolArray, FloatArray, IntArray, Swaps
from lexproof.space import Space
from toys import Additive, brute_minimum, random_space

WORDS = Space("a b c d e f g h", [["x"], ["y"], ["z"], [], [], [], [], []])
BOTH = pytest.mark.parametrize("attack", [Genetic(), SemPso()], ids=["genetic", "sempso"])
TWO = [["x"], ["y"]]


def mutated(
    space: Space,
    scores: Mapping[str, float],
    texts: list[list[int]],
    *,
    weights: list[float] | None,
    before: list[list[int]] | None = None,
    mutating: list[bool] | None = None,
    again: bool = False,
    seed: int = 0,
) -> tuple[Brood, list[str]]:
    """The brood after a mutation, and the texts asked for; `scores` of label 0, which is to be lost."""
    given = np.array(texts, np.int32)
    old = Brood(given if before is None else np.array(before, np.int32), np.full(len(given), -1.0))
    chosen: BoolArray = np.array([True] * len(given) if mutating is None else mutating)
    search = mutate(
        space,
        Goal(0),
        np.random.default_rng(seed),
        given,
        old,
        mutating=chosen,
        weights=None if weights is None else np.array(weights),
        again=again,
    )
    request = next(search)
    assert isinstance(request, Swaps)
    asked = [space.text(point) for point in request.dense()]
    try:
        search.send(np.array([[scores[text], 1 - scores[text]] for text in asked]))
    except StopIteration as end:
        brood: Brood = end.value
        return brood, asked
    raise AssertionError("expected one request")


def test_a_word_is_drawn_in_proportion_to_its_weight() -> None:
    drawn = draw(np.random.default_rng(0), np.tile([0.0, 1.0, 3.0, 0.0], (4000, 1)))
    assert set(drawn) == {1, 2}
    assert 0.72 < (drawn == 2).mean() < 0.78


def test_the_largest_lot_falls_on_a_word_with_weight() -> None:
    class Largest(np.random.Generator):
        def random(self, *args: object, **kwargs: object) -> FloatArray:  # type: ignore[override]
            return np.array([np.nextafter(1.0, 0.0)])

    assert draw(Largest(np.random.PCG64(0)), np.array([[0.1, 0.2, 0.7, 0.0]])).tolist() == [2]


def test_texts_over_the_limit_lose_random_swaps_and_others_none() -> None:
    texts = np.array([[1, 2, 3, 0, 1], [0, 0, 5, 0, 6]], np.int32)
    rng = np.random.default_rng(0)
    kept = np.stack([keep_to(rng, texts, 2) for _ in range(200)])
    assert (np.count_nonzero(kept, axis=2) == 2).all()
    assert ((kept == 0) | (kept == texts)).all()
    assert (kept[:, 1] == texts[1]).all()
    assert len(np.unique(kept[:, 0], axis=0)) == 6  # all pairs of four swaps


def test_the_word_takes_its_best_substitute_if_that_helps() -> None:
    space = Space("a b", [["u", "v"], ["y"]], 2)
    scores = {"a b": 0.9, "u b": 0.95, "v b": 0.8, "a y": 0.7}
    brood, asked = mutated(space, scores, [[0, 0]], weights=[1.0, 0.0])
    assert brood.texts.tolist() == [[2, 0]]
    assert asked == ["a b", "u b", "v b"]
    worse, _ = mutated(space, scores | {"v b": 0.91}, [[0, 0]], weights=[1.0, 0.0])
    assert worse.texts.tolist() == [[0, 0]]
    assert worse.harm.tolist() == [Goal(0).progress(np.array([[0.9, 0.1]]))[0]]


def test_texts_that_do_not_mutate_are_scored_and_kept() -> None:
    scores = {"a b": 0.9, "x b": 0.8, "a y": 0.7}
    brood, asked = mutated(Space("a b", TWO), scores, [[0, 0], [0, 0]], weights=[1.0, 0.0], mutating=[False, True])
    assert brood.texts.tolist() == [[0, 0], [1, 0]]
    assert sorted(asked) == ["a b", "a b", "x b"]


def test_a_text_at_the_limit_gives_up_a_swap_for_a_better_one_only() -> None:
    space = Space("a b", TWO, 1)
    better, asked = mutated(space, {"x b": 0.8, "a y": 0.7}, [[1, 0]], weights=[0.0, 1.0])
    assert better.texts.tolist() == [[0, 1]]
    assert asked == ["x b", "a y"]  # never "x y"
    worse, _ = mutated(space, {"x b": 0.8, "a y": 0.85}, [[1, 0]], weights=[0.0, 1.0])
    assert worse.texts.tolist() == [[1, 0]]


def test_a_flip_is_returned_at_once_the_one_with_fewest_swaps_first() -> None:
    scores = {"x b": 0.8, "x y": 0.1, "a b": 0.9, "a y": 0.4}
    brood, _ = mutated(Space("a b", TWO), scores, [[1, 0], [0, 0]], weights=[0.0, 1.0])
    assert brood.flip is not None
    assert brood.flip.tolist() == [0, 1]


def test_again_lets_a_swapped_word_change_or_go_back() -> None:
    space = Space("a b c", [["u", "v"], ["y"], ["z"]], 3)
    scores = {"u y c": 0.9, "v y c": 0.8, "a y c": 0.7}
    brood, asked = mutated(space, scores, [[1, 1, 0]], weights=[1.0, 0.0, 0.0], again=True)
    assert brood.texts.tolist() == [[0, 1, 0]]
    assert set(asked) == {"u y c", "v y c", "a y c"}


def test_by_gain_all_words_are_tried_and_only_those_that_help_are_drawn() -> None:
    space = Space("a b c", [["x"], ["y"], ["z"]], 3)
    scores = {"a b c": 0.9, "x b c": 0.95, "a y c": 0.6, "a b z": 0.8}
    drawn = []
    for seed in range(300):
        brood, asked = mutated(space, scores, [[0, 0, 0]], weights=None, seed=seed)
        assert asked == ["a b c", "x b c", "a y c", "a b z"]
        drawn.append(int(np.flatnonzero(brood.texts[0])[0]))
    assert set(drawn) == {1, 2}
    assert 0.68 < drawn.count(1) / 300 < 0.82  # gains 0.3 and 0.1
    hopeless, _ = mutated(space, dict.fromkeys(scores, 0.9), [[0, 0, 0]], weights=None)
    assert hopeless.texts.tolist() == [[0, 0, 0]]


def test_with_a_predicate_the_best_accepted_text_is_taken_or_the_one_before() -> None:
    scores = {"a b": 0.9, "x b": 0.85, "u b": 0.8, "v b": 0.7, "x y": 0.8, "u y": 0.75, "v y": 0.65}
    choices = [["x", "u", "v"], ["y"]]
    space = Space("a b", choices, predicate=lambda texts: np.array([t in ("x b", "u b") for t in texts]))
    texts: list[list[int]] = [[0, 0], [0, 1]]
    brood, _ = mutated(space, scores | {"a y": 0.88}, texts, weights=[1.0, 0.0], before=[[0, 0], [1, 0]])
    assert brood.texts.tolist() == [[2, 0], [1, 0]]  # "v b" is rejected, and so is all that comes of "a y"
    assert brood.harm[1] == -1.0


def test_nobody_has_to_mutate() -> None:
    space = Space("a b", TWO)
    for weights in ([1.0, 1.0], None):
        brood, asked = mutated(space, {"x b": 0.8}, [[1, 0]], weights=weights, mutating=[False])
        texts: IntArray = brood.texts
        assert texts.tolist() == [[1, 0]]
        assert asked == ["x b"]


@BOTH
def test_a_target_is_reached(attack: Attack) -> None:
    def score(text: str) -> list[float]:
        return [0.5 - 0.2 * ("y" in text), 0.3 + 0.1 * ("x" in text), 0.2 + 0.2 * ("x" in text) + 0.05 * ("z" in text)]

    hunted = hunt(attack, WORDS, score, Goal(0, target=2))
    assert hunted.found is not None
    assert int(np.argmax(score(hunted.found))) == 2


@BOTH
def test_flips_are_found_wherever_swaps_help_one_by_one(attack: Attack) -> None:
    victim, broken = Additive(1), 0
    for seed in range(40):
        space = random_space(np.random.default_rng(seed))
        label = int(victim.predict([space.original.input])[0])
        exact = brute_minimum(victim, space, label)
        answer = lp.find(victim, space, label, attack=attack, seed=seed)
        assert isinstance(answer, lp.Broken) == (exact is not None)
        if isinstance(answer, lp.Broken):
            broken += 1
            assert exact is not None
            assert exact <= answer.swaps <= space.max_swaps
    assert broken >= 10


@BOTH
def test_the_predicate_holds_for_the_claim(attack: Attack) -> None:
    space = Space("a b c", [["x"], ["y"], ["z"]], predicate=lambda texts: np.array(["x" not in t for t in texts]))
    hunted = hunt(attack, space, adding({"a": 1.0, "b": 0.6, "c": 0.6, "x": -9.0, "y": -0.6, "z": -0.6}))
    assert hunted.found == "a y z"
