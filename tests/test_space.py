import itertools
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from lexproof.errors import InputError
from lexproof.points import DELETED, MASKED, BoolArray, Swaps, dense, keys, zobrist
from lexproof.space import Change, Space, allowed_swaps
from lexproof.strata import Strata
from lexproof.text import Input, Text
from toys import random_space

sizes_strategy = st.lists(st.integers(0, 4), min_size=0, max_size=6)


def brute_points(sizes: list[int], r: int) -> set[tuple[int, ...]]:
    every = itertools.product(*(range(s + 1) for s in sizes))
    return {point for point in every if sum(value > 0 for value in point) <= r}


@given(sizes_strategy, st.integers(0, 7))
def test_size_and_unranking_match_brute_force(sizes: list[int], r: int) -> None:
    strata = Strata(np.array(sizes, np.int64), r)
    points = strata.points()
    expected = brute_points(sizes, r)
    assert strata.size == len(expected) == len(points)
    assert set(map(tuple, points.tolist())) == expected
    swaps = np.count_nonzero(points, axis=1)
    assert (np.diff(swaps) >= 0).all()


@given(sizes_strategy, st.integers(0, 7), st.data())
def test_any_range_of_ranks_is_a_slice(sizes: list[int], r: int, data: st.DataObject) -> None:
    strata = Strata(np.array(sizes, np.int64), r)
    start = data.draw(st.integers(0, strata.size))
    stop = data.draw(st.integers(start, strata.size))
    assert (strata.points(start, stop) == strata.points()[start:stop]).all()


def test_astronomic_spaces_are_exact() -> None:
    strata = Strata(np.full(300, 7, np.int64), 300)
    assert strata.size == 8**300
    some = strata.points(8**299, 8**299 + 50)
    assert len({tuple(point) for point in some.tolist()}) == 50
    assert not strata.is_within(10**9)
    assert strata.is_within(8**300)


def test_unranking_is_the_same_in_small_and_large_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    strata = Strata(np.array([3, 0, 2, 4, 1], np.int64), 3)
    expected = strata.points()
    monkeypatch.setattr(Strata, "stratum", _huge_but_equal(Strata.stratum))
    assert (strata.points(0, len(expected)) == expected).all()


def _huge_but_equal(stratum):  # type: ignore[no-untyped-def]
    class Huge(int):
        def __lt__(self, other: object) -> bool:  # `stratum < 2**62` chooses the integer type
            return False if other == 2**62 else int(self) < other  # type: ignore[operator]

    return lambda self, k: Huge(stratum(self, k))


@pytest.mark.parametrize("seed", range(5))
def test_samples_are_uniform(seed: int) -> None:
    space = Space("a b c d", [["x", "y"], [], ["z"], ["p", "q", "r"]], 2)
    draws = space.sample(np.random.default_rng(seed), 20_000)
    counts = Counter(map(tuple, draws.tolist()))
    assert set(counts) == set(map(tuple, space.points().tolist()))
    assert chisquare(list(counts.values())).pvalue > 1e-4


def test_samples_of_a_long_text_have_the_right_number_of_swaps() -> None:
    strata = Strata(np.array([1 + i % 5 for i in range(60)], np.int64), 12)
    draws = strata.sample(np.random.default_rng(0), 4000)
    swaps = Counter(np.count_nonzero(draws, axis=1).tolist())
    expected = [4000 * strata.stratum(k) / strata.size for k in (11, 12)]
    got = [swaps[k] for k in (11, 12)]
    assert chisquare([*got, 4000 - sum(got)], [*expected, 4000 - sum(expected)]).pvalue > 1e-4


@settings(max_examples=50)
@given(st.integers(0, 10_000))
def test_every_sample_lies_in_the_space(seed: int) -> None:
    rng = np.random.default_rng(seed)
    space = random_space(rng)
    assert all(space.contains(point) for point in space.sample(rng, 20))


def test_render_and_changes() -> None:
    space = Space("A good, good film.", [[], ["fine", "great"], ["nice"], []], 2)
    point = np.array([0, 2, 1, 0], np.int32)
    assert space.text(point) == "A great, nice film."
    assert space.changes(point) == (Change(1, "good", "great"), Change(2, "good", "nice"))
    assert space.size == 1 + 3 + 2
    assert len(space) == len(list(space)) == 6


