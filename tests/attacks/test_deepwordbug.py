"""DeepWordBug: head and tail scores by hand, the first typo of each word, blocks of probes."""

from __future__ import annotations

import pytest
from hunting import adding, hunt

from lexproof.attacks.deepwordbug import DeepWordBug
from lexproof.space import Space

# label's score of each part of the text "a b c"
PARTS = {"": 0.5, "a": 0.6, "a b": 0.9, "a b c": 0.85, "b c": 0.75, "c": 0.3}
#        head: a 0.1, b 0.3, c -0.05        tail: a 0.1, b 0.45, c -0.2
SPACE = Space("a b c", [["x", "u"], ["y"], ["z"]])


def parts(text: str) -> list[float]:
    p = PARTS.get(text, 0.7)
    return [1 - p, p]


def test_head_and_tail_read_the_text_from_either_end() -> None:
    hunted = hunt(DeepWordBug(), SPACE, parts)
    assert hunted.asked[1:3] == [["", "a", "a b", "a b c"], ["a b c", "b c", "c", ""]]
    assert hunted.asked[3:] == [["a y c"], ["x y c"], ["x y z"]]  # 0.75, 0.2, -0.25


@pytest.mark.parametrize(("rank", "first"), [("head", "a y c"), ("tail", "a y c")])
def test_head_or_tail_alone(rank: str, first: str) -> None:
    hunted = hunt(DeepWordBug(rank=rank), SPACE, parts)  # type: ignore[arg-type]
    assert len(hunted.asked[1]) == 4
    assert hunted.asked[2] == [first]


def test_the_weight_of_the_tail_decides_between_them() -> None:
    # head: a 0.3, b 0.1; tail: a 0.15, b 0.25
    table = {"": 0.5, "a": 0.8, "a b": 0.9, "b": 0.75}
    score = lambda text: [1 - table.get(text, 0.9), table.get(text, 0.9)]  # noqa: E731
    space = Space("a b", [["x"], ["y"]])
    assert hunt(DeepWordBug(tail_weight=1.0), space, score).asked[3] == ["x b"]
    assert hunt(DeepWordBug(tail_weight=5.0), space, score).asked[3] == ["a y"]
    assert hunt(DeepWordBug(rank="tail"), space, score).asked[2] == ["a y"]


def test_only_cuts_beside_words_with_substitutes_are_read() -> None:
    hunted = hunt(DeepWordBug(), Space("a b c d", [[], ["x"], [], []]), adding({}))
    assert hunted.asked[1:3] == [["a", "a b"], ["b c d", "c d"]]


def test_first_substitutes_are_made_whether_they_help_or_not_and_checked_after_each() -> None:
    score = adding({"good": 2.0, "gold": 2.5, "fun": 1.0, "fnu": -3.0, "awful": -9.0})
    space = Space("good fun day", [["gold", "awful"], ["fnu"], ["dya"]])
    first = hunt(DeepWordBug(), space, score)
    assert first.found == "gold fnu day"
    assert first.asked[3:] == [["gold fun day"], ["gold fnu day"]]
    greedy = hunt(DeepWordBug(step="greedy"), space, score)
    assert greedy.found == "awful fun day"


def test_ranking_by_hiding() -> None:
    space = Space("a b", [["x"], ["y"]])
    assert hunt(DeepWordBug(rank="masked"), space, adding({})).asked[1] == ["[UNK] b", "a [UNK]"]
    assert hunt(DeepWordBug(rank="deleted"), space, adding({})).asked[1] == ["b", "a"]


def test_a_long_text_is_read_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = hunt(DeepWordBug(), SPACE, parts)
    monkeypatch.setattr("lexproof.attacks.deepwordbug._CELLS", 7)  # two cuts of three words
    blocks = hunt(DeepWordBug(), SPACE, parts)
    assert blocks.asked[1:5] == [["", "a"], ["a b", "a b c"], ["a b c", "b c"], ["c", ""]]
    assert blocks.asked[5:] == whole.asked[3:]
