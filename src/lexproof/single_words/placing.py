"""Placing words: the texts in which one word of a vocabulary replaces one word of a text, as points of a space.

    S(x, w) = { x with w in place of its i-th word : i = 1 … n }

Positions are words as `lexproof.text` finds them; those of a pair are the hypothesis' only.  Where w already stands it
changes nothing: that "placement" is the text itself.  Symbols: n words of x, V words of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np

from lexproof.answers import Cost
from lexproof.engine import Engine, Task
from lexproof.errors import InputError, ModelError
from lexproof.goal import Goal
from lexproof.points import BoolArray, IntArray
from lexproof.running import Limits, Outcome
from lexproof.search import Search
from lexproof.single_words.flips import NOWHERE, Positions, TextFlips
from lexproof.space import Space
from lexproof.text import Text
from lexproof.victims.base import Victim

Progress = Callable[[str, int, int], None]
"""Called with (what is being done, finished texts, all texts)."""

_CELLS = 1 << 24  # places times words of the texts that are held at once: 64 MB where a search keeps a number for each
_WIDTH = 64  # texts searched at once where memory does not matter


def untold(what: str, done: int, texts: int) -> None:
    """Tells nobody."""


class Placing:
    """A text and the words that may be placed in it; the space holds one swap at most."""

    def __init__(self, text: Text, words: tuple[str, ...], index: dict[str, int]) -> None:
        self.text, self.words = text, words
        self.own: IntArray = np.array([index.get(word, NOWHERE) for word in text.words], np.int32)

    @cached_property
    def space(self) -> Space:
        """The text and all placements."""
        words = self.words
        choices = [words if k == NOWHERE else words[:k] + words[k + 1 :] for k in self.own.tolist()]
        return Space(self.text, choices, 1)

    def points(self, positions: IntArray, words: IntArray) -> IntArray:
        """The texts with `words[b]` at `positions[b]`, as dense points (B, n)."""
        own = self.own[positions]
        choices = words + 1 - ((own != NOWHERE) & (words > own))
        points = np.zeros((len(words), len(self.text)), np.int32)
        points[np.arange(len(words)), positions] = np.where(words == own, 0, choices)
        return points

    @property
    def changes(self) -> BoolArray:
        """Which words change the text at some position: all of them, unless the text is one of them over and over."""
        found = np.full(len(self.words), len(self.text) > 0)
        if len(self.text) and self.own[0] != NOWHERE and (self.own == self.own[0]).all():
            found[self.own[0]] = False
        return found

    def nothing_known(self) -> Positions:
        """No position for any word."""
        return np.full(len(self.words), NOWHERE, np.int32)


class Placings:
    """Correctly classified texts with their labels, and the words that are placed in each of them."""

    def __init__(self, victim: Victim, texts: Sequence[Text], labels: Sequence[int], words: Sequence[str]) -> None:
        if not len(words):
            raise InputError("expected at least one word to place, got an empty vocabulary")
        if len(texts) != len(labels):
            raise InputError(f"expected a label for each of {len(texts)} texts, got {len(labels)}")
        self.victim, self.texts, self.words = victim, texts, tuple(words)
        self.goals = [Goal(int(label)) for label in labels]  # without slack: the victim decides
        for goal in self.goals:
            goal.check(victim.classes)
        self._index = {word: k for k, word in enumerate(self.words)}
        if len(self._index) != len(self.words):
            twice = next(word for k, word in enumerate(self.words) if self._index[word] != k)
            raise InputError(f"expected distinct words, got {twice!r} more than once")

    def __getitem__(self, at: int) -> Placing:
        return Placing(self.texts[at], self.words, self._index)

    def run(
        self, which: Sequence[int], search: Callable[[int, Placing], Search[object]], limits: Callable[[int], Limits]
    ) -> Iterator[tuple[int, Outcome]]:
        """Drive a search for each of these texts; one that the victim cannot answer raises its error."""
        longest = max((len(self.texts[at]) for at in which), default=0)
        width = min(_WIDTH, max(1, _CELLS // max(1, longest * len(self.words))))

        def tasks() -> Iterator[Task]:
            for at in which:
                placing = self[at]
                yield Task(at, placing.space, self.goals[at], search(at, placing), limits(at))

        for outcome in Engine(self.victim, width=width).run(tasks()):
            if outcome.error is not None:
                raise ModelError(f"text {outcome.key}: {outcome.error}") from outcome.error
            yield outcome.key, outcome

    def without_words(self) -> dict[int, TextFlips]:
        """The rows of texts without words, which nothing can flip."""
        nothing = np.full(len(self.words), NOWHERE, np.int32)
        never = np.zeros(len(self.words), np.bool_)
        return {
            at: TextFlips(goal.label, nothing, never, Cost())
            for at, (text, goal) in enumerate(zip(self.texts, self.goals, strict=True))
            if not len(text)
        }
