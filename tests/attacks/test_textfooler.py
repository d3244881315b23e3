"""TextFooler step by step, on weights chosen by hand."""

from __future__ import annotations

from hunting import adding, hunt, listed

from lexproof.attacks.textfooler import TextFooler
from lexproof.goal import Goal
from lexproof.space import Space


def test_swaps_the_most_important_word_first() -> None:
    weights = {"good": 2.0, "nice": 1.0, "fine": 0.5, "okay": 0.2, "decent": -1.5}
    hunted = hunt(TextFooler(), Space("nice good film", [["okay"], ["fine", "decent"], []]), adding(weights))
    assert hunted.found == "nice decent film"
    assert hunted.steps == [["nice fine film", "nice decent film"]]


def test_hiding_masks_or_deletes_only_words_with_substitutes() -> None:
    space = Space("nice good film", [["okay"], ["fine"], []])
    masked, deleted = (hunt(attack, space, adding({})) for attack in (TextFooler(), TextFooler(hide="deleted")))
    assert masked.asked[1] == ["[UNK] good film", "nice [UNK] film"]
    assert deleted.asked[1] == ["good film", "nice film"]


def test_among_flips_the_most_similar_one_wins_unless_told_otherwise() -> None:
    score = adding({"good": 1.0, "poor": -1.0, "awful": -5.0})
    space = Space("good film", [["poor", "awful"], []])
    assert hunt(TextFooler(), space, score).found == "poor film"
    assert hunt(TextFooler(prefer="harmful"), space, score).found == "awful film"


def test_stops_at_the_limit() -> None:
    score = adding({"a": 1.0, "b": 1.0, "c": 1.0, "x": -0.4, "y": -0.4, "z": -0.4})
    space = Space("a b c", [["x"], ["y"], ["z"]])
    short = hunt(TextFooler(), space.restrict(max_swaps=1), score)
    assert short.found is None
    assert short.steps == [["x b c"]]
    assert hunt(TextFooler(), space, score).found == "x y z"


def test_the_bonus_for_a_flip_can_change_the_order() -> None:
    scores = {
        "a b": [0.5, 0.4, 0.1],
        "[UNK] b": [0.4, 0.35, 0.25],  # drops more
        "a [UNK]": [0.41, 0.42, 0.17],  # flips
        "x b": [0.1, 0.9, 0.0],
        "a y": [0.1, 0.9, 0.0],
    }
    space = Space("a b", [["x"], ["y"]])
    assert hunt(TextFooler(), space, listed(scores), Goal(0)).found == "a y"
    assert hunt(TextFooler(bonus=False), space, listed(scores), Goal(0)).found == "x b"
