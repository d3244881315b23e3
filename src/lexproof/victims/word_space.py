"""A space compiled for a word model: every word, substitute and gap as the ids of its tokens, once.

Guarantee: the ids of a point are the ids of its text.  Where a substitute could run together with its neighbors (a
gap "-" between two words, a substitute that starts with an apostrophe), that is found when the space is bound, and
its points are rendered and tokenized as strings instead: slower, and just as exact.

Probes are defined on tokens: a MASKED word is one `<unk>`, a DELETED word is nothing, and both cut the text, so what
stands before and after them never runs together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat

import numpy as np

from lexproof.errors import InputError
from lexproof.points import MASKED, IntArray, Points, Swaps
from lexproof.space import Space
from lexproof.victims.base import Bound
from lexproof.victims.unread import unread, without
from lexproof.victims.vocabulary import SEPARATOR, UNKNOWN, Vocabulary, may_join, spans
from lexproof.victims.word_rows import Index, Rows
from lexproof.victims.word_swaps import Columns, TokenSwaps, outside

_PROBES = 2  # runs before that of the original word: deleted, masked
_NO_WORDS = np.empty((3, 0), np.int32)


@dataclass(frozen=True, slots=True)
class Layout:
    """Token rows of points, and for each point and word the tokens `starts … ends - 1` that hold it."""

    rows: Rows
    starts: Index  # (B, n), not cut at max_length
    ends: Index  # (B, n)


class WordBound(Bound):
    """A space as token runs."""

    def __init__(self, space: Space, vocabulary: Vocabulary, max_length: int) -> None:
        super().__init__(space)
        self.vocabulary = vocabulary
        self.max_length = max_length
        text = space.original
        self._premise = [] if text.premise is None else [*vocabulary.encode(text.premise), SEPARATOR]
        self._gaps = vocabulary.places(text.gaps, repeat(()))
        self._words = vocabulary.places(text.words, space.choices)
        self.is_local = may_join(chain(self._gaps[:1], *zip(self._words, self._gaps[1:], strict=True)))
        self._is_distinct = all([word.is_distinct for word in self._words])
        self._table = np.concatenate([_NO_WORDS, *[word.table for word in self._words]], axis=1)
        self.columns = self._columns()
        self._unread = unread(self.space.sizes, self._table[0], self._fixed(), max_length) if self._is_cut else None

    def _columns(self) -> Columns:
        ids = [*self._premise, *self._gaps[0].original]
        starts = []
        for word, gap in zip(self._words, self._gaps[1:], strict=True):
            starts.append(len(ids))
            ids += word.original
            ids += gap.original
        self._is_cut = len(ids) > self.max_length
        sizes = self.space.sizes
        token, first = self._table[1], (sizes + 1 + _PROBES).cumsum() - sizes - 1
        is_aligned = (
            self.is_local and not self._is_cut and len(ids) > 1 and all([len(w.original) == 1 for w in self._words])
        )
        return Columns(
            token,
            first,
            sizes.astype(np.int32),
            np.array(starts, np.int64),
            np.array(ids[: self.max_length] or [UNKNOWN], np.int32),
            is_aligned,
        )

    def _fixed(self) -> Index:
        """Number of tokens before the first word, and between each word and the next."""
        gaps = [len(gap.original) for gap in self._gaps[:-1]]
        return np.array([len(self._premise) + gap if i == 0 else gap for i, gap in enumerate(gaps)], np.int64)

    # ------------------------------------------------------------------ words that look alike

    def canonical(self, points: Points) -> Points:
        """Substitutes with the same tokens (words the model does not know) become the first of them.

        Words past `max_length`, however the words before them are chosen, become the original ones.
        """
        if not self.is_local:
            return points
        if self._unread is not None:
            points = without(points, self._unread)
        if self._is_distinct:
            return points
        alike: IntArray = self._table[2]
        if isinstance(points, Swaps):
            choices = alike[self.columns.first[points.positions] + points.choices]
            return Swaps(alike[self.columns.first + points.bases], points.rows, points.positions, choices)
        return np.asarray(alike[self.columns.first + points])

    # ------------------------------------------------------------------ points to rows

    def rows(self, points: IntArray) -> Rows:
        """The token ids of each point."""
        self._check_shape(points)
        if not self.is_local:
            self._check(points)
            return Rows.of([self._ids_of_text(point) for point in points])
        ids = self._aligned(points)
        if ids is None:
            return self._layout(points).rows
        return Rows(ids.reshape(-1), np.full(len(ids), ids.shape[1], np.int64))

    def _aligned(self, points: IntArray) -> IntArray | None:
        """The ids of each point (B, L) if it has as many tokens as the original, one for each changed word, or None."""
        ids = np.empty((len(points), len(self.columns.ids)), np.int32)
        ids[:] = self.columns.ids
        place, word = points.nonzero()
        if not len(word):
            return ids
        choices = points[place, word]
        self._check_choices(choices, word)
        token = self.columns.token[self.columns.first[word] + choices]
        if token.min() < 0 or (self._table[0, self.columns.first[word]] != 1).any():
            return None
        at = self.columns.start[word]
        if self._is_cut:
            seen = at < self.max_length
            place, at, token = place[seen], at[seen], token[seen]
        ids[place, at] = token
        return ids

    def layout(self, points: IntArray) -> Layout:
        """The token ids of each point, and which tokens belong to which word."""
        self._check(points)
        return self._layout(points) if self.is_local else self._layout_of_texts(points)

    def _check_shape(self, points: IntArray) -> None:
        if points.ndim != 2 or points.shape[1] != self.space.n:
            raise InputError(f"expected points of shape (B, {self.space.n}), got {points.shape}")

    def _check(self, points: IntArray) -> None:
        self._check_shape(points)
        self._check_choices(points, np.broadcast_to(np.arange(self.space.n), points.shape))

    def _check_choices(self, choices: IntArray, words: Index | IntArray) -> None:
        wrong = outside(choices, self.columns.limit[words])
        if np.count_nonzero(wrong):
            word, choice = words[wrong][0], choices[wrong][0]
            size = self.space.sizes[word]
            raise InputError(f"expected a choice from 0 to {size}, or a probe, for word {word}, got {choice}")

    @cached_property
    def _runs(self) -> _Runs:
        runs = [(*self._premise, *self._gaps[0].original), *(gap.original for gap in self._gaps[1:])]
        for word in self._words:
            runs += word.runs()
        lengths = np.array([len(run) for run in runs], np.int64)
        pool = np.fromiter(chain.from_iterable(runs), np.int32, int(lengths.sum()))
        return _Runs(pool, lengths, np.cumsum(lengths) - lengths)

    @property
    def choices(self) -> tuple[IntArray, Index]:
        """The tokens of each word's DELETED, MASKED, 0, 1, … written alone, in one array, and how many each has."""
        gaps = self.space.n + 1
        return self._runs.pool[self._runs.lengths[:gaps].sum() :], self._runs.lengths[gaps:]

    def _layout(self, points: IntArray) -> Layout:
        count, n = points.shape
        runs = np.empty((count, 2 * n + 1), np.int64)
        runs[:, 0::2] = np.arange(n + 1)
        runs[:, 1::2] = n + 1 + self.columns.first + points
        lengths = self._runs.lengths[runs]
        ends = np.cumsum(lengths, axis=1)
        flat = lengths.reshape(-1)
        shift = self._runs.starts[runs].reshape(-1) - (np.cumsum(flat) - flat)
        ids = self._runs.pool[np.repeat(shift, flat) + np.arange(int(flat.sum()))]
        return Layout(_cut(ids, ends[:, -1], self.max_length), (ends - lengths)[:, 1::2], ends[:, 1::2])

    # ------------------------------------------------------------------ points as strings

    def _segments(self, point: IntArray) -> Iterator[_Segment]:
        """The text cut at its probes."""
        text = self.space.original
        string = text.gaps[0]
        places: list[tuple[int, int, int]] = []
        for i, choice in enumerate(point.tolist()):
            if choice < 0:
                yield _Segment(string, places, i, choice)
                string, places = "", []
            else:
                word = text.words[i] if choice == 0 else self.space.choices[i][choice - 1]
                places.append((i, len(string), len(string) + len(word)))
                string += word
            string += text.gaps[i + 1]
        yield _Segment(string, places, None, 0)

    def _ids_of_text(self, point: IntArray) -> list[int]:
        ids = self._premise.copy()
        for segment in self._segments(point):
            ids += self.vocabulary.encode(segment.string)
            if segment.probe == MASKED:
                ids.append(UNKNOWN)
        return ids[: self.max_length] or [UNKNOWN]

    def _layout_of_texts(self, points: IntArray) -> Layout:
        starts, ends = np.zeros(points.shape, np.int64), np.zeros(points.shape, np.int64)
        for b, point in enumerate(points):
            before = len(self._premise)
            for segment in self._segments(point):
                tokens = np.array(spans(segment.string), np.int64).reshape(-1, 2)
                for i, begin, end in segment.places:  # a token that runs across two words counts for both
                    starts[b, i] = before + np.searchsorted(tokens[:, 1], begin, side="right")
                    ends[b, i] = before + np.searchsorted(tokens[:, 0], end, side="left")
                before += len(tokens)
                if segment.word is not None:
                    starts[b, segment.word] = before
                    before += segment.probe == MASKED
                    ends[b, segment.word] = before
        return Layout(self.rows(points), starts, ends)

    # ------------------------------------------------------------------ single swaps

    def token_swaps(self, swaps: Swaps) -> TokenSwaps | None:
        """The swaps as changes of one token each, or None if the space has to be read as strings."""
        if not self.is_local:
            return None
        self._check(swaps.bases)
        self._check_choices(swaps.choices, swaps.positions)
        layout = self._layout(swaps.bases)
        first = self.columns.first[swaps.positions]
        new, old = first + swaps.choices, first + swaps.bases[swaps.rows, swaps.positions]
        position = layout.starts[swaps.rows, swaps.positions]
        unseen = position >= self.max_length
        rest = ~unseen & ((self._table[0, new] != 1) | (self._table[0, old] != 1))
        # a swap past max_length changes nothing: it is written as putting token 0 where it already stands
        standing = layout.rows.ids[layout.rows.starts[swaps.rows]]
        token = np.where(unseen, standing, self.columns.token[new])
        return TokenSwaps.of(layout.rows, swaps.rows.astype(np.int64), np.where(unseen, 0, position), token, rest)


@dataclass(frozen=True, slots=True)
class _Runs:
    """The tokens of all gaps, then those of DELETED, MASKED, 0, 1, … for each word."""

    pool: IntArray
    lengths: Index
    starts: Index


@dataclass(frozen=True, slots=True)
class _Segment:
    """A stretch of text up to a probe or the end: its words as (word, start, end), the probed word and the probe."""

    string: str
    places: list[tuple[int, int, int]]
    word: int | None
    probe: int


def _cut(ids: IntArray, lengths: Index, max_length: int) -> Rows:
    """Rows cut at `max_length`, with one `<unk>` where there would be nothing."""
    if not ((lengths > max_length) | (lengths == 0)).any():
        return Rows(ids, lengths)
    column = np.arange(len(ids)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    cut = np.minimum(lengths, max_length)
    starts = np.cumsum(cut) - cut
    ids = np.insert(ids[column < max_length], starts[lengths == 0], np.int32(UNKNOWN))
    return Rows(ids, np.maximum(cut, 1))
