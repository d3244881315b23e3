"""Space: the finite set of texts that an adversary may write, fixed before any model or search sees it.

    Omega_r(x) = { x' : x'_i in {w_i} ∪ S_i,  at most r positions differ }

A space counts itself exactly, unranks any range of its points, and samples itself exactly uniformly; all three in
exact integer arithmetic, whatever the size.

Symbols: n words, s_i = |S_i|, r = max_swaps, e_k = number of points with exactly k swaps = the k-th elementary
symmetric polynomial of s_1 … s_n.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor

import numpy as np
from numpy.typing import NDArray

from lexproof.errors import InputError
from lexproof.points import DELETED, MASKED, BoolArray, IntArray, Points, Swaps, dense
from lexproof.strata import Strata
from lexproof.text import Input, Text

Candidates = Callable[[Text], Sequence[Sequence[str]]]
"""Maps a text to its substitutes S_1 … S_n; deterministic, and blind to any model."""

Predicate = Callable[[Sequence[Input]], BoolArray]
"""Whole-text condition, such as sentence similarity: which of these texts belong to the space."""

MASK = "[UNK]"
"""How a masked word is written for victims that read strings."""

_REJECTION_LIMIT = 20  # rounds of rejection sampling before a predicate counts as too rare


@dataclass(frozen=True, slots=True)
class Change:
    """One swapped word."""

    position: int
    old: str
    new: str


def allowed_swaps(words: int, share: float) -> int:
    """Number of swaps that a limit on the modified share allows: floor(share * words), at least 1."""
    if not 0 < share <= 1:
        raise InputError(f"expected a share of words in (0, 1], got {share}")
    return max(1, floor(share * words + 1e-9)) if words else 0


def _limit(words: int, max_swaps: int | None, max_share: float | None) -> int | None:
    """The smaller of a number of swaps and a share of all words, None if neither is given."""
    if max_share is None:
        return max_swaps
    allowed = allowed_swaps(words, max_share)
    return allowed if max_swaps is None else min(max_swaps, allowed)


class Space:
    """Omega_r(x) as a finite, ordered, immutable set of points: by number of swaps, then lexicographically.

    `predicate`, if given, restricts the set further to texts that it accepts; `size` then counts the points before
    the predicate, `contains` and `sample` respect it.
    """

    def __init__(
        self,
        text: Text | str,
        choices: Sequence[Sequence[str]],
        max_swaps: int | None = None,
        predicate: Predicate | None = None,
    ) -> None:
        self.original = Text.parse(text) if isinstance(text, str) else text
        self.choices = tuple(map(tuple, choices))
        self.predicate = predicate
        _check_choices(self.original, self.choices)
        self.sizes: NDArray[np.int64] = np.array(list(map(len, self.choices)), np.int64)
        if max_swaps is not None and max_swaps < 0:
            raise InputError(f"expected max_swaps >= 0, got {max_swaps}")
        self.strata = Strata(self.sizes, self.n if max_swaps is None else max_swaps)
        self.open = self.strata.open
        self.max_swaps = self.strata.max_swaps

    @classmethod
    def around(
        cls,
        text: Text | str,
        candidates: Candidates,
        max_swaps: int | None = None,
        max_share: float | None = None,
        predicate: Predicate | None = None,
    ) -> Space:
        """The space that these candidates span around a text, limited to a number or a share of its words."""
        text = Text.parse(text) if isinstance(text, str) else text
        return cls(text, candidates(text), _limit(len(text), max_swaps, max_share), predicate)

    # ------------------------------------------------------------------ the set

    @property
    def n(self) -> int:
        """Number of words."""
        return len(self.choices)

    @property
    def origin(self) -> IntArray:
        """The original text as a point."""
        return np.zeros(self.n, np.int32)

    @property
    def size(self) -> int:
        """Exact number of points, the original included."""
        return self.strata.size

    def stratum(self, k: int) -> int:
        """Exact number of points with exactly k swaps."""
        return self.strata.stratum(k)

    def is_within(self, limit: int) -> bool:
        """Whether the space has at most `limit` points; cheap even where `size` is astronomic."""
        return self.strata.is_within(limit)

    def contains(self, point: IntArray | Text) -> bool:
        """Whether a point, or a text with the same number of words and the same gaps, lies in the space."""
        if isinstance(point, Text):
            found = self.locate(point)
            return found is not None and self.contains(found)
        point = np.asarray(point)
        inside = (
            point.shape == (self.n,)
            and not np.count_nonzero((point < 0) | (point > self.sizes))
            and int(np.count_nonzero(point)) <= self.max_swaps
        )
        return inside and (self.predicate is None or bool(self.accepts(point[None])[0]))

    def locate(self, text: Text) -> IntArray | None:
        """The point whose words are those of the text, if there is one (number of swaps not limited)."""
        if len(text) != self.n or text.gaps != self.original.gaps or text.premise != self.original.premise:
            return None
        point = self.origin
        for i, word in enumerate(text.words):
            if word != self.original.words[i]:
                if word not in self.choices[i]:
                    return None
                point[i] = self.choices[i].index(word) + 1
        return point

    def accepts(self, points: Points) -> BoolArray:
        """Which of these points the whole-text predicate accepts; the original always is."""
        points = dense(points)
        if self.predicate is None or not len(points):
            return np.ones(len(points), np.bool_)
        return np.asarray(self.predicate(self.render(points)), np.bool_) | ~points.any(axis=1)

    def restrict(
        self,
        positions: Iterable[int] | None = None,
        max_swaps: int | None = None,
        max_share: float | None = None,
    ) -> Space:
        """The subset that changes only these positions, and at most so many or such a share of all words."""
        choices: Sequence[Sequence[str]] = self.choices
        if positions is not None:
            kept = set(positions)
            outside = sorted(i for i in kept if not 0 <= i < self.n)
            if outside:
                raise InputError(f"expected positions from 0 to {self.n - 1}, got {outside[0]}")
            choices = [options if i in kept else () for i, options in enumerate(self.choices)]
        limit = _limit(self.n, max_swaps, max_share)
        return Space(
            self.original, choices, self.max_swaps if limit is None else min(self.max_swaps, limit), self.predicate
        )

    # ------------------------------------------------------------------ points and texts

    @cached_property
    def _original_pieces(self) -> list[str]:
        pieces = [self.original.gaps[0]]
        for word, gap in zip(self.original.words, self.original.gaps[1:], strict=True):
            pieces += (word, gap)
        return pieces

    def pieces(self, point: IntArray, mask: str = MASK) -> list[str]:
        """Gaps and words of a point by turns, g_0 w_1 g_1 … w_n g_n; a masked word is written as `mask`."""
        pieces = self._original_pieces.copy()
        for i in np.flatnonzero(point).tolist():
            choice = int(point[i])
            if choice > 0:
                pieces[2 * i + 1] = self.choices[i][choice - 1]
            elif choice == MASKED:
                pieces[2 * i + 1] = mask
            else:
                assert choice == DELETED
                pieces[2 * i + 1] = ""
                if not pieces[2 * i] or pieces[2 * i][-1].isspace():  # do not leave two spaces behind
                    pieces[2 * i + 2] = pieces[2 * i + 2].removeprefix(" ")
        return pieces

    def text(self, point: IntArray) -> str:
        """The surface of one point (without the premise of a pair)."""
        return "".join(self.pieces(point))

    def render(self, points: Points) -> list[Input]:
        """What a victim reads for each of these points."""
        surfaces = [self.text(point) for point in dense(points)]
        premise = self.original.premise
        return list(surfaces) if premise is None else [(premise, surface) for surface in surfaces]

    def changes(self, point: IntArray) -> tuple[Change, ...]:
        """The swaps of a point, in order of position."""
        return tuple(
            Change(i, self.original.words[i], self.choices[i][int(point[i]) - 1])
            for i in np.flatnonzero(point).tolist()
        )

    def singles(self, base: IntArray | None = None, positions: Iterable[int] | None = None) -> Swaps:
        """All substitutes at these (by default all) positions, tried one at a time on a base point."""
        base = self.origin if base is None else np.asarray(base, np.int32)
        at = self.open if positions is None else np.asarray(list(positions), np.int64)
        if len(at) == 1:
            choices = np.arange(1, int(self.sizes[at[0]]) + 1, dtype=np.int32)
            rows = np.zeros(len(choices), np.int32)
            return Swaps(base[None], rows, rows + at[0].astype(np.int32), choices)
        counts = self.sizes[at]
        starts = np.repeat(np.cumsum(counts) - counts, counts)
        choices = (np.arange(int(counts.sum())) - starts + 1).astype(np.int32)
        return Swaps.of(base, np.repeat(at, counts).astype(np.int32), choices)

    # ------------------------------------------------------------------ ranges and samples

    def points(self, start: int = 0, stop: int | None = None) -> IntArray:
        """Points number start … stop - 1 as a (B, n) array; a bijection between ranks and points."""
        return self.strata.points(start, stop)

    def __iter__(self) -> Iterator[IntArray]:
        step = 1024
        return (point for low in range(0, self.size, step) for point in self.points(low, min(low + step, self.size)))

    def __len__(self) -> int:
        return self.size

    def sample(self, rng: np.random.Generator, count: int, swaps: int | None = None) -> IntArray:
        """`count` independent draws, each exactly uniform over the space (with a predicate: over what it accepts).

        With `swaps`, over the points of the space with exactly so many swaps.
        """
        if self.predicate is None:
            return self.strata.sample(rng, count, swaps)
        kept: list[IntArray] = []
        have = 0
        for _ in range(_REJECTION_LIMIT):
            drawn = self.strata.sample(rng, count, swaps)
            drawn = drawn[self.accepts(drawn)]
            kept.append(drawn)
            have += len(drawn)
            if have >= count:
                return np.concatenate(kept)[:count]
        raise InputError(
            f"the predicate accepted {have} of {count * _REJECTION_LIMIT} sampled texts: too few to sample"
        )

    # ------------------------------------------------------------------ identity

    @cached_property
    def fingerprint(self) -> str:
        """Hash of text, substitutes, limit and the predicate's `spec` if it has one (otherwise it is only code)."""
        content: list[object] = [
            self.original.premise,
            self.original.words,
            self.original.gaps,
            self.choices,
            self.max_swaps,
        ]
        if self.predicate is not None:
            content.append(dict(getattr(self.predicate, "spec", {})))
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]

    def __repr__(self) -> str:
        return f"Space({len(self.open)} of {self.n} words open, at most {self.max_swaps} swaps)"


def _check_choices(text: Text, choices: tuple[tuple[str, ...], ...]) -> None:
    if len(choices) != len(text):
        raise InputError(f"expected substitutes for {len(text)} words, got {len(choices)} lists")
    for word, options in zip(text.words, choices, strict=True):
        if not options:
            continue
        if word in options:
            raise InputError(f"expected substitutes other than the word itself, got {word!r} for {word!r}")
        if len(set(options)) != len(options):
            raise InputError(f"expected distinct substitutes, got {list(options)} for {word!r}")
