"""Spaces read side by side: the same tokens as each space gives alone, and nothing outside a space is read."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexproof.errors import InputError
from lexproof.points import DELETED, MASKED, Swaps
from lexproof.space import Space
from lexproof.text import Text
from lexproof.victims import vocabulary as vocabulary_module
from lexproof.victims.cnn import Cnn, CnnSettings
from lexproof.victims.vocabulary import GONE, UNKNOWN, Vocabulary
from lexproof.victims.word_space import WordBound
from lexproof.victims.word_swaps import TokenSwaps, side_by_side

KNOWN = Vocabulary(["good", "film", "the", "bad", "a", "s", "-", ".", "1", "é"])
WORDS = st.sampled_from(["good", "film", "Film", "the", "zzz", "1", "é"])
OPTIONS = st.sampled_from(["bad", "a", "the film", "unheard", "never", "a-s", "'", "é"])


@st.composite
def aligned_spaces(draw: st.DrawFn) -> Space:
    words = tuple(draw(st.lists(WORDS, min_size=2, max_size=6)))
    gaps = tuple(draw(st.lists(st.sampled_from([" ", ". ", " - "]), min_size=len(words) + 1, max_size=len(words) + 1)))
    choices = [
        draw(st.lists(OPTIONS, max_size=4, unique=True).map(lambda s, w=word: [o for o in s if o != w]))
        for word in words
    ]
    return Space(Text(words, gaps, draw(st.sampled_from([None, "a film."]))), choices)


def swaps_of(space: Space, rng: np.random.Generator, count: int) -> Swaps:
    base = np.where(rng.random(space.n) < 0.6, 0, rng.integers(-2 if rng.random() < 0.2 else 0, space.sizes + 1))
    positions = rng.integers(0, space.n, count)
    return Swaps.of(base.astype(np.int32), positions, rng.integers(-2, space.sizes[positions] + 1))


@settings(max_examples=300, deadline=None)
@given(st.lists(aligned_spaces(), min_size=1, max_size=4), st.booleans(), st.integers(0, 2**32 - 1))
def test_side_by_side_is_each_alone(spaces: list[Space], deletions: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bounds = [WordBound(space, KNOWN, 50) for space in spaces]
    assert all(bound.columns.is_aligned for bound in bounds)
    swaps = [swaps_of(space, rng, int(rng.integers(1, 9))) for space in spaces]
    found = side_by_side([bound.columns for bound in bounds], swaps, deletions=deletions)
    assert found is not None
    points = [(bound, point) for bound, part in zip(bounds, swaps, strict=True) for point in part.dense()]
    owners = [k for k, part in enumerate(swaps) for _ in range(len(part))]
    kept = np.flatnonzero(~found.rest)
    assert len(found) == len(kept)
    for b, base, position, token in zip(kept, found.base, found.position, found.id, strict=True):
        row = found.bases[int(base)].tolist()
        row[position : position + 1] = [] if token == GONE else [token]
        bound, point = points[b]
        assert row == bound.rows(point[None])[0].tolist()
        assert base == owners[b]
    for b in np.flatnonzero(found.rest):  # only what a change of one token cannot say is left over
        bound, part = bounds[owners[b]], swaps[owners[b]]
        number = b - sum(len(other) for other in swaps[: owners[b]])
        base, choice = part.bases[0], part.choices[number]
        alone = bound.layout(np.stack([base, points[b][1]]))
        lengths = alone.ends - alone.starts
        is_odd_base = (lengths[0] != 1).any()
        assert is_odd_base or lengths[1, part.positions[number]] != 1
        assert is_odd_base or choice != DELETED or not deletions


@pytest.mark.parametrize(
    ("space", "max_length", "is_aligned"),
    [
        (Space("the film", [[], []]), 50, True),
        (Space("the film", [[], []]), 2, True),
        (Space("the film", [[], []]), 1, False),  # cut
        (Space("film", [[]]), 50, False),  # deleting the only token leaves <unk>
        (Space("film .", [[]]), 50, True),
        (Space("", []), 50, False),
        (Space(Text(("the", "a b"), ("", " ", "")), [[], []]), 50, False),  # two tokens in a word
        (Space(Text(("a", "s"), ("", "-", "")), [[], []]), 50, False),  # read as strings
    ],
)
def test_which_spaces_are_aligned(space: Space, max_length: int, is_aligned: bool) -> None:
    assert WordBound(space, KNOWN, max_length).columns.is_aligned is is_aligned


@pytest.mark.parametrize(
    ("positions", "choices"),
    [([0, 1], [1, 1]), ([0, 1], [2, 0]), ([0, 1], [-3, 0]), ([0, 2], [1, 0]), ([-1, 0], [0, 0])],
)
def test_what_is_outside_its_space_is_not_read(positions: list[int], choices: list[int]) -> None:
    space = Space("good film", [["bad"], []])
    columns = WordBound(space, KNOWN, 9).columns
    inside = Swaps.of(space.origin, np.array([0]), np.array([1]))
    wrong = Swaps.of(space.origin, np.array(positions), np.array(choices))
    assert side_by_side([columns, columns], [inside, inside], deletions=True) is not None
    for swaps in ([inside, wrong], [wrong, inside]):
        assert side_by_side([columns, columns], swaps, deletions=True) is None
    base = Swaps.of(np.array([2, 0], np.int32), np.array([0]), np.array([1]))
    assert side_by_side([columns], [base], deletions=True) is None


def test_a_victim_says_what_is_outside() -> None:
    victim = Cnn(KNOWN, ["a", "b"], settings=CnnSettings(dim=2, filters=2))
    space = Space("good film", [["bad", "the"], []])
    bound = victim.bind(space)
    wrong = Swaps.of(space.origin, np.array([0, 0, 1]), np.array([1, 2, 1]))
    with pytest.raises(InputError, match=r"expected a choice from 0 to 0, or a probe, for word 1, got 1"):
        victim.score([(bound, space.singles()), (bound, wrong)])


def test_many_jobs_at_once_score_as_each_alone() -> None:
    victim = Cnn(KNOWN, ["a", "b"], settings=CnnSettings(dim=4, filters=3, max_length=8), seed=4)
    rng = np.random.default_rng(5)
    spaces = [
        Space("the good film", [["a", "a bad"], ["bad", "zzz"], ["é"]]),
        Space("good", [["bad", "the film", "a", "1"]]),
        Space("the film . the film . good film", [["a"], ["bad"], [], [], ["a b c", "1", "s"], []]),  # at the cut
        Space("the film . the film . good good film", [["a"], ["bad"], [], [], ["1", "s"], [], ["a"]]),  # past it
        Space(Text(("a", "s", "film"), ("", "-", " ", "")), [["the"], ["good"], ["bad", "a s"]]),
        Space(Text.parse("good bad film", premise="the 1"), [["bad"], ["good", "a film"], []]),
    ]
    jobs = [(victim.bind(space), swaps_of(space, rng, count)) for space in spaces for count in (1, 3, 12)]
    jobs += [(bound, swaps.dense()) for bound, swaps in jobs[::4]]
    for (bound, points), found in zip(jobs, victim.score(jobs), strict=True):
        rows = points.dense() if isinstance(points, Swaps) else points
        assert np.abs(found - victim.forward(bound.rows(rows))).max() < 1e-6
        assert found.base is None  # not a view that keeps the scores of other jobs in memory


def test_joined_parts_keep_their_bases() -> None:
    space = Space("good film", [["bad", "the film"], ["a"]])
    bound = WordBound(space, KNOWN, 9)
    one = side_by_side([bound.columns], [space.singles()], deletions=False)
    two = bound.token_swaps(space.singles(np.array([1, 0], np.int32)))
    assert one is not None
    assert two is not None
    both = TokenSwaps.joined([one, two, one])
    assert both.base.tolist() == [0, 0, 1, 1, 2, 2]
    assert both.rest.tolist() == [False, True, False] * 3
    assert [row.tolist() for row in both.bases] == [[3, 4], [6, 4], [3, 4]]
    assert TokenSwaps.joined([one]) is one


# ---------------------------------------------------------------------- places


@pytest.mark.parametrize("strings", [["Good"], ["good", "FILM", "zzz", "unheard", "1"], ["1a", "good"]])
def test_plain_words_are_read_as_any_other(strings: list[str]) -> None:
    (quick,) = KNOWN.places(strings[:1], [tuple(strings[1:])])
    slow = vocabulary_module.Place.of([KNOWN.piece(string) for string in strings])
    asked = Vocabulary(KNOWN.words)
    assert (quick.table == slow.table).all()
    assert (quick.original, quick.joins, quick.is_distinct, quick.odd) == (
        slow.original,
        slow.joins,
        slow.is_distinct,
        {},
    )
    assert quick.runs() == [(), (UNKNOWN,), *(tuple(asked.encode(string)) for string in strings)]


def test_places_tell_the_tokens_of_every_choice() -> None:
    (place,) = KNOWN.places(["good"], [("the film", "zzz", "", "unheard", "good")])
    film, good, the = KNOWN.id("film"), KNOWN.id("good"), KNOWN.id("the")
    assert place.runs() == [(), (UNKNOWN,), (good,), (the, film), (UNKNOWN,), (), (UNKNOWN,), (good,)]
    assert place.table[0].tolist() == [0, 1, 1, 2, 1, 0, 1, 1]
    assert place.table[1].tolist() == [-1, UNKNOWN, good, -2, UNKNOWN, -2, UNKNOWN, good]
    assert place.table[2].tolist() == [DELETED, MASKED, 0, 1, 2, 3, 2, 0]
    assert not place.is_distinct


def test_the_memory_of_places_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary_module, "_PLACES", 3)
    words = Vocabulary(KNOWN.words)
    for _ in range(2):
        for word in ("good", "film", "the", "a b", "'s"):
            (place,) = words.places([word], [("bad",)])
            assert place.original == tuple(words.encode(word))
            assert len(words._places) <= 3
