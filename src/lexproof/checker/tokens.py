"""What a word model reads of a text, and which token each substitute puts where.

A token never reaches across white space.  So the text is cut there into chunks, and for every chunk the tokens of every
combination of its substitutes are asked from the victim's vocabulary and compared with what single swaps make of it.
If they agree everywhere, the tokens of any text of the space are those of the original with the tokens of its swaps put
in one for one; that is all that the checker takes from the tokenizer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from lexproof.space import Space
from lexproof.victims.vocabulary import SEPARATOR, UNKNOWN, Vocabulary

Index = NDArray[np.int64]

_MOST = 20_000  # combinations of one chunk that are compared


class Unread(Exception):
    """The space is not one of single-token swaps, or too much of it stands in one chunk."""


@dataclass(frozen=True, slots=True)
class TokenSwaps:
    """Candidate c sets token `at[c]` of `ids` to `token[c]`: substitute `choice[c]` of word `word[c]`.

    Words in order, and the substitutes of each in order; those that change no token that is read are left out.
    """

    ids: Index
    word: Index
    choice: Index
    at: Index
    token: Index

    def distinct(self) -> TokenSwaps:
        """Of candidates that put the same token at the same place the first: the others make the same texts."""
        seen: dict[tuple[int, int], int] = {}
        for c, key in enumerate(zip(self.at.tolist(), self.token.tolist(), strict=True)):
            seen.setdefault(key, c)
        kept = list(seen.values())
        return TokenSwaps(self.ids, self.word[kept], self.choice[kept], self.at[kept], self.token[kept])


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Words first … last - 1 with the text around them, from one white space to the next."""

    first: int
    last: int
    before: str
    gaps: tuple[str, ...]  # after each of its words

    def surface(self, words: Sequence[str]) -> str:
        return self.before + "".join(word + gap for word, gap in zip(words, self.gaps, strict=True))


@dataclass(frozen=True, slots=True)
class _Reader:
    """The tokens of a chunk, as many as are read of it.

    If that number is the same for two chunks, what follows them is read alike: either both leave no room for more, or
    they have equally many tokens.
    """

    vocabulary: Vocabulary
    room: int

    def __call__(self, string: str) -> list[int]:
        return self.vocabulary.encode(string)[: self.room]


def token_swaps(space: Space, vocabulary: Vocabulary, max_length: int) -> TokenSwaps:
    """The candidates of a space; raises Unread if swaps do not change one token each."""
    text = space.original
    ids: list[int] = [] if text.premise is None else [*vocabulary.encode(text.premise), SEPARATOR]
    swaps: list[tuple[int, int, int, int]] = []
    for chunk in _chunks(text.words, text.gaps):
        own, found = _swaps_of(chunk, space, _Reader(vocabulary, max(max_length - len(ids), 0)))
        swaps += [(word, choice, len(ids) + at, token) for word, choice, at, token in found]
        ids += own
    ids = ids[:max_length] or [UNKNOWN]
    if ids != vocabulary.encode_input(text.input, max_length):
        raise Unread("the tokens of the text are not those of its parts")
    table = np.array(sorted(swaps), np.int64).reshape(-1, 4)
    return TokenSwaps(np.array(ids, np.int64), *table.T)


def _chunks(words: Sequence[str], gaps: Sequence[str]) -> Iterator[_Chunk]:
    """The text between white spaces, in order; a gap is cut at its first white space."""
    first, before = 0, gaps[0]
    after: list[str] = []
    for i in range(len(words)):
        gap = gaps[i + 1]
        cut = next((at for at, letter in enumerate(gap) if letter.isspace()), None)
        if cut is None:
            after.append(gap)
            continue
        yield _Chunk(first, i + 1, before, (*after, gap[:cut]))
        first, before, after = i + 1, gap[cut:], []
    yield _Chunk(first, len(words), before, tuple(after))


def _swaps_of(
    chunk: _Chunk, space: Space, encode: Callable[[str], list[int]]
) -> tuple[list[int], list[tuple[int, int, int, int]]]:
    """The tokens of a chunk, and (word, choice, place, token) of each substitute that changes one of them."""
    numbers = range(chunk.first, chunk.last)
    options = [(space.original.words[i], *space.choices[i]) for i in numbers]
    if prod(map(len, options)) > _MOST:
        raise Unread(f"word {chunk.first} and those that run on from it have too many substitutes together")
    own = encode(chunk.surface([words[0] for words in options]))
    changed: dict[tuple[int, int], tuple[int, int]] = {}
    for i, words in zip(numbers, options, strict=True):
        for j in range(1, len(words)):
            surface = chunk.surface([words[j] if k == i else space.original.words[k] for k in numbers])
            found = encode(surface)
            differs = [at for at, (old, new) in enumerate(zip(own, found, strict=False)) if old != new]
            if len(found) != len(own) or len(differs) > 1:
                raise Unread(f"substitute {words[j]!r} of word {i} does not stand for one token like {words[0]!r}")
            if differs:
                changed[i, j] = (differs[0], found[differs[0]])
    _compare(chunk, options, encode, own, changed)
    return own, [(*swap, *change) for swap, change in changed.items()]


def _compare(
    chunk: _Chunk,
    options: Sequence[Sequence[str]],
    encode: Callable[[str], list[int]],
    own: Sequence[int],
    changed: dict[tuple[int, int], tuple[int, int]],
) -> None:
    """Raise Unread unless several swaps of a chunk do what each of them does alone."""
    if sum(len(words) > 1 for words in options) < 2:
        return
    for combination in product(*(range(len(words)) for words in options)):
        found = encode(chunk.surface([words[j] for words, j in zip(options, combination, strict=True)]))
        expected = list(own)
        for i, j in enumerate(combination, chunk.first):
            if (i, j) in changed:
                at, token = changed[i, j]
                expected[at] = token
        if found != expected:
            raise Unread(f"words {chunk.first} to {chunk.last - 1} run together when they are swapped")
