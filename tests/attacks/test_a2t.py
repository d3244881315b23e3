"""A2T: the gradient ranks once, few words change, and a victim with dropout gives the same order each time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hunting import adding, hunt
from tables import space_of, transformer

import lexproof as lp
from lexproof.attacks.a2t import A2T
from lexproof.errors import InputError
from lexproof.goal import Goal
from lexproof.points import Sensitivity
from lexproof.space import Space

WORDS = ["a", "b", "c", "d", "e", "f"]
SCORE = adding(dict.fromkeys(WORDS, 1.0) | dict.fromkeys("uvwxyz", 0.1))
SPACE = Space("a b c d e f", [["u"], ["v"], ["w"], ["x"], ["y"], []])


def test_words_by_gradient_then_greedy_on_the_current_text() -> None:
    hunted = hunt(A2T(), SPACE, SCORE, gradient=[0.1, 0.5, 0.3, 0.5, 0.2, 9.0])
    assert hunted.asked == [["a b c d e f"], ["a v c d e f"], ["a v c x e f"], ["a v w x e f"], ["a v w x y f"]]


def test_at_most_a_share_of_the_words_but_four_in_short_texts() -> None:
    gradient = [1.0] * 6
    assert len(hunt(A2T(), SPACE, SCORE, gradient=gradient).asked) == 1 + 4
    assert len(hunt(A2T(at_least=1), SPACE, SCORE, gradient=gradient).asked) == 1 + 1
    assert len(hunt(A2T(at_least=1, max_share=0.5), SPACE, SCORE, gradient=gradient).asked) == 1 + 3
    assert len(hunt(A2T(max_share=None), SPACE, SCORE, gradient=gradient).asked) == 1 + 5
    assert len(hunt(A2T(), SPACE.restrict(max_swaps=2), SCORE, gradient=gradient).asked) == 1 + 2


def test_the_most_harmful_flip_wins() -> None:
    score = adding({"good": 1.0, "poor": -1.0, "awful": -5.0})
    assert hunt(A2T(), Space("good", [["poor", "awful"]]), score, gradient=[1.0]).found == "awful"


def test_the_gradient_is_that_of_the_target_if_there_is_one() -> None:
    scores = {"a": [0.5, 0.3, 0.2], "x": [0.2, 0.3, 0.5]}
    assert hunt(A2T(), Space("a", [["x"]]), scores.__getitem__, Goal(0, 2), [1.0]).found == "x"


def test_a_victim_without_gradients_is_refused_before_anything_is_asked() -> None:
    asked: list[str] = []

    def score(texts: list[str]) -> np.ndarray:  # type: ignore[type-arg]
        asked.extend(texts)
        return np.tile([0.2, 0.8], (len(texts), 1))

    victim = lp.BlackBox(score, labels=["negative", "positive"])  # type: ignore[arg-type]
    asked.clear()
    with pytest.raises(InputError, match="attack 'A2T' needs gradients"):
        lp.find(victim, SPACE, 1, attack=A2T())
    assert asked == []


def test_gradients_of_a_network_with_dropout_do_not_change_from_call_to_call(tmp_path: Path) -> None:
    victim = transformer(tmp_path)
    assert victim.model.config.hidden_dropout_prob > 0  # type: ignore[attr-defined]
    space = space_of(11)
    request = Sensitivity(space.origin[None], 0)
    first, second = (victim.sensitivity(victim.bind(space), request) for _ in range(2))
    assert (first == second).all()
    label = int(victim.predict([space.original.input])[0])
    answers = [lp.find(victim, space, label, attack=A2T()) for _ in range(2)]
    assert answers[0].queries == answers[1].queries
    assert not victim.model.training  # type: ignore[attr-defined]