def test_probes_render_without_a_trace() -> None:
    space = Space("A good film.", [[], ["fine"], []])
    assert space.text(np.array([0, MASKED, 0])) == "A [UNK] film."
    assert space.text(np.array([0, DELETED, 0])) == "A film."
    assert space.text(np.array([DELETED, 0, 0])) == "good film."
    assert not space.contains(np.array([0, MASKED, 0]))


def test_contains() -> None:
    space = Space("a b c", [["x"], ["y"], ["z"]], 2)
    assert space.contains(np.array([1, 1, 0]))
    assert not space.contains(np.array([1, 1, 1]))
    assert not space.contains(np.array([2, 0, 0]))
    assert not space.contains(np.array([1, 1]))
    assert space.contains(Text.parse("x b z"))
    assert not space.contains(Text.parse("x y z"))
    assert not space.contains(Text.parse("q b c"))
    assert not space.contains(Text.parse("x  b c"))


def test_restrict() -> None:
    space = Space("a b c d", [["x"], ["y"], ["z"], ["w"]])
    assert space.restrict(positions=[1, 2]).size == 4
    assert space.restrict(max_swaps=1).size == 5
    assert space.restrict(max_share=0.5).max_swaps == 2
    assert space.restrict(positions=[]).size == 1
    with pytest.raises(InputError, match="expected positions from 0 to 3, got 4"):
        space.restrict(positions=[4])


def test_around_is_the_restricted_space() -> None:
    def two(text: Text) -> list[list[str]]:
        return [["x", "y"] for _ in text.words]

    whole = Space("a b c d", two(Text.parse("a b c d")))
    limits: list[tuple[int | None, float | None]] = [
        (None, None),
        (1, None),
        (None, 0.5),
        (3, 0.5),
        (1, 0.75),
        (9, None),
    ]
    for max_swaps, max_share in limits:
        found = Space.around("a b c d", two, max_swaps=max_swaps, max_share=max_share)
        assert found.fingerprint == whole.restrict(max_swaps=max_swaps, max_share=max_share).fingerprint
    assert [Space.around("a b c d", two, *limit).max_swaps for limit in limits] == [4, 1, 2, 2, 1, 4]
    with pytest.raises(InputError, match="expected max_swaps >= 0, got -1"):
        Space.around("a b", two, max_swaps=-1)


@pytest.mark.parametrize(
    ("words", "share", "swaps"), [(10, 0.25, 2), (3, 0.25, 1), (100, 0.29, 29), (0, 0.5, 0), (20, 1.0, 20)]
)
def test_allowed_swaps(words: int, share: float, swaps: int) -> None:
    assert allowed_swaps(words, share) == swaps


def test_allowed_swaps_wants_a_share() -> None:
    with pytest.raises(InputError, match=r"expected a share of words in \(0, 1\], got 0"):
        allowed_swaps(10, 0)


def test_the_last_points_of_a_space_with_large_inner_counts() -> None:
    space = Space("a " * 100, [["b"]] * 100)
    assert space.size == 2**100
    assert space.points(space.size - 1, space.size).tolist() == [[1] * 100]
    assert (space.points(space.size - 3, space.size).sum(axis=1) == [99, 99, 100]).all()


@pytest.mark.parametrize("max_swaps", [0, 1, 7, 40])
def test_size_is_the_sum_of_the_strata(max_swaps: int) -> None:
    space = Space("a " * 40, [[f"b{j}" for j in range(i % 4)] for i in range(40)], max_swaps)
    assert space.size == sum(space.stratum(k) for k in range(space.max_swaps + 1))


def test_whole_text_predicate() -> None:
    def short(texts):  # type: ignore[no-untyped-def]
        return np.array([len(text) <= 5 for text in texts])

    space = Space("a b", [["xx", "y"], ["zzz"]], predicate=short)
    inside = {space.text(point) for point in space.points() if space.contains(point)}
    assert inside == {"a b", "xx b", "y b", "a zzz", "y zzz"}
    draws = space.sample(np.random.default_rng(0), 5000)
    counts = Counter(space.text(point) for point in draws)
    assert set(counts) == inside
    assert chisquare(list(counts.values())).pvalue > 1e-4


