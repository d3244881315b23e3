"""Vocabulary: strings to tokens to ids, and where a string may be cut without changing its tokens.

A token is a word as `lexproof.text` finds it, or any other character that is not white space; each is lower-cased on
its own.  So tokens never depend on the rest of the text, except through the cut itself: "film" + "-" + "maker" is
three tokens apart and one together.  `Piece` records how the ends of a string behave, and `may_join` decides from
that, for every way of choosing one alternative at each place, whether the tokens of the whole are the tokens of the
parts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from itertools import repeat
from operator import or_

import numpy as np

from lexproof.errors import InputError
from lexproof.points import DELETED, MASKED, IntArray
from lexproof.text import Input, word_pattern

PAD, UNKNOWN, SEPARATOR = 0, 1, 2
SPECIALS = ("<pad>", "<unk>", "<sep>")
"""Ids 0 to 2: filler after the end of a text, a word not in the list, the border between premise and hypothesis."""

_MEMORY = 200_000  # distinct strings whose tokens are remembered; audits meet the same substitutes again and again
_PLACES = 20_000  # distinct words with their substitutes that are remembered

GONE, MANY = -1, -2
"""In place of an id: nothing, and anything but one token."""

OUTSIDE, IN_WORD, AFTER_JOINER = 1, 2, 4  # states at a cut, as bits of a set
_EDGES = (OUTSIDE, IN_WORD, AFTER_JOINER)
_PLAIN = (IN_WORD, 0, 0)  # how the ends of a string of ASCII letters and digits behave, which is one token


@cache
def _token_pattern(word: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile(word.pattern + r"|\S")


def spans(string: str) -> list[tuple[int, int]]:
    """Where the tokens of a string start and end."""
    return [match.span() for match in _token_pattern(word_pattern(string)).finditer(string)]


def _raw_tokens(string: str) -> list[str]:
    # every group of the word pattern is non-capturing, so findall gives whole matches
    return _token_pattern(word_pattern(string)).findall(string)


def tokens(string: str) -> list[str]:
    """The tokens of a string."""
    return [token.lower() for token in _raw_tokens(string)]


@dataclass(frozen=True, slots=True)
class Piece:
    """A string between two cuts: the ids of its tokens alone, and the behavior of its ends.

    `ends[s]` is the state at its right end if the state at its left end is s, or 0 if a token would run across the
    left cut.  States: OUTSIDE any word, IN_WORD right after a letter of a word, AFTER_JOINER right after a hyphen or
    apostrophe that a letter would draw into the word before it.
    """

    ids: tuple[int, ...]
    ends: tuple[int, int, int]  # for OUTSIDE, IN_WORD, AFTER_JOINER


def _ends(string: str, alone: list[str]) -> tuple[int, int, int]:
    if not string:
        return _EDGES
    if string.isascii() and string.isalnum():
        return _PLAIN
    # the tokenizer itself is asked, on the string with a letter or a joined letter put before or after it
    if _raw_tokens(string + "'a") != [*alone, "'", "a"]:
        end = IN_WORD
    elif _raw_tokens(string + "a") != [*alone, "a"]:
        end = AFTER_JOINER
    else:
        end = OUTSIDE
    after_word = 0
    if _raw_tokens("a" + string) == ["a", *alone]:
        is_joiner = end == OUTSIDE and _raw_tokens("a" + string + "a") != ["a", *alone, "a"]
        after_word = AFTER_JOINER if is_joiner else end
    after_joiner = end if _raw_tokens("a'" + string) == ["a", "'", *alone] else 0
    return end, after_word, after_joiner


def _joins(alternatives: Iterable[tuple[int, int, int]]) -> tuple[int, ...]:
    """By the set of states before a place: the set of states after it, or 0 if a token may run across its left cut."""
    reached, distinct = [0], set(alternatives)
    for states in range(1, sum(_EDGES) + 1):
        after = [end for ends in distinct for state, end in zip(_EDGES, ends, strict=True) if states & state]
        reached.append(reduce(or_, after) if all(after) else 0)
    return tuple(reached)


_PLAIN_JOINS = _joins([_PLAIN])


@dataclass(frozen=True, slots=True)
class Place:
    """A word with its substitutes, choice 0 being the word itself.

    `table` has a column for each of DELETED, MASKED, 0, 1, …: the number of tokens, the token (GONE, or MANY unless
    it is one), and the first choice with the same tokens.
    """

    original: tuple[int, ...]  # tokens of choice 0
    table: IntArray  # (3, choices + 2)
    joins: tuple[int, ...]
    is_distinct: bool  # no two choices have the same tokens
    odd: dict[int, tuple[int, ...]]  # tokens of each choice that is not one token

    @classmethod
    def of(cls, pieces: Sequence[Piece]) -> Place:
        """The place where one of these pieces stands."""
        runs = [piece.ids for piece in pieces]
        seen: dict[tuple[int, ...], int] = {}
        table = [
            [0, 1, *map(len, runs)],
            [GONE, UNKNOWN, *[run[0] if len(run) == 1 else MANY for run in runs]],
            [DELETED, MASKED, *map(seen.setdefault, runs, range(len(runs)))],
        ]
        odd = {choice: run for choice, run in enumerate(runs) if len(run) != 1}
        joins = _joins([piece.ends for piece in pieces])
        return cls(runs[0], np.array(table, np.int32), joins, len(seen) == len(runs), odd)

    @classmethod
    def plain(cls, tokens: Sequence[int]) -> Place:
        """The place where one of these tokens stands, each of them a string of ASCII letters and digits."""
        choices = range(len(tokens))
        seen: dict[int, int] = {}
        first = map(seen.setdefault, tokens, choices)
        # one flat list: a nested one takes twice as long to become an array
        flat = [0, 1, *repeat(1, len(tokens)), GONE, UNKNOWN, *tokens, DELETED, MASKED, *first]
        table = np.array(flat, np.int32).reshape(3, -1)
        return cls((tokens[0],), table, _PLAIN_JOINS, len(seen) == len(tokens), {})

    def runs(self) -> list[tuple[int, ...]]:
        """The tokens of DELETED, MASKED, 0, 1, …"""
        single: list[int] = self.table[1, 2:].tolist()
        return [(), (UNKNOWN,), *(self.odd.get(choice, (token,)) for choice, token in enumerate(single))]


def may_join(places: Iterable[Place]) -> bool:
    """Whether the tokens of the joined string are those of its pieces, however one piece is chosen at each place."""
    states = OUTSIDE
    for place in places:
        states = place.joins[states]
        if not states:
            return False
    return True


class Vocabulary:
    """The tokens a model knows, in the order of their ids; every other token is `<unk>`."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._ids = {word: number for number, word in enumerate(self.words, len(SPECIALS))}
        if len(self._ids) != len(self.words):
            twice = next(word for word, count in Counter(self.words).items() if count > 1)
            raise InputError(f"expected distinct words in a vocabulary, got {twice!r} twice")
        if taken := [word for word in SPECIALS if word in self._ids]:
            raise InputError(f"expected words other than {', '.join(SPECIALS)}, got {taken[0]!r}; they are added")
        self._memory: dict[str, Piece] = {}
        self._places: dict[tuple[str, tuple[str, ...]], Place] = {}

    @classmethod
    def of(cls, inputs: Iterable[Input], size: int | None = None, extra: Iterable[str] = ()) -> Vocabulary:
        """The most frequent tokens of these texts (ties: alphabetical), then `extra` ones while there is room.

        What no text can have as a token ("New York", "...") is not taken from `extra`.
        """
        counts: Counter[str] = Counter()
        for text in inputs:
            for string in (text,) if isinstance(text, str) else text:
                counts.update(tokens(string))
        ranked = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
        known = dict.fromkeys(ranked)
        known.update(dict.fromkeys(word for word in extra if tokens(word) == [word]))
        return cls(list(known)[:size])

    def __len__(self) -> int:
        """Number of ids, the special ones included."""
        return len(self.words) + len(SPECIALS)

    def __contains__(self, token: str) -> bool:
        return token in self._ids

    def __reduce__(self) -> tuple[type[Vocabulary], tuple[tuple[str, ...]]]:
        return Vocabulary, (self.words,)  # the memory is not worth sending to another process

    def id(self, token: str) -> int:
        """The id of a token, UNKNOWN if it is not in the vocabulary."""
        return self._ids.get(token, UNKNOWN)

    def encode(self, string: str) -> list[int]:
        """The ids of the tokens of a string."""
        get = self._ids.get
        return [get(token.lower(), UNKNOWN) for token in _raw_tokens(string)]

    def piece(self, string: str) -> Piece:
        """The string as a piece of a longer one, remembered for the next time."""
        known = self._memory.get(string)
        if known is None:
            alone = _raw_tokens(string)
            known = Piece(tuple(self.id(token.lower()) for token in alone), _ends(string, alone))
            if len(self._memory) >= _MEMORY:
                self._memory.clear()
            self._memory[string] = known
        return known

    def places(self, words: Iterable[str], options: Iterable[tuple[str, ...]]) -> list[Place]:
        """Each word with its substitutes, remembered for the next time."""
        known = self._places
        return [known.get(key) or self._remember(key) for key in zip(words, options, strict=False)]

    def _remember(self, key: tuple[str, tuple[str, ...]]) -> Place:
        strings = (key[0], *key[1])
        together = "".join(strings)
        if together.isascii() and together.isalnum() and all(strings):
            get = self._ids.get
            place = Place.plain([get(string.lower(), UNKNOWN) for string in strings])
        else:
            place = Place.of([self.piece(string) for string in strings])
        if len(self._places) >= _PLACES:
            self._places.clear()
        self._places[key] = place
        return place

    def encode_input(self, text: Input, max_length: int) -> list[int]:
        """What a model reads: tokens, those of a pair around `<sep>`, cut at `max_length`; never empty."""
        first, *rest = (text,) if isinstance(text, str) else text
        ids = self.encode(first)
        for string in rest:
            ids += [SEPARATOR, *self.encode(string)]
        return ids[:max_length] or [UNKNOWN]
