"""Parts of speech of single words, and how those of many are counted."""

from __future__ import annotations

import pytest

from lexproof.single_words.parts import OTHER, PARTS, count_parts, part_of_speech, parts_of

SPOKEN = {
    "never": "adverb",
    "Never": "adverb",
    "loses": "verb",
    "journey": "noun/verb",
    "tedious": "adjective",
    "the": OTHER,
    "zwxq": OTHER,
    "": OTHER,
    "two words": OTHER,
}


@pytest.mark.parametrize(("word", "expected"), SPOKEN.items(), ids=repr)
def test_part_of_speech(word: str, expected: str) -> None:
    assert part_of_speech(word) == expected


def test_each_part_is_named_once() -> None:
    for word in ("worst", "films", "cut", "better", "flying"):
        parts = parts_of(word)
        assert len(set(parts)) == len(parts) and set(parts) <= set(PARTS.values())


def test_every_word_counts_once_by_its_first_reading() -> None:
    words = ["never", "journey", "journey", "the", "loses", "tedious"]
    assert count_parts(words) == {"noun": 2, "verb": 1, "adjective": 1, "adverb": 1, "other": 1}
    assert count_parts([]) == {"noun": 0, "verb": 0, "adjective": 0, "adverb": 0, "other": 0}
