"""The exhaustive search against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hunting import adding, hunt

import lexproof as lp
from lexproof.attacks.exhaustive import Exhaustive
from lexproof.space import Space
from toys import Additive, brute_minimum, random_space

PAIR = Space("a b c", [["x", "u"], ["y"], ["z"]])  # 1, 4, 5, 2 texts with 0, 1, 2, 3 swaps
ALL_THREE = adding({"a": 1.0, "b": 1.0, "c": 1.0, "x": -0.2, "y": -0.2, "z": -0.2, "u": 1.0})


def test_the_flip_has_the_fewest_swaps() -> None:
    victim, found = Additive(1, quadratic=0.4), set()
    for seed in range(40):
        space = random_space(np.random.default_rng(seed))
        label = int(victim.predict([space.original.input])[0])
        answer = lp.find(victim, space, label, attack=Exhaustive())
        swaps = answer.swaps if isinstance(answer, lp.Broken) else None
        assert swaps == brute_minimum(victim, space, label)
        found.add(swaps)
    assert found >= {None, 1, 2}


def test_every_text_is_asked_for_once_by_number_of_swaps() -> None:
    hunted = hunt(Exhaustive(), PAIR, ALL_THREE)
    assert hunted.found == "x y z"
    assert [len(texts) for texts in hunted.asked] == [4, 5, 2]
    assert len({text for texts in hunted.asked for text in texts}) == 11


@pytest.mark.parametrize(("max_points", "asked"), [(4, []), (5, [4]), (9, [4]), (10, [4, 5]), (11, [4, 5])])
def test_only_whole_numbers_of_swaps_are_searched(max_points: int, asked: list[int]) -> None:
    hunted = hunt(Exhaustive(max_points=max_points), PAIR, ALL_THREE)
    assert hunted.found is None
    assert [len(texts) for texts in hunted.asked] == asked


def test_labels_are_enough() -> None:
    def label_only(text: str) -> list[float]:
        return [float(ALL_THREE(text)[0] > 0.5), float(ALL_THREE(text)[0] <= 0.5)]

    assert not Exhaustive.needs_scores
    assert hunt(Exhaustive(), PAIR, label_only).found == "x y z"


def test_settings_are_checked() -> None:
    with pytest.raises(lp.InputError, match="expected max_points >= 1, got 0"):
        Exhaustive(max_points=0)
