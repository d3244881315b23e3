"""Which parts of speech a word can be, by the embedded lexicon, and how those of many words are spread.

A word stands by itself here, without a sentence that would decide between its readings: all of them are named, the
likeliest first, and where each word may count once it counts by that first one.  Function words, names and words that
the lexicon does not know are "other".

Reference: Xu et al. 2024, Single Word Change is All You Need, table 6, which has no column for other words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from lexproof.candidates.lexicon import embedded

OTHER = "other"

PARTS = {"n": "noun", "v": "verb", "a": "adjective", "r": "adverb"}
"""Names of the lexicon's parts of speech, in the order of the paper's table."""


def parts_of(word: str) -> tuple[str, ...]:
    """The parts of speech that a word can be, the likeliest first; ("other",) if the lexicon knows none."""
    found = dict.fromkeys(PARTS[reading.pos] for reading in embedded().analyze(word.lower()))
    return tuple(found) or (OTHER,)


def part_of_speech(word: str) -> str:
    """The same in one string, such as "noun/verb"."""
    return "/".join(parts_of(word))


def count_parts(words: Iterable[str]) -> dict[str, int]:
    """How many of the words are of each part of speech, by their first reading; parts without words are there, too."""
    counts = Counter(parts_of(word)[0] for word in words)
    return {part: counts[part] for part in (*PARTS.values(), OTHER)}
