"""Tokens of a space: either every text of it reads as its swaps say, or the space is not read at all."""

from contextlib import suppress
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexproof.checker.tokens import Unread, token_swaps
from lexproof.space import Space
from lexproof.text import Text
from lexproof.victims.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["good", "bad", "film", "well-known", "e\u0301t", "-", "...", "co-op", "a", "b", "'"])


def reads(space: Space, max_length: int) -> int:
    """Compare every text of a space with its swaps; returns how many candidates there are."""
    swaps = token_swaps(space, VOCABULARY, max_length)
    table = {(int(w), int(j)): (int(at), int(t)) for w, j, at, t in zip(*_columns(swaps), strict=True)}
    for point in product(*(range(len(options) + 1) for options in space.choices)):
        changes = {i: space.choices[i][j - 1] for i, j in enumerate(point) if j}
        expected = swaps.ids.tolist()
        for i, j in enumerate(point):
            if (i, j) in table:
                at, token = table[i, j]
                expected[at] = token
        assert VOCABULARY.encode_input(space.original.swap(changes).input, max_length) == expected
    return len(table)


def _columns(swaps):
    return swaps.word, swaps.choice, swaps.at, swaps.token


WORDS = st.sampled_from(["good", "bad", "film", "well-known", "co-op", "Good", "e\u0301t", "x", "a", "b"])
OPTIONS = st.one_of(WORDS, st.sampled_from(["good film", "", "-", "a-", "'b", "née", "a.b", "\u0301"]))
GAPS = st.sampled_from([" ", "", "-", "/", ", ", "...", "'", "\n", "\u00a0", "’", "\u0301"])


@given(st.data())
def test_any_space(data: st.DataObject) -> None:
    words = data.draw(st.lists(WORDS, max_size=4))
    gaps = data.draw(st.lists(GAPS, min_size=len(words) + 1, max_size=len(words) + 1))
    choices = [
        [option for option in data.draw(st.lists(OPTIONS, max_size=2, unique=True)) if option != word] for word in words
    ]
    premise = data.draw(st.sampled_from([None, "a good film"]))
    space = Space(Text(tuple(words), tuple(gaps), premise), choices)
    with suppress(Unread):
        reads(space, data.draw(st.integers(1, 9)))


def test_candidates_of_a_plain_text() -> None:
    space = Space("a good film, well-known", [["b"], ["bad", "BAD", "x", "y"], [], ["co-op", "film"]])
    swaps = token_swaps(space, VOCABULARY, 50)
    assert reads(space, 50) == 7
    assert swaps.at.tolist() == [0, 1, 1, 1, 1, 4, 4]
    assert swaps.choice.tolist() == [1, 1, 2, 3, 4, 1, 2]
    assert swaps.distinct().choice.tolist() == [1, 1, 3, 1, 2]  # BAD reads like bad, y like x
    assert reads(space, 2) == 5  # what is not read is left out
    assert reads(Space("x y", [["z"], ["good"]]), 9) == 1  # unknown words look alike
    assert token_swaps(Space("", []), VOCABULARY, 9).ids.tolist() == [1]


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (Space("good film", [["bad film"], []]), "does not stand for one token"),
        (Space("good/bad", [["a-"], ["-b", "b"]]), "does not stand for one token"),
        (Space(Text(("a", "b"), ("", "-", "")), [["x", "."], ["good", "film"]]), "does not stand for one token"),
        (Space(Text(("-", "-"), ("", "", "")), [["a"], ["b"]]), "run together when they are swapped"),
        (Space(Text(("a",) * 8, ("", *"........")), [["b", "x", "film"]] * 8), "too many substitutes"),
    ],
)  # fmt: skip
def test_what_is_not_read(space: Space, message: str) -> None:
    with pytest.raises(Unread, match=message):
        token_swaps(space, VOCABULARY, 50)


def test_numbers_are_those_of_the_solvers() -> None:
    """Candidates stand in the order in which provers number them."""
    from tables import VICTIMS, space_of

    from lexproof.errors import NoRule
    from lexproof.victims.word_candidates import token_candidates

    victim = VICTIMS["mlp"]()
    compared = 0
    for seed in range(200):
        space = space_of(seed)
        try:
            theirs = token_candidates(victim.bind(space))  # type: ignore[attr-defined,arg-type]
        except NoRule:
            continue
        mine = token_swaps(space, victim.vocabulary, victim.settings.max_length)  # type: ignore[attr-defined]
        for name in ("ids", "word", "choice", "at", "token"):
            assert np.array_equal(getattr(mine, name), getattr(theirs, name))
        compared += len(mine.at) > 0
    assert compared > 50
