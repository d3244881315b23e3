"""Binding for transformers: token ids of points, without tokenizing a text twice.

Guarantee: the ids of a point equal the tokenizer's ids of its text, special tokens and truncation included.

A text is cut into *units* at the last space of each gap, so that a unit carries its own leading space (byte-level and
Unigram tokenizers see it) and words joined without a space stay in one unit.  Tokenizers that split at spaces give
the text the concatenation of its units' ids.  Whether this one does is checked for each space: that it splits at every
kind of boundary between two units, that none of its added tokens can reach over one, that every substitute between its
neighbors has the ids it has alone, and that some whole texts come out right.  A space that fails is rendered to strings
instead: slower, never wrong.

A masked word is written as the tokenizer's mask token (or its unknown token); a deleted one as `Space.text` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise

import numpy as np

from lexproof.points import DELETED, MASKED, BoolArray, IntArray, Points
from lexproof.space import Space
from lexproof.text import Input, Text
from lexproof.victims.base import Bound
from lexproof.victims.first_order import Choices
from lexproof.victims.transformer_encoding import Encoder, Row
from lexproof.victims.unread import without

_SPOT_CHECKS = 3  # random whole texts compared for each space


@dataclass(frozen=True, slots=True)
class Unit:
    """Words first … stop - 1 with the gaps around and between them, up to the spaces on either side."""

    first: int
    stop: int
    gaps: tuple[str, ...]

    def write(self, words: Sequence[str]) -> str:
        """The unit's string with these words."""
        pieces = [self.gaps[0]]
        for word, gap in zip(words, self.gaps[1:], strict=True):
            pieces += (word, gap)
        return "".join(pieces)


def units(text: Text) -> list[Unit]:
    """The units of a text; written one after the other with its words they give the text."""
    found, first, gaps = [], 0, [text.gaps[0]]
    for i in range(1, len(text)):
        head, space, tail = text.gaps[i].rpartition(" ")
        if space:
            found.append(Unit(first, i, (*gaps, head)))
            first, gaps = i, [space + tail]
        else:
            gaps.append(tail)
    gaps += text.gaps[1:][-1:]
    return [*found, Unit(first, len(text), tuple(gaps))]


def surface(space: Space, point: IntArray, mask: str) -> tuple[str, list[tuple[int, int]]]:
    """The text of a point, masked words written as `mask`, and where each word lies in it."""
    pieces = space.pieces(point, mask)
    ends = np.cumsum([len(piece) for piece in pieces]).tolist()
    return "".join(pieces), list(zip(ends[0::2], ends[1::2], strict=False))


