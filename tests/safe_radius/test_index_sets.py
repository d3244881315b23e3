"""Index sets: what may move together, and what is refused."""

from math import comb

import pytest

from lexproof.errors import InputError
from lexproof.safe_radius.index_sets import check_words, index_sets
from lexproof.text import Text

TEXT = Text.parse("a fine , quiet film about a small town")


def test_each_word_by_itself_and_all_pairs() -> None:
    n = len(TEXT)
    assert index_sets(TEXT, "each") == [(word,) for word in range(n)]
    pairs = index_sets(TEXT, "pairs")
    assert len(pairs) == len(set(pairs)) == comb(n, 2)
    assert all(a < b for a, b in pairs)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_sets_are_drawn_by_the_seed_and_differ(size: int) -> None:
    count = min(6, comb(len(TEXT), size))
    drawn = index_sets(TEXT, f"{size}x{count}", seed=3)
    assert drawn == index_sets(TEXT, f"{size}x{count}", seed=3)
    assert len(set(drawn)) == count
    assert all(len(set(own)) == size and list(own) == sorted(own) and own[-1] < len(TEXT) for own in drawn)
    assert size in (1, 5) or drawn != index_sets(TEXT, f"{size}x{count}", seed=4)


def test_a_text_with_few_sets_gives_all_of_them() -> None:
    short = Text.parse("too short")
    assert index_sets(short, "2x50") == [(0, 1)]
    assert index_sets(short, "3x50") == []
    assert index_sets(Text.parse(""), "each") == []


@pytest.mark.parametrize("spec", ["all", "2", "x3", "2x", "-1x3", "2 x 3", ""])
def test_an_unknown_word_for_sets_is_refused(spec: str) -> None:
    with pytest.raises(InputError, match="expected index sets as 'each', 'pairs' or KxCOUNT such as 3x20"):
        index_sets(TEXT, spec)


@pytest.mark.parametrize("spec", ["0x3", "6x3", "2x0"])
def test_sets_are_of_one_to_five_words(spec: str) -> None:
    with pytest.raises(InputError, match="expected sets of 1 to 5 words and at least one of them"):
        index_sets(TEXT, spec)


def test_all_pairs_of_a_long_text_are_refused() -> None:
    with pytest.raises(InputError, match=r"expected a short text for all pairs.*draw some with 2x1000"):
        index_sets(Text.parse("word " * 60), "pairs")


@pytest.mark.parametrize(
    "words,message",
    [
        ([], "expected at least one word that may move, got none"),
        ([99], "expected words of the text, which has words 0 to 7, got 99"),
        ([-1], "expected words of the text, which has words 0 to 7, got -1"),
        ([2, 2], "expected each word once, got 2 more than once"),
        (["film"], "expected the numbers of words, got 'film'"),
        ([True], "expected the numbers of words, got True"),
    ],
)
def test_words_that_cannot_move_are_refused(words: list[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_words(TEXT, words)


def test_an_empty_text_has_no_words_to_move() -> None:
    with pytest.raises(InputError, match="which has no words, got 0"):
        check_words(Text.parse(""), [0])


def test_words_come_back_in_order() -> None:
    assert check_words(TEXT, [5, 0, 3]) == (0, 3, 5)
