"""One test for each error known from public genetic, swarm and tree searches; each fails if we had it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hunting import adding, hunt

from lexproof.attacks import sempso
from lexproof.attacks.base import Attack
from lexproof.attacks.genetic import Genetic, parents
from lexproof.attacks.mcts import Mcts, _Tree
from lexproof.attacks.sempso import SemPso
from lexproof.points import FloatArray, IntArray
from lexproof.space import Space

FOUR = Space("a b c d", [["x"], ["y"], ["z"], ["v"]], 2)
SLOW = adding({"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0})  # all four words have to go for a tie


def swaps(space: Space, text: str) -> int:
    return sum(old != new for old, new in zip(str(space.original).split(), text.split(), strict=True))


# ---------------------------------------------------------------------- genetic and swarm


@pytest.mark.parametrize(
    "attack",
    [
        Genetic(),
        Genetic(**Genetic.variants["code"]),
        Genetic(**Genetic.variants["jia"]),
        SemPso(),
        SemPso(**SemPso.variants["benchmark"]),
    ],
    ids=repr,
)
def test_the_limit_on_changed_words_is_stated_and_never_applied(attack: Attack) -> None:
    # three swaps would flip, two are allowed
    score = adding({"a": 1.0, "b": 1.0, "c": 1.0, "x": -0.4, "y": -0.4, "z": -0.4})
    assert hunt(attack, Space("a b c d", FOUR.choices, 3), score).found == "x y z d"
    hunted = hunt(attack, FOUR, score)
    assert hunted.found is None
    assert max(swaps(FOUR, text) for texts in hunted.asked for text in texts) == 2


def test_textattack_selects_the_least_harmful_parents() -> None:
    first, second = parents(np.random.default_rng(0), np.array([0.1, 0.9, 0.1]), 2000, 0.3)
    # exp(0.9 / 0.3) : exp(0.1 / 0.3) = 14.4 : 1
    for drawn in (first, second):
        assert abs((drawn == 1).mean() - 14.39 / 16.39) < 0.03


@pytest.mark.parametrize("attack", [Genetic(generations=5), SemPso(iterations=5)], ids=repr)
def test_textattack_scores_children_and_particles_one_by_one(attack: Attack) -> None:
    hunted = hunt(attack, FOUR, SLOW)
    assert len(hunted.asked) == 7
    assert all(len(texts) >= 60 for texts in hunted.asked[1:])


# ---------------------------------------------------------------------- swarm


def trajectory(
    attack: SemPso, space: Space, score: Callable[[str], list[float]], monkeypatch: pytest.MonkeyPatch
) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
    """The harm of all texts, of their own bests and of the best of all, before each move."""
    seen = []
    move = sempso._move

    def watched(
        rng: np.random.Generator, velocity: FloatArray, time: float, texts: IntArray, own: IntArray, best: IntArray
    ) -> IntArray:
        seen.append(tuple(np.array([score(space.text(p))[0] for p in points]) for points in (texts, own, best)))
        return move(rng, velocity, time, texts, own, best)

    monkeypatch.setattr(sempso, "_move", watched)
    hunt(attack, space, score)
    return seen  # type: ignore[return-value]


def test_openattack_never_updates_bests_and_lets_them_change_with_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    # x and y hurt alone and heal together, so that texts get worse when they move
    def score(text: str) -> list[float]:
        harm = 0.1 + 0.1 * ("x" in text) + 0.12 * ("y" in text) - 0.2 * ("x" in text and "y" in text)
        harm += 0.05 * ("z" in text) + 0.04 * ("v" in text)
        return [harm, 1 - harm]

    space = Space("a b c d e f g h", [*FOUR.choices, [], [], [], []])
    seen = trajectory(SemPso(population=8, iterations=12), space, score, monkeypatch)
    harms = np.array([texts for texts, _, _ in seen])
    assert (harms[1:] < harms[:-1]).any(), "no text got worse: the test would not see an alias"
    highest = np.maximum.accumulate(harms, axis=0)
    assert np.allclose([own for _, own, _ in seen], highest)
    assert np.allclose([best[0] for _, _, best in seen], highest.max(axis=1))
    assert highest[-1].max() > highest[0].max()


def test_textattack_turns_the_best_text_into_the_current_one_instead_of_moving_towards_it() -> None:
    rng = np.random.default_rng(0)
    texts, own, best = (np.full((3000, 2), value, np.int32) for value in (1, 2, 3))
    still = sempso._move(rng, np.full((3000, 2), -50.0), 0.0, texts, own, best)
    assert (still == 1).all()  # no velocity, no move; with the roles exchanged, texts would become 2 or 3
    for time, to_own, to_best in ((0.0, 0.8, 0.2), (1.0, 0.2, 0.8)):
        moved = sempso._move(rng, np.full((3000, 2), 50.0), time, texts, own, best)
        assert abs((moved[:, 0] == 3).mean() - to_best) < 0.03
        assert abs((moved[:, 0] == 2).mean() - to_own * (1 - to_best)) < 0.03
        assert (moved[:, 0] == moved[:, 1]).all()


def test_textattack_computes_the_share_of_changed_words_wrongly() -> None:
    rng = np.random.default_rng(0)
    for text, chance in (([0, 0, 0, 0], 1.0), ([0, 4, 0, 0], 0.5), ([1, 0, 0, 1], 0.0), ([1, 2, 1, 1], 0.0)):
        mutating = sempso._mutating(rng, np.tile(np.array(text, np.int32), (4000, 1)))
        assert abs(mutating.mean() - chance) < 0.03


# ---------------------------------------------------------------------- tree search


def test_mcts_divides_the_largest_gain_by_the_simulations_so_that_exploitation_vanishes() -> None:
    # b gains 0.3, b and c 0.45.  Exploration alone would go back to the root's other children: ln 3 > ln 2
    def score(text: str) -> list[float]:
        harm = 0.01 + 0.3 * ("y" in text) + 0.15 * ("y" in text and "z" in text)
        return [harm, 1 - harm]

    for sims in (5, 1000):
        hunted = hunt(Mcts(sims=sims, steps=3, alpha=0.1), Space("a b c d", FOUR.choices, 3), score)
        assert [swaps(FOUR, texts[0]) for texts in hunted.asked] == [0, 1, 2, 3]
        assert all("y z" in text for text in hunted.asked[3])


def test_mcts_changes_one_more_word_at_random_on_each_level() -> None:
    hunted = hunt(Mcts(sims=50), Space("a b c d", FOUR.choices, 3), SLOW)
    for texts in hunted.asked:
        assert len({swaps(FOUR, text) for text in texts}) == 1
    assert swaps(FOUR, hunted.asked[1][0]) == 1


def test_mcts_reports_the_sample_of_lowest_confidence_instead_of_the_nearest() -> None:
    space = Space("a", [["near", "far"]])
    assert hunt(Mcts(), space, adding({"a": 1.0, "near": -0.1, "far": -5.0})).found == "near"
    lengths = Mcts(distance=lambda word, other: 10.0 - len(other))
    assert (
        hunt(lengths, Space("a", [["no", "longer"]]), adding({"a": 1.0, "no": -5.0, "longer": -0.1})).found == "longer"
    )


def test_mcts_measures_the_first_word_only() -> None:
    # two pairs flip: places 1 and 5 are nearer in the first word, places 2 and 1 in sum
    def score(text: str) -> list[float]:
        return [0.9, 0.1] if text in ("x0 y4", "x1 y0") else [0.1, 0.9]

    space = Space("a b", [["x0", "x1"], [f"y{j}" for j in range(5)]])
    assert hunt(Mcts(), space, score).found == "x1 y0"


def test_mcts_never_goes_deeper_than_one_word() -> None:
    score = adding({"a": 1.0, "b": 1.0, "c": 1.0, "x": -0.4, "y": -0.4, "z": -0.4})
    assert hunt(Mcts(), Space("a b c d", FOUR.choices, 3), score).found == "x y z d"


def test_mcts_does_not_count_visits_above_the_parent() -> None:
    tree = _Tree(np.arange(4))
    for gains in ([0.1, 0.5, 0.2, 0.3], [0.6, 0.7, 0.8], [0.9, 0.9]):  # of the text, of b, of b and d
        new = tree.expand(0.0, 4)
        tree.add(new, np.array(gains))
    assert tree.sets[tree.expanded] == (1, 3)
    visits = {positions: count for positions, count in zip(tree.sets, tree.visits, strict=True) if count > 1}
    assert visits == {(): 4, (1,): 3, (1, 3): 2}


def test_mcts_takes_the_mean_so_that_one_strong_substitute_goes_unnoticed() -> None:
    # a: gains 0.3, 0, 0 (mean 0.1); b: gains 0.2 each
    def score(text: str) -> list[float]:
        harm = 0.05 + 0.3 * ("x0" in text) + 0.2 * ("y" in text)
        return [harm * 0.9, 1 - harm * 0.9]

    space = Space("a b c", [["x0", "x1", "x2"], ["y0", "y1", "y2"], ["z"]], 3)
    hunted = hunt(Mcts(steps=2), space, score)
    assert all(text.startswith("x") for text in hunted.asked[2])