class UnitBound(Bound):
    """A space compiled to the token ids of its units."""

    def __init__(self, space: Space, encoder: Encoder) -> None:
        super().__init__(space)
        self._encoder = encoder
        self._units = units(space.original)
        premise = space.original.premise
        self._premise = [] if premise is None else [encoder.runs([premise])[0]]
        self._words = [
            (word, *options, encoder.mask) for word, options in zip(space.original.words, space.choices, strict=True)
        ]
        self._tables: dict[int, list[tuple[int, ...]]] = {
            u: encoder.runs([unit.write([word]) for word in self._words[unit.first]])
            for u, unit in enumerate(self._units)
            if unit.stop - unit.first == 1
        }
        self.is_local = encoder.can_assemble(pair=premise is not None) and self._is_local()

    def canonical(self, points: Points) -> Points:
        """Words past the length limit, however the words before them are chosen, become the original ones."""
        return points if self._unread is None else without(points, self._unread)

    @cached_property
    def _unread(self) -> BoolArray | None:
        """Words that are never read.  How a pair is cut depends on both lengths, so no word of one counts as such."""
        room = self._encoder.room
        if not self.is_local or room is None or self._premise:
            return None
        begins = 0
        found = np.zeros(self.space.n, np.bool_)
        for u, unit in enumerate(self._units):
            found[unit.first : unit.stop] = begins >= room
            begins += min(map(len, self._tables[u])) if u in self._tables else 0
        return found if found.any() else None

    def rows(self, points: IntArray) -> Sequence[Row]:
        """What the model reads for each of these dense points."""
        if not self.is_local:
            return self._encoder.encode(self.inputs(points))
        deleted = (points == DELETED).any(axis=1)
        if not deleted.any():
            return self._assemble(points)
        rendered = iter(self._encoder.encode(self.inputs(points[deleted])))
        assembled = iter(self._assemble(points[~deleted]))
        return [next(rendered if gone else assembled) for gone in deleted.tolist()]

    def inputs(self, points: IntArray) -> list[Input]:
        """The texts of these points."""
        premise = self.space.original.premise
        surfaces = [surface(self.space, point, self._encoder.mask)[0] for point in points]
        return list(surfaces) if premise is None else [(premise, text) for text in surfaces]

    def whole(self, points: IntArray) -> list[list[int]]:
        """The ids of each point's text by itself, before it is cut and framed; for a local space without deletions."""
        columns = [self._column(u, points) for u in range(len(self._units))]
        return [list(chain.from_iterable(runs)) for runs in zip(*columns, strict=True)]

    def _assemble(self, points: IntArray) -> list[Row]:
        return [self._encoder.assemble([*self._premise, ids]) for ids in self.whole(points)]

    def _column(self, u: int, points: IntArray) -> list[tuple[int, ...]]:
        """Ids of unit u at each point.  The choice MASKED = -1 indexes the last word of a list: the mask."""
        unit = self._units[u]
        if u in self._tables:
            table = self._tables[u]
            return [table[choice] for choice in points[:, unit.first].tolist()]
        words = self._words[unit.first : unit.stop]
        chosen = points[:, unit.first : unit.stop].tolist()
        return self._encoder.runs([unit.write([w[c] for w, c in zip(words, row, strict=True)]) for row in chosen])

    @cached_property
    def choices(self) -> Choices:
        """The tokens of each word's DELETED, MASKED, 0, 1, … where it stands, its neighbors being the original ones."""
        runs: list[tuple[int, ...]] = []
        for u, unit in enumerate(self._units):
            for i in range(unit.first, unit.stop):
                held = self._held(u, i)
                runs += [(), held[MASKED], *held[:MASKED]]
        ids = np.fromiter(chain.from_iterable(runs), np.int64)
        sizes = self.space.sizes
        first = np.cumsum(sizes + 1 + len((DELETED, MASKED))) - sizes - 1
        return Choices(ids, np.array([len(run) for run in runs], np.int64), first)

    def _held(self, u: int, word: int) -> list[tuple[int, ...]]:
        """The tokens that hold each version of a word in its unit."""
        unit = self._units[u]
        if u in self._tables and not "".join(unit.gaps).strip():
            return self._tables[u]  # nothing but the word
        words = list(self.space.original.words[unit.first : unit.stop])
        at = word - unit.first
        begin = sum(map(len, [*unit.gaps[: at + 1], *words[:at]]))
        strings = [unit.write([*words[:at], version, *words[at + 1 :]]) for version in self._words[word]]
        return self._encoder.held(strings, [(begin, begin + len(version)) for version in self._words[word]])

    # ------------------------------------------------------------------ is the text the sum of its units?

    def _is_local(self) -> bool:
        if any(word != word.strip() or not word for words in self._words for word in words):
            return False
        if self._encoder.reaches_back and any(unit.gaps[-1][-1:].isspace() for unit in self._units[:-1]):
            return False  # an added token at the start of a unit would swallow the end of the unit before it
        if not self._encoder.are_joined(list(self._windows())):
            return False
        versions = [self._versions(unit) for unit in self._units]
        return all(self._encoder.are_separate(*pair) for pair in pairwise(versions)) and self._spot_check()

    def _versions(self, unit: Unit) -> list[str]:
        """The unit's strings with at most one word changed, the original first."""
        words = list(self.space.original.words[unit.first : unit.stop])
        strings = [unit.write(words)]
        for i in range(len(words)):
            for word in self._words[unit.first + i][1:]:
                strings.append(unit.write([*words[:i], word, *words[i + 1 :]]))
        return strings

    def _windows(self) -> Iterator[list[str]]:
        """Each version of each unit between its original neighbors."""
        plain = [unit.write(self.space.original.words[unit.first : unit.stop]) for unit in self._units]
        for u, unit in enumerate(self._units):
            before, after = plain[max(u - 1, 0) : u], plain[u + 1 : u + 2]
            for version in self._versions(unit):
                yield [*before, version, *after]

    def _spot_check(self) -> bool:
        rng = np.random.default_rng(int(self.space.fingerprint, 16))
        random = rng.integers(0, self.space.sizes + 1, (_SPOT_CHECKS, self.space.n))
        points = np.concatenate([self.space.origin[None], random]).astype(np.int32)
        return self._assemble(points) == self._encoder.encode(self.inputs(points))
