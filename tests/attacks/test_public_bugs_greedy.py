"""One test for each error known from public implementations of the greedy attacks; each fails if we had it."""

from __future__ import annotations

import pytest
from hunting import adding, hunt, listed

from lexproof.attacks.bae import Bae
from lexproof.attacks.base import Attack
from lexproof.attacks.bert_attack import BertAttack
from lexproof.attacks.clare import Clare
from lexproof.attacks.deepwordbug import DeepWordBug
from lexproof.attacks.pwws import Pwws
from lexproof.attacks.textbugger import TextBugger
from lexproof.attacks.textfooler import TextFooler
from lexproof.goal import Goal
from lexproof.space import Space

WALKERS = [
    TextFooler(),
    BertAttack(max_share=1.0),
    Bae(),
    TextBugger(),
    Pwws(reselect=True),
    DeepWordBug(step="greedy"),
]


def name(attack: Attack) -> str:
    return type(attack).__name__


@pytest.mark.parametrize("attack", WALKERS, ids=name)
def test_textfooler_compares_a_step_with_the_original_text_and_accepts_worse_ones(attack: Attack) -> None:
    # the first swap lowers the score from 0.9 to 0.6; the second would raise it to 0.8, still below the original
    def score(text: str) -> list[float]:
        known = {"a b": 0.9, "x b": 0.6, "a y": 0.7, "x y": 0.8, "a b c": 0.9}
        p = known.get(text.removesuffix(" c"), 0.3 if text == "x b z" else 0.85)
        return [1 - p, p]

    hunted = hunt(attack, Space("a b c", [["x"], ["y"], ["z"]]), score)
    assert hunted.found == "x b z"


@pytest.mark.parametrize("attack", WALKERS, ids=name)
def test_textattack_stops_looking_for_flips_at_the_first_failure_in_score_order(attack: Attack) -> None:
    # three labels: c lowers the label's score most and does not flip, b flips
    scores = {"a": [0.5, 0.3, 0.2], "c": [0.36, 0.33, 0.31], "b": [0.40, 0.45, 0.15]}
    hunted = hunt(attack, Space("a", [["c", "b"]]), lambda text: scores.get(text, [0.45, 0.3, 0.25]), Goal(0))
    assert hunted.found == "b"


def test_openattack_keeps_what_a_short_text_changed_in_the_attack_object() -> None:
    score = adding({"good": 1.0, "poor": -1.0, "fun": 1.0, "dull": -2.0})
    long = Space("good fun and so on", [["poor"], ["dull"], [], [], []])
    for attack in WALKERS:
        fresh = hunt(attack, long, score)
        hunt(attack, Space("good", [["poor"]]), score)
        again = hunt(attack, long, score)
        assert (again.found, again.asked) == (fresh.found, fresh.asked)


def test_textattack_weights_saliency_with_the_score_instead_of_the_drop() -> None:
    # S = 0.4, 0.0, softmax 0.599, 0.401.  Drops 0.10, 0.16: b first (0.060 < 0.064).  Scores 1 - p: 0.2, 0.26: a first.
    table = {"a b": 0.9, "[UNK] b": 0.5, "a [UNK]": 0.9, "x b": 0.8, "a y": 0.74, "x y": 0.7}
    hunted = hunt(Pwws(), Space("a b", [["x"], ["y"]]), listed({text: [1 - p, p] for text, p in table.items()}))
    assert hunted.steps == [["a y"], ["x y"]]


def test_textattack_selects_pwws_substitutes_again_at_each_step_for_twice_the_queries() -> None:
    space = Space("a b c", [["u", "v"], ["w", "x"], ["y", "z"]])
    hunted = hunt(Pwws(), space, adding({"a": 1.0, "b": 1.0, "c": 1.0, "u": 0.2, "w": 0.2, "y": 0.2, "v": 0.1}))
    assert sum(map(len, hunted.asked)) == 1 + 3 + 6 + 3


def test_openattack_swaps_words_even_if_no_substitute_hurts() -> None:
    score = adding({"a": 2.0, "x": 3.0, "b": 0.5, "y": 0.4})
    hunted = hunt(Pwws(), Space("a b", [["x"], ["y"]]), score)
    assert hunted.steps == [["a y"]]  # never "x b", though a is the most salient word


def test_textattack_ranks_textbugger_words_without_their_sentences() -> None:
    # in the whole text "c" matters most, but its sentence alone says little: the sentence of "a" comes first
    def score(text: str) -> list[float]:
        words = text.replace(".", " ").split()
        p = 0.5 + 0.2 * ("a" in words) + 0.1 * ("b" in words) + (0.15 if "c" in words and "a" in words else 0.0)
        return [1 - p, p]

    space = Space("a b. c d", [[], ["x"], ["y"], []])
    assert hunt(TextBugger(), space, score).asked[3] == ["a x. c d"]
    assert hunt(TextBugger(rank="word"), space, score).asked[2] == ["a b. y d"]


def test_textattack_ranks_deepwordbug_words_by_hiding_them() -> None:
    hunted = hunt(DeepWordBug(), Space("a b", [["x"], ["y"]]), adding({"a": 1.0, "b": 2.0}))
    assert not any("[UNK]" in text for texts in hunted.asked for text in texts)
    assert "" in hunted.asked[1]  # the empty head


def test_bert_attack_does_not_rank_the_last_word() -> None:
    score = adding({"a": 0.1, "b": 0.1, "c": 2.0, "z": -3.0})
    hunted = hunt(BertAttack(), Space("a b c", [["x"], ["y"], ["z"]]), score)
    assert hunted.asked[1] == ["[UNK] b c", "a [UNK] c", "a b [UNK]"]
    assert hunted.steps == [["a b z"]]


def test_bert_attack_leaves_the_last_word_tried_in_place_if_none_helps() -> None:
    score = adding({"a": 2.0, "b": 1.0, "u": 3.0, "v": 4.0, "y": -2.5})
    hunted = hunt(BertAttack(max_share=1.0), Space("a b", [["u", "v"], ["y"]]), score)
    assert hunted.steps == [["u b", "v b"], ["a y"]]
    assert hunted.found == "a y"


def test_textattack_scans_all_clare_replacements_again_after_each_swap() -> None:
    space = Space("a b c", [["u", "v"], ["w", "x"], ["y", "z"]])
    hunted = hunt(Clare(), space, adding({"a": 1.0, "b": 1.0, "c": 1.0, "u": 0.2, "w": 0.2, "y": 0.2, "v": 0.1}))
    assert sum(map(len, hunted.asked)) == 1 + 6 + 3
