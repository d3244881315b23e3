"""The best attack and beam search against exact minima, step by step where it matters."""

import numpy as np
import pytest
from hunting import adding, hunt

import lexproof as lp
from lexproof.attacks.base import accepted, best_flip, first_accepted
from lexproof.attacks.beam import Beam, distinct, further
from lexproof.attacks.best import Best
from lexproof.attacks.pdp import Pdp
from lexproof.goal import Goal
from lexproof.points import FloatArray
from lexproof.space import Space
from toys import Additive, brute_minimum, random_space


def swaps_of(answer: object) -> int | None:
    return answer.swaps if isinstance(answer, lp.Broken) else None


@pytest.mark.parametrize("attack", [Best(), Beam(), Best(width=1, exchanges=0)])
def test_additive_models_are_broken_with_the_fewest_swaps(attack: Best | Beam) -> None:
    rng = np.random.default_rng(0)
    broken = 0
    for seed in range(60):
        victim, space = Additive(seed), random_space(rng, words=8, options=3)
        label = int(victim.predict([str(space.original)])[0])
        exact = brute_minimum(victim, space, label)
        assert swaps_of(lp.find(victim, space, label, attack=attack)) == exact
        broken += exact is not None and exact > 1
    assert broken >= 5


def test_it_is_ahead_of_pdp_and_a_beam_on_average_where_swaps_do_not_add_up() -> None:
    rng = np.random.default_rng(1)
    sums = np.zeros(3)
    for seed in range(300):
        victim, space = Additive(seed, quadratic=0.9), random_space(rng, words=8, options=3)
        label = int(victim.predict([str(space.original)])[0])
        found = [swaps_of(lp.find(victim, space, label, attack=attack)) for attack in (Best(), Pdp(), Beam())]
        sums += [space.n + 1 if swaps is None else swaps for swaps in found]
    assert sums[0] <= sums[1:].min()


def test_the_exchange_finds_what_the_beam_cannot_see() -> None:
    def scores(texts: list[str]) -> FloatArray:
        # A, B and C add up to a flip; so do C and D, but D alone does nothing
        lowered = []
        for words in map(str.split, texts):
            value = 0.95 - sum({"A": 0.2, "B": 0.17, "C": 0.1}.get(word, 0.0) for word in words)
            lowered.append(0.3 if "C" in words and "D" in words else value)
        return np.stack([1 - np.array(lowered), np.array(lowered)], axis=1)

    victim = lp.BlackBox(scores, ["no", "yes"])
    space = Space("a b c d", [["A"], ["B"], ["C"], ["D"]])
    assert swaps_of(lp.find(victim, space, 1, attack=Best(width=1, exchanges=0))) == 3
    assert swaps_of(lp.find(victim, space, 1, attack=Best(width=1))) == 2


def test_it_stops_where_no_swap_helps() -> None:
    victim = lp.BlackBox(lambda texts: np.tile([0.1, 0.9], (len(texts), 1)), ["no", "yes"])
    space = Space("a b c d e f", [["x", "y"]] * 6)
    answer = lp.find(victim, space, 1, attack="best")
    assert isinstance(answer, lp.Unknown)
    assert answer.queries <= 1 + 12 + 3 * 8 * 12


def test_a_rejected_text_is_neither_claimed_nor_built_upon() -> None:
    asked: list[str] = []

    def without_z(inputs):  # type: ignore[no-untyped-def]
        asked.extend(inputs)
        return np.array(["z" not in text.split() for text in inputs])

    class Signed(Additive):
        def scores(self, inputs):  # type: ignore[no-untyped-def]
            weights = {"z": -0.3, "x": -0.25, "y": -0.24}
            positive = np.array([0.9 + sum(weights.get(word, 0.0) for word in text.split()) for text in inputs])
            return np.stack([1 - positive, positive], axis=1)

    space = Space("a b c", [["z"], ["x"], ["y"]], predicate=without_z)
    for attack in ("best", "beam", "pdp"):
        answer = lp.find(Signed(), space, 1, attack=attack)
        assert isinstance(answer, lp.Broken), attack
        assert answer.witness == "a x y"
    assert asked


def test_the_predicate_is_asked_from_the_best_down() -> None:
    asked: list[str] = []

    def only_w9(inputs):  # type: ignore[no-untyped-def]
        asked.extend(inputs)
        return np.array([text == "w9" for text in inputs])

    space = Space("w", [[f"w{i}" for i in range(1, 31)]], predicate=only_w9)
    points = space.points(1)
    assert first_accepted(space, points, np.arange(30)) == 8
    assert len(asked) == 12  # blocks of 4 and 8
    asked.clear()
    assert first_accepted(space, points, np.arange(9, 30)) is None
    assert len(asked) == 21
    assert accepted(space, points, np.arange(30), 2).tolist() == [8]
    assert first_accepted(space, points, []) is None


def test_best_flip_prefers_few_swaps_then_harm_and_stays_in_the_space() -> None:
    space = Space("a b c", [["x"], ["y"], ["z"]], 2)
    points = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 1, 0]], np.int32)
    scores = np.array([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.7, 0.3]])
    assert best_flip(space, Goal(1), points, scores) == 3
    assert best_flip(space, Goal(1), points[:2], scores[:2]) == 1
    assert best_flip(space, Goal(1), points[:1], scores[:1]) is None
    assert best_flip(space, Goal(0), points, scores) is None


def test_growing_makes_each_text_once() -> None:
    space = Space("a b c", [["x"], ["y", "Y"], ["z"]])
    texts = np.array([[1, 0, 0], [0, 1, 0]], np.int32)
    grown = further(texts, space.singles())
    found = sorted(map(tuple, grown.dense().tolist()))
    assert found == [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 2, 0)]
    assert len(distinct(grown)) == 4


def test_without_exchanges_no_pair_is_asked_about() -> None:
    space = Space("a b c d e", [["x"]] * 5)
    score = adding({"a": 0.8, "b": 0.8, "c": 0.8, "d": 0.8, "e": 0.8, "x": -0.6})  # three swaps flip
    hunted = hunt(Best(exchanges=0), space, score)
    assert hunted.found == "x x x d e"
    # the text, single swaps, two, three, and the three ways to put one back; not the three ways to put back two
    assert [len(asked) for asked in hunted.asked] == [1, 5, 10, 10, 3]
    assert [len(asked) for asked in hunt(Best(), space, score).asked] == [1, 5, 10, 10, 3, 9, 3]


def test_settings_are_checked() -> None:
    with pytest.raises(lp.InputError, match="expected width >= 1, breadth >= 1 and exchanges >= 0, got 0, 32 and 8"):
        Best(width=0)
