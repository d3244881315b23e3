"""What accuracy becomes without a word, and when the word is put in: the question of the SP paper's appendix D.

Texts that hold the word: accuracy as they are, and after the word is removed, which is taken not to change the gold
label.  Texts that do not: accuracy as they are, and attacked with the word: a text counts as right if it is classified
correctly and the word flips it at no position.

Guarantee: all four are shares of texts drawn by the seed, each with its n and its Clopper-Pearson interval over the
draw.  `attacked` is a bracket where rows leave open whether the word flips a text.  Texts that the victim cannot read
are left out.

Reference: Xu et al. 2024, Single Word Change is All You Need, appendix D and figure 8.  Deviation: a text holds a word
if one of its words is that word in whatever case, and all of them are removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lexproof.errors import ModelError
from lexproof.search import Seed
from lexproof.single_words.answer import CONFIDENCE, Estimate
from lexproof.single_words.flips import NOWHERE, TextFlips
from lexproof.statistics.intervals import clopper_pearson
from lexproof.text import Input, Text
from lexproof.victims.base import Victim

MOST = 1000
"""Texts of either kind that are drawn for a word, as in the paper."""

_BLOCK = 256  # texts read at once


@dataclass(frozen=True, slots=True)
class WordAccuracy:
    """Accuracy on texts with a word, as they are and with it removed; on texts without, as they are and attacked."""

    word: str
    with_word: Estimate
    removed: Estimate
    without_word: Estimate
    attacked: Estimate

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary of the four shares."""
        names = ("with_word", "removed", "without_word", "attacked")
        return {name: getattr(self, name).to_json() for name in names}


@dataclass(frozen=True, slots=True)
class Gold:
    """Texts with their labels; None: what the victim predicts is gold."""

    texts: Sequence[Text]
    labels: Sequence[int] | None


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Numbers of texts that hold a word, with that word removed from each, and of texts that do not hold it."""

    removed: Mapping[int, Text]
    others: Sequence[int]


def accuracies(
    victim: Victim,
    asked: Gold,
    rows: Mapping[int, TextFlips],
    words: Mapping[str, int],
    seed: Seed,
    *,
    pool: Gold | None = None,
    most: int = MOST,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, WordAccuracy]:
    """The four accuracies of each word; `words` says where it stands in the vocabulary of the rows.

    `rows` are those of the texts of D+ among those asked about.  Texts that hold a word are drawn from `pool`, such as
    the whole set of which the texts asked about are a sample.  What has to be read is read once, for all words.
    """
    pool = pool or asked
    drawn = _draw(asked.texts, pool.texts, words, seed, most)
    unread: dict[Input, None] = {}
    for own in drawn.values():
        for key, text in own.removed.items():
            unread |= {pool.texts[key].input: None, text.input: None}
        unread |= {asked.texts[key].input: None for key in own.others if key not in rows and asked.labels is not None}
    predicted = _predict(victim, list(unread), progress)
    return {
        word: WordAccuracy(
            word, *_with_word(pool, own.removed, predicted), *_without_word(asked, own, rows, words[word], predicted)
        )
        for word, own in drawn.items()
    }


def _with_word(pool: Gold, removed: Mapping[int, Text], predicted: Mapping[Input, int]) -> tuple[Estimate, Estimate]:
    """Accuracy as they are and after the removal, over the texts that can be read both ways."""
    n = before = after = 0
    for key, text in removed.items():
        guess, then = predicted.get(pool.texts[key].input), predicted.get(text.input)
        if guess is not None and then is not None:
            gold = guess if pool.labels is None else int(pool.labels[key])
            n, before, after = n + 1, before + (guess == gold), after + (then == gold)
    return _share(before, n), _share(after, n)


def _without_word(
    asked: Gold, own: _Drawn, rows: Mapping[int, TextFlips], word: int, predicted: Mapping[Input, int]
) -> tuple[Estimate, Estimate]:
    """Accuracy as they are and under attack; a text of D+ without a row may be flipped for all that is known."""
    n = right = known = possible = 0
    for key in own.others:
        row, guess = rows.get(key), predicted.get(asked.texts[key].input)
        if row is None and (guess is None or asked.labels is None):
            continue  # it cannot be read: without labels, D+ is all that can
        is_right = row is not None or (asked.labels is not None and guess == asked.labels[key])
        n, right = n + 1, right + is_right
        known += row is not None and bool(row.position[word] != NOWHERE)
        possible += is_right and (row is None or bool(row.possible[word]))
    return _share(right, n), _share(right - possible, n, right - known)


def without(text: Text, word: str) -> Text:
    """The text without any occurrence of a word, in whatever case, and without one space beside each."""
    words, gaps = [], [text.gaps[0]]
    for own, gap in zip(text.words, text.gaps[1:], strict=True):
        if own.lower() == word.lower():
            gaps[-1] = _joined(gaps[-1], gap)
        else:
            words.append(own)
            gaps.append(gap)
    return Text(tuple(words), tuple(gaps), text.premise)


def _joined(before: str, after: str) -> str:
    """The gap where a word stood, less a space, unless that would join what stands on either side."""
    if before.endswith(" "):
        return before[:-1] + after
    is_apart = not before or before[-1].isspace()
    return before + (after[1:] if is_apart and after.startswith(" ") else after)


def _draw(
    asked: Sequence[Text], pool: Sequence[Text], words: Iterable[str], seed: Seed, most: int
) -> dict[str, _Drawn]:
    """At most so many texts of either kind for each word, by the seed, in their order."""
    here, there = ([frozenset(map(str.lower, text.words)) for text in texts] for texts in (asked, pool))
    drawn = {}
    for word in words:
        own = seed.child(word)
        holding = _chosen([key for key, held in enumerate(there) if word.lower() in held], own.child("with"), most)
        others = _chosen([key for key, held in enumerate(here) if word.lower() not in held], own.child("without"), most)
        drawn[word] = _Drawn({key: without(pool[key], word) for key in holding}, others)
    return drawn


def _chosen(keys: list[int], seed: Seed, most: int) -> list[int]:
    if len(keys) <= most:
        return keys
    return sorted(seed.generator().choice(keys, most, replace=False).tolist())


def _predict(victim: Victim, inputs: Sequence[Input], progress: Callable[[int, int], None] | None) -> dict[Input, int]:
    """The label of each text that the victim can read."""
    found: dict[Input, int] = {}
    for start in range(0, len(inputs), _BLOCK):
        block = inputs[start : start + _BLOCK]
        for given, label in zip(block, victim.try_predict(block), strict=True):
            if not isinstance(label, ModelError):
                found[given] = label
        if progress is not None:
            progress(start + len(block), len(inputs))
    return found


def _share(least: int, n: int, most: int | None = None) -> Estimate:
    """A share of n texts, or a bracket of it; of no texts nothing is known."""
    if not n:
        return Estimate(0.0, 1.0, 0.0, 1.0, 0)
    top = least if most is None else most
    low, high = clopper_pearson(least, n, CONFIDENCE)[0], clopper_pearson(top, n, CONFIDENCE)[1]
    return Estimate(least / n, top / n, low, high, n)
