"""The words of the training texts, and the special words of each class: those that speak for another one.

    T(y) = { t : max over y' != y of log (1 + n(t, y')) - log (1 + n(t, y)) > gap }

Symbols: n(t, y) how often the word t stands in the training texts of class y; T(y) what is put into texts of class y.
Only words of letters count, lower-cased; of a pair only the hypothesis is read, the part that may change.

Reference: Equation 6 of Xu et al. 2024.  The paper leaves open what the logarithm of 0 is; one is added to every
count, as its released code does, so that a word seen once is special for no class at the usual gap of 1.  Counts are
not divided by the size of a class: where one class is e times as large as another, words that tell nothing apart are
special for the smaller one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from lexproof.edits import as_text
from lexproof.errors import InputError
from lexproof.text import Input

Words = tuple[str, ...]


def word_counts(inputs: Sequence[Input], gold: Sequence[int], classes: int) -> list[Counter[str]]:
    """n(·, y) for each class y."""
    counts: list[Counter[str]] = [Counter() for _ in range(classes)]
    for given, label in zip(inputs, gold, strict=True):
        counts[label].update(word.lower() for word in as_text(given).words if word.isalpha())
    return counts


def training_words(counts: Sequence[Counter[str]], least: int) -> Words:
    """The words that stand at least so often in the texts, the most frequent first, equals by alphabet."""
    total: Counter[str] = Counter()
    for own in counts:
        total.update(own)
    found = [word for word, count in total.items() if count >= least]
    if len(found) < 2:
        raise InputError(
            f"expected at least 2 words of letters that the training texts hold {least} times, got {len(found)}; "
            "give more texts or lower least"
        )
    return tuple(sorted(found, key=lambda word: (-total[word], word)))


def special_words(counts: Sequence[Counter[str]], gap: float = 1.0, most: int = 2000) -> list[Words]:
    """T(y) for each class y: the widest gap first, equals by alphabet, at most so many."""
    return [_special(own, [other for other in counts if other is not own], gap, most) for own in counts]


def _special(own: Counter[str], others: Sequence[Counter[str]], gap: float, most: int) -> Words:
    gaps = {
        word: math.log1p(max(other[word] for other in others)) - math.log1p(own[word])
        for word in {word for other in others for word in other}
    }
    found = [word for word, width in gaps.items() if width > gap]
    return tuple(sorted(found, key=lambda word: (-gaps[word], word))[:most])
