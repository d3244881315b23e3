"""Which words move together: chosen ones, each word by itself, all pairs, or sets drawn at random."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import comb

import numpy as np

from lexproof.errors import InputError
from lexproof.search import Seed
from lexproof.text import Text

MOST_PAIRS = 1_000  # index sets of one text
MOST_WORDS = 5  # of a set that is drawn

IndexSet = tuple[int, ...]


def check_words(text: Text, words: Sequence[int]) -> IndexSet:
    """The index set in ascending order; InputError for words outside the text, repeated ones, or none."""
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise InputError(f"expected a list of the numbers of words, got {words!r}")
    numbers = list(words)
    if not numbers:
        raise InputError("expected at least one word that may move, got none")
    for word in numbers:
        if isinstance(word, bool) or not isinstance(word, int | np.integer):
            raise InputError(f"expected the numbers of words, got {word!r}")
        if not 0 <= word < len(text):
            last = f"words 0 to {len(text) - 1}" if len(text) else "no words"
            raise InputError(f"expected words of the text, which has {last}, got {word}")
    if len(set(numbers)) < len(numbers):
        twice = next(word for word in numbers if numbers.count(word) > 1)
        raise InputError(f"expected each word once, got {twice} more than once")
    return tuple(sorted(int(word) for word in numbers))


def index_sets(text: Text, spec: str, seed: int = 0) -> list[IndexSet]:
    """The sets that a word for them names: `each`, `pairs`, or `KxCOUNT`, COUNT different sets of K words at random.

    Where a text has no more than COUNT sets of K words, all of them; where it has fewer than K words, none.
    """
    if spec == "each":
        return [(word,) for word in range(len(text))]
    if spec == "pairs":
        pairs = comb(len(text), 2)
        if pairs > MOST_PAIRS:
            raise InputError(
                f"expected a short text for all pairs, at most {MOST_PAIRS} of them, got {len(text)} words with "
                f"{pairs}; draw some with 2x{MOST_PAIRS}"
            )
        return list(combinations(range(len(text)), 2))
    size, count = _drawn(spec)
    total = comb(len(text), size)
    if total <= count:
        return list(combinations(range(len(text)), size))
    rng = Seed(seed, ("index sets", text, size, count)).generator()
    found: set[IndexSet] = set()
    while len(found) < count:
        found.add(tuple(sorted(rng.choice(len(text), size, replace=False).tolist())))
    return sorted(found)


def _drawn(spec: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,9})x(\d{1,9})", spec)
    if match is None:
        raise InputError(f"expected index sets as 'each', 'pairs' or KxCOUNT such as 3x20, got {spec!r}")
    size, count = int(match[1]), int(match[2])
    if not 1 <= size <= MOST_WORDS or not count:
        raise InputError(f"expected sets of 1 to {MOST_WORDS} words and at least one of them, got {spec!r}")
    return size, count