def test_a_predicate_that_accepts_nothing_is_reported() -> None:
    space = Space("a " * 30, [["x"]] * 30, predicate=lambda texts: np.zeros(len(texts), bool))
    with pytest.raises(InputError, match="too few to sample"):
        space.sample(np.random.default_rng(0), 10)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ([["x"]], "expected substitutes for 2 words, got 1 lists"),
        ([["a"], []], "expected substitutes other than the word itself, got 'a'"),
        ([["x", "x"], []], "expected distinct substitutes"),
    ],
)
def test_bad_choices(choices: list[list[str]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Space("a b", choices)


def test_bad_limits() -> None:
    with pytest.raises(InputError, match="expected max_swaps >= 0, got -1"):
        Space("a", [["x"]], -1)
    with pytest.raises(InputError, match="expected 0 <= start <= stop <= 2"):
        Space("a", [["x"]]).points(0, 3)


def test_a_table_that_would_not_fit_is_refused() -> None:
    space = Space(Text.from_words(["a"] * 100_000), [["x"]] * 100_000)
    with pytest.raises(InputError, match="cannot sample 100000 swaps over 100000 words"):
        space.sample(np.random.default_rng(0), 1)
    assert not space.is_within(10**6)


def test_singles_and_keys() -> None:
    space = Space("a b c", [["x", "y"], [], ["z"]])
    singles = space.singles()
    assert [space.text(point) for point in singles.dense()] == ["x b c", "y b c", "a b z"]
    base = np.array([2, 0, 1], np.int32)
    assert [space.text(point) for point in space.singles(base, [0]).dense()] == ["x b z", "y b z"]
    assert [space.text(point) for point in space.singles(base, [2, 0]).dense()] == ["y b z", "x b z", "y b z"]
    assert len(space.singles(base, [1])) == len(space.singles(base, [])) == 0
    assert base.tolist() == [2, 0, 1]
    swaps = Swaps.of(base, np.array([0, 2, 0, 1]), np.array([1, 0, MASKED, DELETED]))
    assert keys(swaps) == keys(swaps.dense())
    two = Swaps(np.stack([base, space.origin]), np.array([1, 0, 1]), np.array([0, 1, 2]), np.array([1, 0, 1]))
    assert keys(two) == keys(two.dense())
    assert (zobrist(swaps) == zobrist(swaps.dense())).all()
    assert (dense(swaps[1:3]) == swaps.dense()[1:3]).all()


def test_keys_of_long_texts_are_exact_and_short() -> None:
    base = np.zeros(2000, np.int32)
    base[[5, 700]] = 3
    swaps = Swaps.of(base, np.array([4, 5, 5, 700, 1999]), np.array([1, 0, 2, MASKED, 7]))
    assert keys(swaps) == keys(swaps.dense())
    assert [np.frombuffer(key, np.int32).tolist() for key in keys(swaps)] == [
        [4, 1, 5, 3, 700, 3],
        [700, 3],
        [5, 2, 700, 3],
        [5, 3, 700, MASKED],
        [5, 3, 700, 3, 1999, 7],
    ]
    assert keys(np.zeros((2, 0), np.int32)) == [b"", b""]
    assert keys(np.zeros((0, 3), np.int32)) == keys(swaps[:0]) == []


@settings(max_examples=30)
@given(sizes_strategy, st.integers(0, 6))
def test_keys_tell_points_apart(sizes: list[int], r: int) -> None:
    points = Strata(np.array(sizes, np.int64), r).points()
    assert len(set(keys(points))) == len(points)
    assert len(set(zobrist(points).tolist())) == len(points)


def test_fingerprint_depends_on_everything() -> None:
    spaces = [
        Space("a b", [["x"], []]),
        Space("a  b", [["x"], []]),
        Space("a b", [["y"], []]),
        Space("a b", [["x"], []], 0),
        Space(Text.parse("a b", premise="p"), [["x"], []]),
    ]
    assert len({space.fingerprint for space in spaces}) == len(spaces)


def test_a_predicate_that_says_what_it_depends_on_is_part_of_the_fingerprint() -> None:
    class Longer:
        def __init__(self, least: int) -> None:
            self.spec = {"name": "longer", "least": least}

        def __call__(self, inputs: Sequence[Input]) -> BoolArray:
            return np.array([len(str(given)) > self.spec["least"] for given in inputs])  # type: ignore[operator]

    def space(predicate: Longer | None) -> Space:
        return Space("a b", [["c"], []], predicate=predicate)

    assert space(Longer(1)).fingerprint == space(Longer(1)).fingerprint
    assert len({space(Longer(1)).fingerprint, space(Longer(2)).fingerprint, space(None).fingerprint}) == 3
