"""Labels: names, other case, indexes, and numbering when no names are known."""

from __future__ import annotations

import pytest

from lexproof.data.labels import Labeler, number_labels, raw_label
from lexproof.errors import DataError


@pytest.mark.parametrize(("value", "expected"), [(1, 1), ("pos", "pos"), (" pos ", "pos"), (2.0, 2), ("1", "1")])
def test_raw_labels(value, expected):
    assert raw_label(value) == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "no label"),
        ("", "no label"),
        ("  ", "expected a label that is an integer or a string"),
        (False, "got bool False"),
        (1.5, "got float 1.5"),
        (float("nan"), "got float nan"),
        ([1], r"got list \[1\]"),
    ],
)
def test_values_that_are_no_label(value, message):
    with pytest.raises(DataError, match=message):
        raw_label(value)


@pytest.mark.parametrize(
    ("names", "raw", "expected"),
    [
        (("neg", "pos"), "pos", 1),
        (("neg", "pos"), "POS", 1),
        (("neg", "pos"), 0, 0),
        (("neg", "pos"), "1", 1),
        (("1", "2"), 1, 0),  # a name wins over an index
        (("1", "2"), "2", 1),
        (("A", "a"), "a", 1),
    ],
)
def test_indexes_among_names(names, raw, expected):
    assert Labeler(names).index(raw) == expected


def test_indexes_of_a_set_with_the_same_names_in_another_order():
    labeler = Labeler(("Business", "sports", "World"), own=("World", "Sports", "Business"))
    assert [labeler.index(raw) for raw in (0, 1, "2", "world", "Business")] == [2, 1, 0, 2, 0]
    assert Labeler(("bad", "good"), own=("negative", "positive")).index(1) == 1


@pytest.mark.parametrize("names", [("pos", "neg"), ("Positive!", "Negative!"), ("p", "n")])
def test_shorter_and_longer_names_are_told_apart_whatever_their_order(names):
    labeler = Labeler(names, own=("negative", "positive"))
    assert [labeler.index(raw) for raw in (0, 1)] == [1, 0]
    assert not labeler.notice


def test_classes_with_other_names_are_taken_in_order_and_that_is_said():
    assert "negative as bad, positive as good" in Labeler(("bad", "good"), own=("negative", "positive")).notice
    assert "negative as nothing, positive as neg" in Labeler(("nothing", "neg"), own=("negative", "positive")).notice
    for numbered in (("0", "1"), ("LABEL_0", "LABEL_1")):  # names that only count
        labeler = Labeler(numbered, own=("negative", "positive"))
        assert [labeler.index(raw) for raw in (0, 1)] == [0, 1] and not labeler.notice


def test_indexes_of_a_set_with_some_of_the_names():
    labeler = Labeler(("negative", "neutral", "positive"), own=("negative", "positive"))
    assert [labeler.index(raw) for raw in (0, 1, "neutral")] == [0, 2, 1]


def test_a_set_of_other_classes_is_refused():
    with pytest.raises(DataError, match=r"expected the classes negative, positive, got World, Sports, Business"):
        Labeler(("negative", "positive"), own=("World", "Sports", "Business"))


@pytest.mark.parametrize("raw", ["other", 2, -1, "-1", "1.0"])
def test_labels_outside_the_names(raw):
    with pytest.raises(DataError, match=rf"label {raw!r} is not one of neg, pos"):
        Labeler(("neg", "pos")).index(raw)


@pytest.mark.parametrize(
    ("raw", "indexes", "names"),
    [
        ([0, 2, 1], (0, 2, 1), ("0", "1", "2")),
        (["1", "0"], (1, 0), ("0", "1")),
        ([3], (3,), ("0", "1", "2", "3")),  # an index stays what it is, however few rows were read
        ([-1, 1], (0, 1), ("-1", "1")),
        ([10, 900], (0, 1), ("10", "900")),
        (["pos", "neg", "pos"], (1, 0, 1), ("neg", "pos")),
        (["pos", 1], (1, 0), ("1", "pos")),
    ],
)
def test_numbering_without_names(raw, indexes, names):
    assert number_labels(raw) == (indexes, names)
