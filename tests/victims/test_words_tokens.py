"""Tokens and bound spaces: the ids of a point are the ids of its text, whatever gaps and substitutes do."""

from itertools import product
from string import printable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexproof.errors import InputError
from lexproof.points import DELETED, MASKED, Swaps
from lexproof.space import Space
from lexproof.text import Text, word_pattern
from lexproof.victims.vocabulary import SEPARATOR, UNKNOWN, Vocabulary, may_join, spans, tokens
from lexproof.victims.word_rows import Rows
from lexproof.victims.word_space import WordBound

KNOWN = Vocabulary(["a", "b", "ab", "a-b", "é", "-", "'", "’", ".", "'s", "a's", "good", "film", "s", "_", "1"])
PIECES = ["a", "b", "-", "'", "’", "‐", " ", ".", "\n", "é", "e\u0301", "\u0301", "😀", "_", "1", "İ", "中"]


def all_points(space: Space) -> np.ndarray:
    points = list(product(*(range(size + 1) for size in space.sizes)))
    return np.array(points, np.int32).reshape(len(points), space.n)


# ---------------------------------------------------------------------- tokens


@pytest.mark.parametrize(
    ("string", "expected"),
    [
        ("A Film-Maker's dream!", ["a", "film-maker's", "dream", "!"]),
        ("well -- done...", ["well", "-", "-", "done", ".", ".", "."]),
        ("<br />5/10", ["<", "br", "/", ">", "5", "/", "10"]),
        ("cafe\u0301 \u0301x", ["cafe\u0301", "\u0301", "x"]),
        ("snake_case", ["snake", "_", "case"]),
        (" \t\n\u2003", []),
        ("", []),
    ],
)
def test_tokens_are_words_and_other_characters(string: str, expected: list[str]) -> None:
    assert tokens(string) == expected
    assert [string[start:end].lower() for start, end in spans(string)] == expected


def test_both_word_patterns_agree_on_ascii() -> None:
    # locality rests on this: one non-ASCII substitute changes the pattern that is used for the whole text
    ascii_only, unicode = word_pattern("a"), word_pattern("é")
    for string in map("".join, product("ab1_-' ", repeat=5)):
        assert ascii_only.findall(string) == unicode.findall(string)
    for a, b in product(printable, repeat=2):
        assert ascii_only.findall(f"x{a}{b}y") == unicode.findall(f"x{a}{b}y")


def test_vocabulary_ranks_by_count_then_alphabet() -> None:
    found = Vocabulary.of(["b a b", ("c a", "b d")], size=4, extra=["z"])
    assert found.words == ("b", "a", "c", "d")
    assert Vocabulary.of(["b a"], extra=["z", "a", "<unk>", "...", "Z"]).words == ("a", "b", "z")
    assert found.encode("B a q") == [3, 4, UNKNOWN]
    assert "a" in found and "q" not in found
    assert len(found) == 7


def test_inputs_are_cut_and_never_empty() -> None:
    assert KNOWN.encode_input("a b a", 2) == KNOWN.encode("a b")
    assert KNOWN.encode_input("", 2) == [UNKNOWN]
    assert KNOWN.encode_input(("", ""), 9) == [SEPARATOR]
    assert KNOWN.encode_input(("a", "b"), 9) == [KNOWN.id("a"), SEPARATOR, KNOWN.id("b")]
    assert KNOWN.encode_input(("a", "b"), 1) == [KNOWN.id("a")]


def test_vocabulary_refuses_repeats_and_special_tokens() -> None:
    with pytest.raises(InputError, match=r"expected distinct words in a vocabulary, got 'a' twice"):
        Vocabulary(["a", "b", "a"])
    with pytest.raises(InputError, match=r"expected words other than <pad>, <unk>, <sep>, got '<unk>'"):
        Vocabulary(["<unk>"])


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.lists(st.lists(st.sampled_from(PIECES), max_size=3).map("".join), min_size=1, max_size=3), max_size=6)
)
def test_may_join_is_exact(places: list[list[str]]) -> None:
    joined = KNOWN.places([strings[0] for strings in places], [tuple(strings[1:]) for strings in places])
    joins = all(
        spans("".join(chosen)) == shifted_spans(chosen)  # the reference: compare every combination
        for chosen in product(*places)
    )
    assert may_join(joined) == joins


def shifted_spans(strings: tuple[str, ...]) -> list[tuple[int, int]]:
    found, offset = [], 0
    for string in strings:
        found += [(start + offset, end + offset) for start, end in spans(string)]
        offset += len(string)
    return found


# ---------------------------------------------------------------------- bound spaces

strings = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)


