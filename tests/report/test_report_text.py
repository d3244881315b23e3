"""Hidden characters, segments, numerals: what the page writes is what the text says."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexproof.report.numerals import at_least, at_most, confidence, count, duration, percent, plural
from lexproof.report.segments import Segment, after_swaps, segments
from lexproof.report.visible import visible
from lexproof.text import Text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("nul\x00 bell\x07 del\x7f", "nul‹U+0000› bell‹U+0007› del‹U+007F›"),
        ("line\nbreak\ttab", "line\nbreak\ttab"),
        ("dos\r\nline", "dos\nline"),
        ("lone\rreturn", "lone‹U+000D›return"),
        ("a\u202eb\u2066c\u200e", "a‹U+202E›b‹U+2066›c‹U+200E›"),
        ("zero\u200bwidth \ufeffmark", "zero‹U+200B›width ‹U+FEFF›mark"),
        ("para\u2028graph\u2029", "para‹U+2028›graph‹U+2029›"),
        ("half \ud800", "half ‹U+D800›"),
        ("👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("go\u200dod", "go‹U+200D›od"),
        ("no\xa0break", "no\xa0break"),
    ],
)
def test_hidden_characters_are_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_no_hidden_character_is_left(text: str) -> None:
    for character, before in zip(visible(text), " " + visible(text), strict=False):
        kept = character in "\n\t" or (character in "\u200c\u200d" and not before.isascii())
        shaped = character in "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
        assert kept or shaped or unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def swap(position: int, old: str, new: str) -> dict[str, object]:
    return {"position": position, "old": old, "new": new}


def test_segments_mark_swaps_and_fragile_words() -> None:
    cut = segments("A good, good film!", [swap(2, "good", "decent")], [swap(3, "film", "movie")])
    assert cut == (
        Segment("plain", "A good, ", "A good, "),
        Segment("swap", "good", "decent"),
        Segment("plain", " ", " "),
        Segment("fragile", "film", "film"),
        Segment("plain", "!", "!"),
    )
    assert [s.to_json() for s in cut] == ["A good, ", ["good", "decent"], " ", ["film"], "!"]
    assert after_swaps(cut) == "A good, decent film!"


def test_a_swapped_word_that_is_also_fragile_is_shown_as_swapped() -> None:
    cut = segments("good", [swap(0, "good", "fine")], [swap(0, "good", "nice")])
    assert cut == (Segment("swap", "good", "fine"),)


@pytest.mark.parametrize("change", [swap(1, "nice", "fine"), swap(9, "good", "fine"), swap(-1, "film", "fine")])
def test_swaps_that_do_not_fit_mark_nothing(change: dict[str, object]) -> None:
    assert segments("good film", [change], []) == (Segment("plain", "good film", "good film"),)


def test_long_passages_fold_and_lose_nothing() -> None:
    passage = "word " * 300
    cut = segments(passage + "good end", [swap(300, "good", "fine")], [])
    assert [s.kind for s in cut] == ["plain", "fold", "plain", "swap", "plain"]
    assert "".join(s.old for s in cut) == passage + "good end"
    assert cut[1].to_json() == {"fold": cut[1].old, "words": cut[1].words}
    assert cut[0].words + cut[1].words + cut[2].words == 300


def test_a_long_passage_without_spaces_is_not_torn() -> None:
    assert [s.kind for s in segments("x" * 2000, [], [])] == ["plain"]


@given(st.text(), st.sets(st.integers(0, 8)), st.sets(st.integers(0, 8)))
def test_segments_spell_the_original(surface: str, swapped: set[int], fragile: set[int]) -> None:
    words = Text.parse(surface).words
    changed = [swap(i, words[i], "new") for i in sorted(swapped) if i < len(words)]
    alone = [swap(i, words[i], "new") for i in sorted(fragile) if i < len(words)]
    cut = segments(surface, changed, alone)
    assert "".join(s.old for s in cut) == visible(surface)
    assert [s.old for s in cut if s.kind == "swap"] == [visible(words[c["position"]]) for c in changed]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0.0, "0%"),
        (1.0, "100%"),
        (1e-9, "<0.1%"),
        (0.0009, "<0.1%"),
        (0.001, "0.1%"),
        (0.0312, "3.1%"),
        (0.0996, "10%"),
        (0.48, "48%"),
        (0.9, "90%"),
        (0.9333, "93.3%"),
        (0.99951, ">99.9%"),
    ],
)
def test_percent_never_rounds_to_none_or_all(value: float | None, written: str) -> None:
    assert percent(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"),
        ("123456", "123,456"),
        (10**12 - 1, "999,999,999,999"),
        (10**41, "1.00\u00a0×\u00a010⁴¹"),
        ("7" * 6000, "7.77\u00a0×\u00a010⁵⁹⁹⁹"),
    ],
)
def test_counts_of_any_size(value: int | str, written: str) -> None:
    assert count(value) == written


@pytest.mark.parametrize(
    "value,down,up",
    [
        (0.42668, "0.426", "0.427"),
        (0.5, "0.5", "0.5"),
        (0.0, "0", "0"),
        (7.0710678, "7.07", "7.08"),
        (10.0, "10", "10"),
        (0.9999, "0.999", "1"),
        (1.23456e-7, "1.23e-07", "1.24e-07"),
        (123456.0, "1.23e+05", "1.24e+05"),
    ],
)
def test_bounds_are_rounded_to_the_safe_side(value: float, down: str, up: str) -> None:
    assert (at_least(value), at_most(value)) == (down, up)
    assert float(at_least(value)) <= value <= float(at_most(value))


def test_other_numerals() -> None:
    assert (plural(1, "swap"), plural(2, "swap"), plural(0, "swap")) == ("1 swap", "2 swaps", "0 swaps")
    assert (confidence(0.95), confidence(0.995)) == ("95%", "99.5%")
    written = [duration(s).replace("\u00a0", " ") for s in (0.0512, 31.2, 59.6, 125, 3780)]
    assert written == ["0.051 s", "31 s", "1 min 0 s", "2 min 5 s", "1 h 3 min"]
