"""PWWS: the order is softmax(S) * Delta, the stored substitutes are made, and no query is spent twice."""

from __future__ import annotations

import numpy as np
import pytest
from hunting import adding, hunt, listed

import lexproof as lp
from lexproof.attacks.pwws import Pwws, weighted
from lexproof.space import Space
from lexproof.victims.base import Victim


def test_weighted_is_softmax_times_drop() -> None:
    saliency, drop = np.array([0.0, np.log(3.0)]), np.array([0.5, 0.25])
    assert weighted(saliency, drop) == pytest.approx([0.25 * 0.5, 0.75 * 0.25], rel=1e-4)
    assert weighted(np.array([800.0, 0.0]), drop) == pytest.approx([0.5, 0.0], abs=1e-4)  # scores need not be shares
    assert weighted(np.empty(0), np.empty(0)).tolist() == []


PROBABILITIES = {
    "a b": 0.90,
    "[UNK] b": 0.50,  # S = 0.4, 0.1: softmax 0.574, 0.426
    "a [UNK]": 0.80,
    "a1 b": 0.85,
    "a2 b": 0.70,  # Delta_a = 0.20, H = 0.115
    "a b1": 0.64,  # Delta_b = 0.26, H = 0.111
    "a2 b1": 0.40,
}


def scores(**changed: float) -> dict[str, list[float]]:
    return {text: [1 - p, p] for text, p in {**PROBABILITIES, **changed}.items()}


def test_order_by_saliency_times_drop_and_one_request_for_everything_on_the_original() -> None:
    hunted = hunt(Pwws(), Space("a b", [["a1", "a2"], ["b1"]]), listed(scores()))
    assert hunted.asked == [
        ["a b"],
        ["[UNK] b", "a [UNK]", "a1 b", "a2 b", "a b1"],
        ["a2 b"],  # saliency puts a first, though b drops more
        ["a2 b1"],
    ]
    assert hunted.found == "a2 b1"


def test_saliency_can_be_outweighed_by_the_drop() -> None:
    hunted = hunt(Pwws(), Space("a b", [["a1", "a2"], ["b1"]]), listed(scores(**{"a b1": 0.60})))
    assert hunted.steps == [["a b1"], ["a2 b1"]]  # H = 0.115, 0.128


def test_stored_substitutes_are_not_chosen_again_unless_asked_for() -> None:
    # on the current text a1 would flip, but a2 was stored
    table = scores(**{"a b1": 0.60, "a2 b1": 0.55, "a1 b1": 0.1})
    space = Space("a b", [["a1", "a2"], ["b1"]])
    assert hunt(Pwws(), space, listed(table)).found is None
    again = hunt(Pwws(reselect=True), space, listed(table))
    assert again.steps == [["a b1"], ["a1 b1", "a2 b1"]]
    assert again.found == "a1 b1"


def test_queries_are_text_and_words_and_substitutes_and_steps() -> None:
    victim: Victim = lp.BlackBox(
        lambda texts: np.array([adding({w: 1.0 for w in "abcde"} | {w: 0.1 for w in "vwxyz"})(t) for t in texts]),
        labels=["negative", "positive"],
    )
    space = Space("a b c d e", [["v", "k"], ["w"], ["x"], [], ["z"]], 3)
    answer = lp.find(victim, space, 1, attack=Pwws())
    assert isinstance(answer, lp.Unknown)
    # text, 4 words with substitutes, 5 substitutes, 3 steps of which the first was a single swap already scored
    assert answer.cost.queries == 1 + 4 + 5 + 2


def test_words_that_no_substitute_hurts_are_left_alone() -> None:
    score = adding({"good": 1.0, "great": 2.0, "fine": 1.0, "fun": 0.5, "dull": -0.4, "sad": -0.2, "day": 0.3})
    space = Space("good fun day", [["great", "fine"], ["dull"], ["sad"]])
    assert hunt(Pwws(), space, score).found is None
    assert hunt(Pwws(), space, score).steps == [["good dull day"], ["good dull sad"]]