@st.composite
def spaces(draw: st.DrawFn, plain: bool = False) -> Space:
    n = draw(st.integers(0, 4))
    gap = st.sampled_from([" ", " ", "  ", ". ", " '", "' ", ", "]) if plain else strings
    word = st.sampled_from(["a", "b", "é", "good", "a-b"]) if plain else strings
    words = tuple(draw(st.lists(word, min_size=n, max_size=n)))
    gaps = tuple(draw(st.lists(gap, min_size=n + 1, max_size=n + 1)))
    option = st.sampled_from(["a b", "film", "1", "go od", "zzz", "e\u0301"]) if plain else strings
    choices = [
        [choice for choice in draw(st.lists(option, max_size=3, unique=True)) if choice != word] for word in words
    ]
    premise = draw(st.sampled_from([None, None, "a b", ""]))
    return Space(Text(words, gaps, premise), choices)


@settings(max_examples=500, deadline=None)
@given(spaces(), st.sampled_from([1, 2, 5, 100]))
def test_ids_of_a_point_are_those_of_its_text(space: Space, max_length: int) -> None:
    bound = WordBound(space, KNOWN, max_length)
    points = all_points(space)
    expected = [KNOWN.encode_input(text, max_length) for text in space.render(points)]
    assert [row.tolist() for row in bound.rows(points)] == expected
    assert [row.tolist() for row in bound.layout(points).rows] == expected
    assert [bound.rows(point[None])[0].tolist() for point in points] == expected


@settings(max_examples=300, deadline=None)
@given(spaces(plain=True), st.sampled_from([1, 3, 100]))
def test_ordinary_spaces_are_local(space: Space, max_length: int) -> None:
    bound = WordBound(space, KNOWN, max_length)
    assert bound.is_local
    points = all_points(space)
    expected = [KNOWN.encode_input(text, max_length) for text in space.render(points)]
    assert [row.tolist() for row in bound.rows(points)] == expected


@pytest.mark.parametrize(
    ("gaps", "choices", "is_local"),
    [
        (("", " ", ""), [["good"], ["a b"]], True),
        (("'", "' ", "'"), [["good"], ["é"]], True),
        (("", "-", ""), [["good"], []], False),
        (("", "", ""), [["good"], []], False),
        (("", "--", ""), [["good"], []], True),
        (("", " ", ""), [["'s"], ["-b"]], True),
        (("a", " ", ""), [["'s"], []], False),
        (("", " ", "'s"), [["."], []], False),
        (("", "\u0301", ""), [[], []], False),
        (("", "😀", "’"), [["1"], ["中"]], True),
    ],
)
def test_local_or_not(gaps: tuple[str, ...], choices: list[list[str]], is_local: bool) -> None:
    space = Space(Text(("a", "b"), gaps), choices)
    bound = WordBound(space, KNOWN, 50)
    assert bound.is_local is is_local
    points = all_points(space)
    assert [row.tolist() for row in bound.rows(points)] == [KNOWN.encode_input(t, 50) for t in space.render(points)]


def test_probes_are_defined_on_tokens() -> None:
    space = Space("good film, good-ish film", [["a b"], [], [], ["a"]])
    bound = WordBound(space, KNOWN, 50)
    masked = bound.rows(np.array([[MASKED, 0, 0, 0], [1, 0, MASKED, 0], [DELETED, 0, 0, 0]], np.int32))
    assert masked[0].tolist() == [UNKNOWN, *KNOWN.encode("film, good-ish film")]
    assert masked[1].tolist() == [*KNOWN.encode("a b film,"), UNKNOWN, *KNOWN.encode("film")]
    assert masked[2].tolist() == KNOWN.encode("film, good-ish film")
    assert WordBound(Space("good", [[]]), KNOWN, 9).rows(np.array([[DELETED]], np.int32))[0].tolist() == [UNKNOWN]


def test_probes_cut_texts_that_are_read_as_strings() -> None:
    space = Space(Text(("a", "b", "a"), ("", "-", "-", "")), [["é"], ["."], []])
    bound = WordBound(space, KNOWN, 50)
    assert not bound.is_local
    rows = bound.rows(np.array([[0, MASKED, 0], [0, DELETED, 0], [MASKED, 0, 0], [0, 0, 0]], np.int32))
    dash, a = KNOWN.id("-"), KNOWN.id("a")
    assert rows[0].tolist() == [a, dash, UNKNOWN, dash, a]
    assert rows[1].tolist() == [a, dash, dash, a]
    assert rows[2].tolist() == [UNKNOWN, dash, KNOWN.id("b-a")]
    assert rows[3].tolist() == [KNOWN.id("a-b-a")]


