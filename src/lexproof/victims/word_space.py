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
from itertools import chain

import numpy as np

from lexproof.errors import InputError
from lexproof.points import DELETED, MASKED, BoolArray, IntArray, Points, Swaps
from lexproof.space import Space
from lexproof.victims.base import Bound
from lexproof.victims.vocabulary import SEPARATOR, UNKNOWN, Piece, Vocabulary, may_join, spans
from lexproof.victims.word_rows import Index, Rows

_PROBES = 2  # runs before that of the original word: deleted, masked


@dataclass(frozen=True, slots=True)
class Layout:
    """Token rows of points, and for each point and word the tokens `starts … ends - 1` that hold it."""

    rows: Rows
    starts: Index  # (B, n), not cut at max_length
    ends: Index  # (B, n)


@dataclass(frozen=True, slots=True)
class TokenSwaps:
    """Single swaps as single-token changes of base rows: `bases[base[b]]` with token `position[b]` set to `id[b]`.

    `rest` marks the swaps that change the number of tokens or more than one; they have no entry here.
    """

    bases: Rows
    base: Index
    position: Index
    id: IntArray
    rest: BoolArray


class WordBound(Bound):
    """A space as token runs."""

    def __init__(self, space: Space, vocabulary: Vocabulary, max_length: int) -> None:
        super().__init__(space)
        self.vocabulary = vocabulary
        self.max_length = max_length
        text = space.original
        gaps = [vocabulary.piece(gap) for gap in text.gaps]
        words = [
            [vocabulary.piece(word) for word in (original, *options)]
            for original, options in zip(text.words, space.choices, strict=True)
        ]
        self.is_local = may_join(chain([gaps[:1]], *([word, [gap]] for word, gap in zip(words, gaps[1:], strict=True))))
        self._premise = [] if text.premise is None else [*vocabulary.encode(text.premise), SEPARATOR]
        runs = [(*self._premise, *gaps[0].ids), *(gap.ids for gap in gaps[1:])]
        first = []
        for word in words:
            first.append(len(runs) + _PROBES)
            runs += [(), (UNKNOWN,), *(piece.ids for piece in word)]
        self._first: Index = np.array(first, np.int64)  # run of each original word
        self._run_lengths: Index = np.array([len(run) for run in runs], np.int64)
        self._run_starts: Index = np.cumsum(self._run_lengths) - self._run_lengths
        self._pool: IntArray = np.fromiter(chain.from_iterable(runs), np.int32, int(self._run_lengths.sum()))
        self._alike = self._canonical_choices(words) if self.is_local else None
        origin = self._layout(space.origin[None])
        self._origin_ids, self._origin_starts = origin.rows.ids, origin.starts[0]

    # ------------------------------------------------------------------ words that look alike

    def _canonical_choices(self, words: list[list[Piece]]) -> IntArray:
        """For each run of a word or probe the first choice of that word with the same tokens."""
        alike: list[int] = [0] * (len(words) + 1)  # gaps, never looked up
        for word in words:
            seen: dict[tuple[int, ...], int] = {}
            alike += [DELETED, MASKED, *(seen.setdefault(piece.ids, choice) for choice, piece in enumerate(word))]
        return np.array(alike, np.int32)

    def canonical(self, points: Points) -> Points:
        """Substitutes with the same tokens (words the model does not know) become the first of them."""
        if self._alike is None:
            return points
        if isinstance(points, Swaps):
            bases = self._alike[self._first + points.bases]
            return Swaps(
                bases, points.rows, points.positions, self._alike[self._first[points.positions] + points.choices]
            )
        alike: IntArray = self._alike[self._first + points]
        return alike

    # ------------------------------------------------------------------ points to rows

    def rows(self, points: IntArray) -> Rows:
        """The token ids of each point."""
        self._check(points)
        if not self.is_local:
            return Rows.of([self._ids_of_text(point) for point in points])
        place, word = np.nonzero(points)
        run = self._first[word] + points[place, word]
        one_to_one = (self._run_lengths[run] == 1) & (self._run_lengths[self._first[word]] == 1)
        if not one_to_one.all():
            return self._layout(points).rows
        ids = np.tile(self._origin_ids, (len(points), 1))
        at = self._origin_starts[word]
        seen = at < self.max_length
        ids[place[seen], at[seen]] = self._pool[self._run_starts[run[seen]]]
        return Rows(ids.reshape(-1), np.full(len(points), ids.shape[1], np.int64))

    def layout(self, points: IntArray) -> Layout:
        """The token ids of each point, and which tokens belong to which word."""
        self._check(points)
        return self._layout(points) if self.is_local else self._layout_of_texts(points)

    def _check(self, points: IntArray) -> None:
        if points.ndim != 2 or points.shape[1] != self.space.n:
            raise InputError(f"expected points of shape (B, {self.space.n}), got {points.shape}")
        self._check_choices(points, np.broadcast_to(np.arange(self.space.n), points.shape))

    def _check_choices(self, choices: IntArray, words: Index) -> None:
        sizes = self.space.sizes[words]
        outside = (choices > sizes) | (choices < -_PROBES)
        if outside.any():
            size, word, choice = sizes[outside][0], words[outside][0], choices[outside][0]
            raise InputError(f"expected a choice from 0 to {size}, or a probe, for word {word}, got {choice}")

    def _layout(self, points: IntArray) -> Layout:
        count, n = points.shape
        runs = np.empty((count, 2 * n + 1), np.int64)
        runs[:, 0::2] = np.arange(n + 1)
        runs[:, 1::2] = self._first + points
        lengths = self._run_lengths[runs]
        ends = np.cumsum(lengths, axis=1)
        flat = lengths.reshape(-1)
        shift = self._run_starts[runs].reshape(-1) - (np.cumsum(flat) - flat)
        ids = self._pool[np.repeat(shift, flat) + np.arange(int(flat.sum()))]
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
        self._check_choices(swaps.choices, swaps.positions.astype(np.int64))
        layout = self._layout(swaps.bases)
        first = self._first[swaps.positions]
        new, old = first + swaps.choices, first + swaps.bases[swaps.rows, swaps.positions]
        position = layout.starts[swaps.rows, swaps.positions]
        unseen = position >= self.max_length
        rest = ~unseen & ((self._run_lengths[new] != 1) | (self._run_lengths[old] != 1))
        # a swap past max_length changes nothing: it is written as putting token 0 where it already stands
        standing = layout.rows.ids[layout.rows.starts[swaps.rows]]
        token = np.where(unseen, standing, self._pool.take(self._run_starts[new], mode="clip"))
        kept = ~rest
        return TokenSwaps(
            layout.rows, swaps.rows[kept].astype(np.int64), np.where(unseen, 0, position)[kept], token[kept], rest
        )


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
