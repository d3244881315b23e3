"""TextBugger: sentence boundaries, sentence-then-word order, and the other two rankings."""

from __future__ import annotations

import numpy as np
import pytest
from hunting import adding, hunt

import lexproof as lp
from lexproof.attacks.textbugger import TextBugger, sentences
from lexproof.errors import InputError
from lexproof.goal import Goal
from lexproof.space import Space
from lexproof.text import Text


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("", []),
        ("one", [0]),
        ("One two. Three", [0, 0, 1]),
        ("one two . three ! four", [0, 0, 1, 2]),
        ('"Stop!" he said. "Why?" Nobody knew…  Yes', [0, 1, 1, 2, 3, 3, 4]),
        ("pi is 3.14 and e 2.72, really", [0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("A title\n\nThe body\nstill the body", [0, 0, 1, 1, 1, 1, 1]),
        ("東京。大阪", [0, 1]),
    ],
)
def test_sentences(text: str, numbers: list[int]) -> None:
    assert sentences(Text.parse(text)).tolist() == numbers


WEIGHTS = {"fine": 1.0, "day": 0.5, "bad": -1.0, "nice": 0.3, "very": 2.0, "good": 1.5, "film": 0.2}
TEXT = "fine day. bad nice. very good film"
SPACE = Space(TEXT, [["f1"], ["d1"], ["b1"], ["n1"], ["v1"], ["g1"], []])


def spaced(weights: dict[str, float]):  # type: ignore[no-untyped-def]
    score = adding(weights)
    return lambda text: score(text.replace(".", " "))


def test_sentences_by_their_own_score_and_words_by_what_they_add_to_their_sentence() -> None:
    hunted = hunt(TextBugger(), SPACE, spaced(WEIGHTS))
    text, alone, without, *steps = ([text.replace(".", "").split() for text in texts] for texts in hunted.asked)
    assert text == [TEXT.replace(".", "").split()]
    assert alone == [["fine", "day"], ["bad", "nice"], ["very", "good", "film"]]
    # "bad nice" alone is negative: its words are not ranked
    assert without == [["day"], ["fine"], ["good", "film"], ["very", "film"]]
    first = [tried for (tried,) in steps]
    assert first[0] == ["fine", "day", "bad", "nice", "v1", "good", "film"]
    assert first[1] == ["fine", "day", "bad", "nice", "v1", "g1", "film"]
    assert first[2] == ["f1", "day", "bad", "nice", "v1", "g1", "film"]
    assert hunted.found == "f1 day. bad nice. v1 g1 film"  # 0.5 - 1 + 0.3 + 0.2 = 0, a tie that label 0 wins


def test_discarded_sentences_come_last_if_kept() -> None:
    weights = WEIGHTS | {"day": 0.9, "d1": 0.6, "n1": -0.2}
    assert hunt(TextBugger(), SPACE, spaced(weights)).found is None
    kept = hunt(TextBugger(discard=False), SPACE, spaced(weights))
    assert kept.found == "f1 d1. bad n1. v1 g1 film"


def test_ranking_by_word_and_by_gradient() -> None:
    by_word = hunt(TextBugger(rank="word"), SPACE, spaced(WEIGHTS))
    assert by_word.asked[1][0] == "day. bad nice. very good film"
    assert by_word.steps[0] == ["fine day. bad nice. v1 good film"]
    by_gradient = hunt(TextBugger(rank="gradient"), SPACE, spaced(WEIGHTS), gradient=[1, 2, 9, 4, 5, 6, 99])
    assert by_gradient.asked[1:4] == [
        ["fine day. b1 nice. very good film"],  # raises the score: not kept; "film" cannot be swapped
        ["fine day. bad nice. very g1 film"],
        ["fine day. bad nice. v1 g1 film"],
    ]


def test_the_most_harmful_bug_wins() -> None:
    score = adding({"good": 1.0, "gopd": -0.5, "g00d": -0.9})
    assert hunt(TextBugger(), Space("good", [["gopd", "g00d"]]), score).found == "g00d"


def test_towards_a_target_sentences_that_reach_it_are_left_out() -> None:
    def score(text: str) -> list[float]:
        return [0.2, 0.7, 0.1] if text.split()[0] == "a" else [0.3, 0.1, 0.6]

    hunted = hunt(TextBugger(), Space("a b. c d", [["x"], ["x"], ["x"], ["x"]]), score, Goal(0, 2))
    assert hunted.asked[2] == ["b.", "a ."]


def test_only_the_white_box_needs_gradients() -> None:
    assert not TextBugger().needs_gradients
    assert not TextBugger(rank="word").needs_gradients
    victim = lp.BlackBox(lambda texts: np.tile([0.2, 0.8], (len(texts), 1)), labels=["negative", "positive"])
    with pytest.raises(InputError, match="attack 'TextBugger' needs gradients, which 'blackbox' victims do not have"):
        lp.find(victim, SPACE, 1, attack=TextBugger(rank="gradient"))