@settings(max_examples=300, deadline=None)
@given(spaces(), st.randoms(use_true_random=False))
def test_layout_says_which_tokens_hold_a_word(space: Space, random: object) -> None:
    bound = WordBound(space, KNOWN, 100)
    points = all_points(space)
    points = np.where(np.random.default_rng(random.randrange(2**32)).random(points.shape) < 0.2, MASKED, points)
    layout = bound.layout(points.astype(np.int32))
    premise = 0 if space.original.premise is None else len(tokens(space.original.premise)) + 1
    for b, point in enumerate(points):
        if MASKED in point:
            assert all(layout.ends[b, i] - layout.starts[b, i] == 1 for i in np.flatnonzero(point == MASKED))
            assert all(layout.rows[b][layout.starts[b, i]] == UNKNOWN for i in np.flatnonzero(point == MASKED))
            continue
        found = spans(space.text(point))
        offset = len(space.original.gaps[0])
        for i, choice in enumerate(point.tolist()):
            word = space.original.words[i] if choice == 0 else space.choices[i][choice - 1]
            span = offset, offset + len(word)
            held = {premise + k for k, (start, end) in enumerate(found) if start < span[1] and end > span[0]}
            if word:
                assert set(range(layout.starts[b, i], layout.ends[b, i])) == held
            offset = span[1] + len(space.original.gaps[i + 1])


def test_points_outside_the_space_are_refused() -> None:
    bound = WordBound(Space("a b", [["b"], []]), KNOWN, 9)
    with pytest.raises(InputError, match=r"expected points of shape \(B, 2\), got \(1, 3\)"):
        bound.rows(np.zeros((1, 3), np.int32))
    with pytest.raises(InputError, match=r"expected a choice from 0 to 0, or a probe, for word 1, got 1"):
        bound.rows(np.array([[0, 1]], np.int32))
    with pytest.raises(InputError, match=r"expected a choice from 0 to 1, or a probe, for word 0, got 2"):
        bound.token_swaps(Swaps.of(np.zeros(2, np.int32), np.array([0]), np.array([2])))
    with pytest.raises(InputError, match=r"got -3"):
        bound.layout(np.array([[-3, 0]], np.int32))


# ---------------------------------------------------------------------- single swaps and rows


@settings(max_examples=300, deadline=None)
@given(spaces(plain=True), st.sampled_from([1, 3, 100]), st.integers(0, 2**32 - 1))
def test_token_swaps_are_the_swaps(space: Space, max_length: int, seed: int) -> None:
    if not space.n:
        return
    bound = WordBound(space, KNOWN, max_length)
    rng = np.random.default_rng(seed)
    bases = rng.integers(-2, space.sizes + 1, size=(3, space.n)).astype(np.int32)
    positions = rng.integers(0, space.n, 20).astype(np.int32)
    swaps = Swaps(
        bases,
        rng.integers(0, 3, 20).astype(np.int32),
        positions,
        rng.integers(-2, space.sizes[positions] + 1).astype(np.int32),
    )
    found = bound.token_swaps(swaps)
    assert found is not None
    expected = bound.rows(swaps.dense())
    kept = np.flatnonzero(~found.rest)
    assert len(kept) == len(found.base) == len(found.position) == len(found.id)
    for b, base, position, token in zip(kept, found.base, found.position, found.id, strict=True):
        row = found.bases[int(base)].copy()
        row[position] = token
        assert row.tolist() == expected[int(b)].tolist()
    lengths = WordBound(space, KNOWN, 10**6).layout(bases)
    for b in np.flatnonzero(found.rest):  # only what a single token cannot say is left over
        choice, position, base = swaps.choices[b], positions[b], swaps.rows[b]
        point = bases[base].copy()
        point[position] = choice
        new = WordBound(space, KNOWN, 10**6).layout(point[None])
        assert lengths.starts[base, position] < max_length
        assert {
            int(lengths.ends[base, position] - lengths.starts[base, position]),
            int(new.ends[0, position] - new.starts[0, position]),
        } != {1}


def test_swaps_of_a_space_read_as_strings_are_left_to_the_full_model() -> None:
    space = Space(Text(("a", "b"), ("", "-", "")), [["é"], []])
    assert WordBound(space, KNOWN, 9).token_swaps(space.singles()) is None


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=12), max_size=20), st.integers(1, 60))
def test_batches_cover_all_rows_within_the_limit(sequences: list[list[int]], max_tokens: int) -> None:
    rows = Rows.of(sequences)
    assert [row.tolist() for row in rows] == sequences
    assert [row.tolist() for row in Rows.joined([rows[:3], rows[3:]])] == sequences
    seen = {}
    for chosen, ids, lengths in rows.batches(max_tokens):
        assert ids.size <= max_tokens or len(ids) == 1
        assert ids.shape == (len(chosen), lengths.max())
        for b, row, length in zip(chosen, ids, lengths, strict=True):
            seen[int(b)] = row[:length].tolist()
            assert not row[length:].any()
    assert [seen[b] for b in range(len(sequences))] == sequences
