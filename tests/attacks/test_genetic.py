"""The genetic attack on texts that can be worked out by hand, and against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hunting import adding, hunt

import lexproof as lp
from lexproof.attacks.genetic import Genetic, crossover
from lexproof.space import Space

WORDS = Space("a b c d", [["x"], ["y"], ["z"], []])


def test_crossover_takes_each_word_from_one_parent() -> None:
    first, second = np.full((500, 4), 1, np.int32), np.full((500, 4), 2, np.int32)
    child = crossover(np.random.default_rng(0), first, second)
    assert set(np.unique(child)) == {1, 2}
    assert 0.47 < (child == 1).mean() < 0.53
    assert (crossover(np.random.default_rng(0), first, first) == 1).all()


def test_a_single_swap_that_flips_is_found_in_the_first_request() -> None:
    hunted = hunt(Genetic(), WORDS, adding({"a": 1.0, "y": -2.0}))
    assert hunted.found == "a y c d"
    assert len(hunted.asked) == 2


def test_swaps_that_flip_only_together_are_bred() -> None:
    hunted = hunt(Genetic(), WORDS, adding({"a": 1.0, "b": 1.0, "c": 1.0, "x": -0.2, "y": -0.2, "z": -0.2}))
    assert hunted.found == "x y z d"


def test_each_generation_is_one_request_and_no_more_than_asked_for() -> None:
    score = adding({"d": 5.0, "a": 0.1, "b": 0.1, "c": 0.1})
    for generations in (0, 3):
        hunted = hunt(Genetic(population=6, generations=generations), WORDS, score)
        assert hunted.found is None
        assert len(hunted.asked) == 1 + 1 + generations  # the text itself, the first population, the generations
        assert all(len(texts) <= 6 * 2 for texts in hunted.asked[1:])


def test_the_most_harmful_text_lives_on() -> None:
    score = adding({"d": 9.0, "a": 0.4, "b": 0.2, "c": 0.1, "x": -0.1, "y": -0.1, "z": -0.1})
    hunted = hunt(Genetic(population=4, generations=6), WORDS.restrict(max_swaps=2), score)
    for before, after in zip(hunted.asked[1:], hunted.asked[2:], strict=False):
        assert score(after[0])[0] == max(score(text)[0] for text in before)  # it comes first in the next request
    assert len({texts[0] for texts in hunted.asked[2:]}) > 1


def test_variants() -> None:
    code, jia = (Genetic(**Genetic.variants[name]) for name in ("code", "jia"))
    assert Genetic(**Genetic.variants["paper"]) == Genetic(population=60, generations=20, temperature=0.3)
    assert (code.population, code.generations) == (20, 100)
    assert (jia.population, jia.generations, jia.pick, jia.again) == (60, 40, "uniform", True)
    assert hunt(jia, WORDS, adding({"a": 1.0, "b": 1.0, "c": 1.0, "x": -0.2, "y": -0.2, "z": -0.2})).found == "x y z d"


def test_uniform_picks_words_alike_however_many_substitutes_they_have() -> None:
    space = Space("a b", [["x"], [f"y{j}" for j in range(30)]])
    score = adding({"a": 5.0})
    shares = []
    for attack in (Genetic(generations=0, pick="uniform"), Genetic(generations=0)):
        texts = hunt(attack, space, score).asked[1]
        shares.append(texts.count("x b") / (texts.count("x b") + texts.count("a y0")))
    assert 0.3 < shares[0] < 0.7
    assert shares[1] < 0.15


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"population": 1}, "expected population >= 2 and generations >= 0, got 1 and 20"),
        ({"generations": -1}, "expected population >= 2 and generations >= 0, got 60 and -1"),
        ({"temperature": 0.0}, "expected temperature > 0, got 0.0"),
        ({"pick": "best"}, "expected pick substitutes or uniform, got 'best'"),
    ],
)
def test_settings_are_checked(settings: dict[str, object], message: str) -> None:
    with pytest.raises(lp.InputError, match=message):
        Genetic(**settings)  # type: ignore[arg-type]
