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
import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import comb, floor

import numpy as np
from numpy.typing import NDArray

from lexproof.errors import InputError
from lexproof.points import DELETED, MASKED, BoolArray, IntArray, Points, Swaps, dense
from lexproof.text import Input, Text

Candidates = Callable[[Text], Sequence[Sequence[str]]]
"""Maps a text to its substitutes S_1 … S_n; deterministic, and blind to any model."""

Predicate = Callable[[Sequence[Input]], BoolArray]
"""Whole-text condition, such as sentence similarity: which of these texts belong to the space."""

MASK = "[UNK]"
"""How a masked word is written for victims that read strings."""

_TABLE_LIMIT = 20_000_000  # entries of exact integers that sampling and unranking may tabulate
_REJECTION_LIMIT = 200  # rounds of rejection sampling before a predicate counts as too rare


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
        self.choices = tuple(tuple(options) for options in choices)
        self.predicate = predicate
        _check_choices(self.original, self.choices)
        self.sizes: NDArray[np.int64] = np.array([len(options) for options in self.choices], np.int64)
        self.open: NDArray[np.int64] = np.flatnonzero(self.sizes)
        if max_swaps is not None and max_swaps < 0:
            raise InputError(f"expected max_swaps >= 0, got {max_swaps}")
        self.max_swaps = len(self.open) if max_swaps is None else min(max_swaps, len(self.open))

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
        space = cls(text, candidates(text), None, predicate)
        return space.restrict(max_swaps=max_swaps, max_share=max_share)

    # ------------------------------------------------------------------ the set

    @property
    def n(self) -> int:
        """Number of words."""
        return len(self.choices)

    @property
    def origin(self) -> IntArray:
        """The original text as a point."""
        return np.zeros(self.n, np.int32)

    @cached_property
    def _group_counts(self) -> list[tuple[int, int]]:
        return sorted(Counter(self.sizes[self.open].tolist()).items())

    @cached_property
    def _strata(self) -> list[int]:
        return [1]

    def stratum(self, k: int) -> int:
        """e_k: exact number of points with exactly k swaps."""
        # Newton's identities: k e_k = sum_i (-1)^(i-1) e_(k-i) p_i with power sums p_i; exact in integers
        if k > len(self.open):
            return 0
        e = self._strata
        while len(e) <= k:
            j = len(e)
            terms = ((-1) ** (i - 1) * e[j - i] * sum(m * s**i for s, m in self._group_counts) for i in range(1, j + 1))
            e.append(sum(terms) // j)
        return e[k]

    @property
    def size(self) -> int:
        """Exact number of points, the original included."""
        return sum(self.stratum(k) for k in range(self.max_swaps + 1))

    def is_within(self, limit: int, radius: int | None = None) -> bool:
        """Whether at most `limit` points lie within `radius` swaps; cheap even where `size` is astronomic."""
        total = 0
        for k in range((self.max_swaps if radius is None else min(radius, self.max_swaps)) + 1):
            total += self.stratum(k)
            if total > limit:
                return False
        return True

    def contains(self, point: IntArray | Text) -> bool:
        """Whether a point, or a text with the same number of words and the same gaps, lies in the space."""
        if isinstance(point, Text):
            found = self.locate(point)
            return found is not None and self.contains(found)
        point = np.asarray(point)
        inside = (
            point.shape == (self.n,)
            and bool(((point >= 0) & (point <= self.sizes)).all())
            and int(np.count_nonzero(point)) <= self.max_swaps
        )
        return inside and self.accepts(point[None])[0].item()

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
        limits = [self.max_swaps]
        if max_swaps is not None:
            limits.append(max_swaps)
        if max_share is not None:
            limits.append(allowed_swaps(self.n, max_share))
        return Space(self.original, choices, min(limits), self.predicate)

    # ------------------------------------------------------------------ points and texts

    @cached_property
    def _pieces(self) -> list[str]:
        pieces = [self.original.gaps[0]]
        for word, gap in zip(self.original.words, self.original.gaps[1:], strict=True):
            pieces += (word, gap)
        return pieces

    def text(self, point: IntArray) -> str:
        """The surface of one point (without the premise of a pair)."""
        pieces = self._pieces.copy()
        for i in np.flatnonzero(point).tolist():
            choice = int(point[i])
            if choice > 0:
                pieces[2 * i + 1] = self.choices[i][choice - 1]
            elif choice == MASKED:
                pieces[2 * i + 1] = MASK
            else:
                assert choice == DELETED
                pieces[2 * i + 1] = ""
                if not pieces[2 * i] or pieces[2 * i][-1].isspace():  # do not leave two spaces behind
                    pieces[2 * i + 2] = pieces[2 * i + 2].removeprefix(" ")
        return "".join(pieces)

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
        at = self.open if positions is None else np.asarray(list(positions), np.int64)
        counts = self.sizes[at]
        starts = np.repeat(np.cumsum(counts) - counts, counts)
        choices = np.arange(int(counts.sum())) - starts + 1
        base = self.origin if base is None else np.asarray(base, np.int32)
        return Swaps.of(base, np.repeat(at, counts).astype(np.int32), choices.astype(np.int32))

    # ------------------------------------------------------------------ unranking

    def points(self, start: int = 0, stop: int | None = None) -> IntArray:
        """Points number start … stop - 1 as a (B, n) array; a bijection between ranks and points."""
        stop = self.size if stop is None else stop
        if not 0 <= start <= stop <= self.size:
            raise InputError(f"expected 0 <= start <= stop <= {self.size}, got start={start}, stop={stop}")
        blocks, before = [np.empty((0, self.n), np.int32)], 0
        for k in range(self.max_swaps + 1):
            here = self.stratum(k)
            low, high = max(start - before, 0), min(stop - before, here)
            if low < high:
                blocks.append(self._unrank(k, low, high))
            before += here
            if before >= stop:
                break
        return np.concatenate(blocks)

    def __iter__(self) -> Iterator[IntArray]:
        step = 1024
        return (point for low in range(0, self.size, step) for point in self.points(low, min(low + step, self.size)))

    def __len__(self) -> int:
        return self.size

    def _suffix_counts(self, k: int) -> list[list[int]]:
        """counts[t][j] = number of ways to make j swaps among the open positions t, t+1, …"""
        if (len(self.open) + 1) * (k + 1) > _TABLE_LIMIT:
            raise InputError(
                f"cannot unrank {k} swaps over {len(self.open)} words: the table would not fit; lower max_swaps"
            )
        counts = [[1] + [0] * k]
        for s in reversed(self.sizes[self.open].tolist()):
            later = counts[-1]
            counts.append([1] + [later[j] + s * later[j - 1] for j in range(1, k + 1)])
        return counts[::-1]

    def _unrank(self, k: int, low: int, high: int) -> IntArray:
        counts = self._suffix_counts(k)
        small = self.stratum(k) < 2**62
        table = np.array(counts, np.int64 if small else object)
        rank = np.arange(high - low, dtype=np.int64)
        rank = rank + low if small else rank.astype(object) + low
        left = np.full(high - low, k)
        points = np.zeros((high - low, self.n), np.int32)
        for t, i in enumerate(self.open.tolist()):
            skip = table[t + 1, left]
            swap = (rank >= skip) & (left > 0)
            if swap.any():
                inner = table[t + 1, left[swap] - 1]
                rest = rank[swap] - skip[swap]
                points[swap, i] = (rest // inner + 1).astype(np.int32)
                rank[swap] = rest % inner
                left[swap] -= 1
        return points

    # ------------------------------------------------------------------ sampling

    @cached_property
    def _groups(self) -> list[tuple[int, NDArray[np.int64]]]:
        return [(s, self.open[self.sizes[self.open] == s]) for s, _ in self._group_counts]

    @cached_property
    def _group_suffix(self) -> list[list[int]]:
        """suffix[g][j] = number of ways to make j swaps among the positions of groups g, g+1, …"""
        r = self.max_swaps
        if (len(self.open) + 1) * (r + 1) > _TABLE_LIMIT:
            raise InputError(
                f"cannot sample {r} swaps over {len(self.open)} words: the table would not fit; lower max_swaps"
            )
        row = [1] + [0] * r
        suffix = [row]
        for s, m in reversed(self._group_counts):
            row = row.copy()
            for _ in range(m):
                for j in range(r, 0, -1):
                    row[j] += s * row[j - 1]
            suffix.append(row)
        return suffix[::-1]

    def sample(self, rng: np.random.Generator, count: int) -> IntArray:
        """`count` independent draws, each exactly uniform over the space (over the accepted points, with a predicate)."""
        if self.predicate is None:
            return self._sample(rng, count)
        kept: list[IntArray] = []
        have = 0
        for _ in range(_REJECTION_LIMIT):
            drawn = self._sample(rng, count)
            drawn = drawn[self.accepts(drawn)]
            kept.append(drawn)
            have += len(drawn)
            if have >= count:
                return np.concatenate(kept)[:count]
        raise InputError(
            f"the predicate accepted {have} of {count * _REJECTION_LIMIT} sampled texts: too few to sample"
        )

    def _sample(self, rng: np.random.Generator, count: int) -> IntArray:
        # Positions with equally many substitutes are exchangeable, so a draw is: the number of swaps in each group
        # of equals (exact integer weights), a uniform subset of that size, and a uniform substitute for each.
        exact = random.Random(int.from_bytes(rng.bytes(32), "big"))
        suffix = self._group_suffix
        cumulative: dict[tuple[int, int], list[int]] = {}
        by_swaps = list(accumulate(suffix[0]))
        swaps = np.zeros((count, len(self._groups)), np.int64)
        for b in range(count):
            left = bisect_right(by_swaps, exact.randrange(by_swaps[-1]))
            for g, (s, positions) in enumerate(self._groups):
                if not left:
                    break
                ladder = cumulative.get((g, left))
                if ladder is None:
                    weights = (comb(len(positions), j) * s**j * suffix[g + 1][left - j] for j in range(left + 1))
                    ladder = cumulative[g, left] = list(accumulate(weights))
                swaps[b, g] = bisect_right(ladder, exact.randrange(ladder[-1]))
                left -= int(swaps[b, g])
        points = np.zeros((count, self.n), np.int32)
        for g, (s, positions) in enumerate(self._groups):
            order = rng.permuted(np.broadcast_to(np.arange(len(positions)), (count, len(positions))), axis=1)
            words = rng.integers(1, s + 1, size=order.shape, dtype=np.int32)
            points[:, positions] = np.where(order < swaps[:, g, None], words, 0)
        return points

    # ------------------------------------------------------------------ identity

    @cached_property
    def fingerprint(self) -> str:
        """Hash of text, substitutes and limit (not of the predicate, which is code)."""
        content = [
            self.original.premise,
            self.original.words,
            self.original.gaps,
            self.choices,
            self.max_swaps,
        ]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]

    def __repr__(self) -> str:
        return f"Space({len(self.open)} of {self.n} words open, at most {self.max_swaps} swaps)"


def _check_choices(text: Text, choices: tuple[tuple[str, ...], ...]) -> None:
    if len(choices) != len(text):
        raise InputError(f"expected substitutes for {len(text)} words, got {len(choices)} lists")
    for word, options in zip(text.words, choices, strict=True):
        if word in options:
            raise InputError(f"expected substitutes other than the word itself, got {word!r} for {word!r}")
        if len(set(options)) != len(options):
            raise InputError(f"expected distinct substitutes, got {list(options)} for {word!r}")
