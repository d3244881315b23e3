"""Text: the words of a text and the exact gaps between them.

Guarantee: `str(Text.parse(s)) == s` for every string, so a swap changes the swapped words and nothing else.

A word is a run of letters, digits and combining marks; an apostrophe or hyphen between two of them belongs to the
word ("don't", "well-known").  Everything else (white space, punctuation, emoji, control characters) is gap.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from lexproof.errors import InputError
from lexproof.marks import RANGES

Input = str | tuple[str, str]
"""What a victim reads: one string, or (premise, hypothesis)."""

_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:['-][A-Za-z0-9]+)*")


@cache
def _unicode_word() -> re.Pattern[str]:
    # `re` does not count combining marks as word characters, which would tear "e\u0301" and most Indic words apart.
    ends = (span.partition("-") for span in RANGES.split())
    marks = "".join(f"{chr(int(low, 16))}-{chr(int(high or low, 16))}" for low, _, high in ends)
    unit = rf"[^\W_][{marks}]*"
    return re.compile(rf"(?:{unit})+(?:['’\-‐](?:{unit})+)*")


def word_pattern(string: str) -> re.Pattern[str]:
    """The pattern that finds the words of this string."""
    return _ASCII_WORD if string.isascii() else _unicode_word()


@cache
def _splitter(word: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile(f"({word.pattern})")  # a group keeps the words when gaps are split off


@dataclass(frozen=True, slots=True)
class Text:
    """Words w_1 … w_n with gaps g_0 … g_n; the surface is g_0 w_1 g_1 … w_n g_n.

    A pair (entailment) has a frozen `premise`; the words are those of the hypothesis.
    """

    words: tuple[str, ...]
    gaps: tuple[str, ...]
    premise: str | None = None

    def __post_init__(self) -> None:
        if len(self.gaps) != len(self.words) + 1:
            raise InputError(f"expected {len(self.words) + 1} gaps for {len(self.words)} words, got {len(self.gaps)}")

    @classmethod
    def parse(cls, surface: str, premise: str | None = None) -> Text:
        """Split a string into words and gaps, losing nothing."""
        pieces = _splitter(word_pattern(surface)).split(surface)
        return cls(tuple(pieces[1::2]), tuple(pieces[0::2]), premise)

    @classmethod
    def from_words(cls, words: Sequence[str], premise: str | None = None) -> Text:
        """A text from words that are already split, joined by single spaces."""
        gaps = ("", *([" "] * (len(words) - 1)), "") if words else ("",)
        return cls(tuple(words), gaps, premise)

    def __str__(self) -> str:
        pieces = [self.gaps[0]]
        for word, gap in zip(self.words, self.gaps[1:], strict=True):
            pieces += (word, gap)
        return "".join(pieces)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def input(self) -> Input:
        """What a victim reads."""
        return str(self) if self.premise is None else (self.premise, str(self))

    def swap(self, changes: Mapping[int, str]) -> Text:
        """The text with the words at these positions replaced; gaps and premise stay."""
        words = list(self.words)
        for position, word in changes.items():
            words[position] = word
        return Text(tuple(words), self.gaps, self.premise)
