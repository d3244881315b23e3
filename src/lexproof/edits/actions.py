"""Edits of a text: a word replaced, a word put in after another, two neighbors merged into one.

An edit is a span of characters of the original and what stands there instead, so that edits which do not overlap can
be made together, in any order, and everything outside of them stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain
from typing import Literal

from lexproof.candidates.base import Options, match_case
from lexproof.candidates.filters import NoAntonyms, StopWords
from lexproof.candidates.guesses import Guesser, Place
from lexproof.errors import InputError
from lexproof.text import Input, Text

Kind = Literal["replace", "insert", "merge"]
KINDS: tuple[Kind, ...] = ("replace", "insert", "merge")

_HIDDEN = "word"  # stands where the model is asked; it is masked before the model sees it
_WIDE = 4  # filters take some away, so more are asked for than are kept


@dataclass(frozen=True, slots=True)
class Edit:
    """Characters start … stop of the original, `old`, become `new`; `position` is the word's, counted from 0.

    A merge also takes the word after `position`; an insertion stands after it and takes none (`old` is empty).
    """

    kind: Kind
    position: int
    old: str
    new: str
    start: int
    stop: int

    @property
    def words(self) -> tuple[int, ...]:
        """Positions of the words that this edit is about: no other edit is made there."""
        return (self.position, self.position + 1) if self.kind == "merge" else (self.position,)


@dataclass(frozen=True, slots=True)
class Slot:
    """A place of a text where a word can be put instead of `words`, which are none for an insertion."""

    kind: Kind
    position: int
    words: tuple[str, ...]
    old: str
    start: int
    place: Place

    def edit(self, word: str) -> Edit:
        """The edit that puts a word there."""
        new = f" {word}" if self.kind == "insert" else word
        return Edit(self.kind, self.position, self.old, new, self.start, self.start + len(self.old))


class Draft:
    """A text that is edited."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.surface = str(text)

    @cached_property
    def starts(self) -> list[int]:
        """The first character of each word."""
        pieces = chain.from_iterable(zip(self.text.gaps, self.text.words, strict=False))
        return list(accumulate(map(len, pieces)))[0::2]

    def write(self, edits: Iterable[Edit]) -> str:
        """The text with edits made, which do not overlap."""
        pieces: list[str] = []
        done = 0
        for edit in sorted(edits, key=lambda edit: edit.start):
            pieces += (self.surface[done : edit.start], edit.new)
            done = edit.stop
        return "".join((*pieces, self.surface[done:]))

    def input(self, edits: Iterable[Edit]) -> Input:
        """What a victim reads."""
        written = self.write(edits)
        return written if self.text.premise is None else (self.text.premise, written)

    def around(self, edit: Edit, window: int) -> tuple[str, str]:
        """That many words of the original around an edit, before and after it is made."""
        n = len(self.text)
        first = max(0, min(edit.position - window // 2, n - window))
        last = max(edit.words[-1], min(n, first + window) - 1)
        start, stop = self.starts[first], self.starts[last] + len(self.text.words[last])
        return self.surface[start:stop], self.surface[start : edit.start] + edit.new + self.surface[edit.stop : stop]

    def slots(self) -> Iterator[Slot]:
        """All places, word by word; two words merge only if nothing but white space parts them."""
        words, gaps, premise = self.text.words, self.text.gaps, self.text.premise
        for at, (word, start) in enumerate(zip(words, self.starts, strict=True)):
            yield Slot("replace", at, (word,), word, start, Place(self.text, at))
            added = Text(
                (*words[: at + 1], _HIDDEN, *words[at + 1 :]), (*gaps[: at + 1], " ", *gaps[at + 1 :]), premise
            )
            yield Slot("insert", at, (), "", start + len(word), Place(added, at + 1))
            if at + 1 < len(words) and gaps[at + 1].isspace():
                merged = Text((*words[:at], _HIDDEN, *words[at + 2 :]), (*gaps[: at + 1], *gaps[at + 2 :]), premise)
                old = word + gaps[at + 1] + words[at + 1]
                yield Slot("merge", at, words[at : at + 2], old, start, Place(merged, at))


@dataclass(frozen=True, slots=True, kw_only=True)
class Actions:
    """Which edits are tried: the `k` likeliest words of each kind at each word, above a least probability.

    The probabilities are CLARE's.  With `english`, function words are neither edited nor put in (so no "not" comes or
    goes), and no antonym takes a word's place.
    """

    k: int = 50
    replace: float = 5e-4
    insert: float = 0.0
    merge: float = 5e-3
    kinds: tuple[Kind, ...] = KINDS
    english: bool = True

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError(f"expected k >= 1, got {self.k}")
        for kind in KINDS:
            if not 0 <= getattr(self, kind) <= 1:
                raise InputError(f"expected a least probability to {kind} in [0, 1], got {getattr(self, kind)}")
        if not self.kinds or set(self.kinds) - set(KINDS):
            raise InputError(f"expected kinds of edits out of {', '.join(KINDS)}, got {self.kinds!r}")

    def __call__(self, draft: Draft, guesser: Guesser) -> list[Edit]:
        """All edits of a text that may be tried, by word and kind, the likeliest first."""
        rules = _English() if self.english else None
        slots = [slot for slot in draft.slots() if slot.kind in self.kinds]
        if rules:
            slots = [slot for slot in slots if not rules.is_frozen(slot.words)]
        found = guesser([slot.place for slot in slots], self.k * (_WIDE if rules else 1) + 2)
        edits: list[Edit] = []
        for slot, guesses in zip(slots, found, strict=True):
            least = getattr(self, slot.kind)
            options = tuple(guess.word for guess in guesses or () if guess.probability >= least)
            if rules:
                options = rules.keep(slot.words, options)
            edits += map(slot.edit, _new(slot.words, options)[: self.k])
        return edits


def _new(words: Sequence[str], options: Options) -> Options:
    """Distinct words in the case of the first of those that they replace, none of which they are."""
    for word in words:
        options = tuple(option for option in options if option.lower() != word.lower())
    return match_case(words[0], options) if words else tuple(dict.fromkeys(options))


class _English:
    """What may not be edited, or be put in."""

    def __init__(self) -> None:
        self._stop_words, self._antonyms = StopWords(), NoAntonyms()

    def is_frozen(self, words: Sequence[str]) -> bool:
        return any(not self._stop_words.keep(word.lower(), (_HIDDEN,)) for word in words)

    def keep(self, words: Sequence[str], options: Options) -> Options:
        options = self._stop_words.keep(_HIDDEN, options)
        for word in words:
            options = self._antonyms.keep(word.lower(), options)
        return options
