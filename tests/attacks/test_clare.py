"""CLARE: one scan of all replacements, applied from the best down; or a new scan after every swap."""

from __future__ import annotations

from hunting import adding, hunt, listed

from lexproof.attacks.clare import Clare
from lexproof.space import Space

SCORE = adding({"good": 2.0, "fun": 1.0, "okay": 1.0, "bland": 0.1, "dull": -0.5, "dry": -0.3})
SPACE = Space("good fun day", [["okay", "bland"], ["dull", "dry"], []])


def test_one_scan_then_the_best_swap_of_each_word_in_order_of_its_drop() -> None:
    hunted = hunt(Clare(), SPACE, SCORE)
    assert hunted.asked == [
        ["good fun day"],
        ["okay fun day", "bland fun day", "good dull day", "good dry day"],
        ["bland fun day"],
        ["bland dull day"],
    ]
    assert hunted.found == "bland dull day"


def test_a_rescan_chooses_on_the_current_text() -> None:
    table = {
        "a b": 0.9,
        "x b": 0.7,
        "u b": 0.8,
        "a y": 0.75,
        "a v": 0.85,
        "x y": 0.72,  # together they undo each other
        "x v": 0.3,
    }
    scores = {text: [1 - p, p] for text, p in table.items()}
    space = Space("a b", [["x", "u"], ["y", "v"]])
    once = hunt(Clare(), space, listed(scores))
    assert (once.found, once.steps) == (None, [["x b"], ["x y"]])
    again = hunt(Clare(rescan=True), space, listed(scores))
    assert again.found == "x v"
    assert again.asked[1:] == [["x b", "u b", "a y", "a v"], ["x y", "x v"]]


def test_a_rescan_stops_where_nothing_helps_and_at_the_limit() -> None:
    score = adding({"a": 1.0, "b": 1.0, "c": 1.0, "x": 0.5, "y": 0.6, "z": 2.0})
    space = Space("a b c", [["x"], ["y"], ["z"]])
    assert len(hunt(Clare(rescan=True), space, score).asked) == 1 + 3
    assert len(hunt(Clare(rescan=True), space.restrict(max_swaps=1), score).asked) == 1 + 1


def test_swaps_that_do_not_hurt_are_not_made() -> None:
    score = adding({"a": 1.0, "x": 2.0, "b": 1.0, "y": 0.5})
    assert hunt(Clare(), Space("a b", [["x"], ["y"]]), score).steps == [["a y"]]
