"""Strata: counting, unranking and sampling "at most r swaps over n positions with s_i substitutes each".

All in exact integer arithmetic, whatever the size; knows no words.

Symbols: s_i = substitutes of position i, r = most swaps, e_k = number of points with exactly k swaps = the k-th
elementary symmetric polynomial of s_1 … s_n.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import Counter
from functools import cached_property
from itertools import accumulate
from math import comb

import numpy as np
from numpy.typing import NDArray

from lexproof.errors import InputError
from lexproof.points import IntArray

_TABLE_LIMIT = 20_000_000  # entries of exact integers that sampling and unranking may tabulate


class Strata:
    """The points with at most `max_swaps` swaps, ordered by number of swaps, then lexicographically."""

    def __init__(self, sizes: NDArray[np.int64], max_swaps: int) -> None:
        self.sizes = sizes
        self.open: NDArray[np.int64] = np.flatnonzero(sizes)
        self.max_swaps = min(max_swaps, len(self.open))

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
        if (len(self.open) + 1) * (self.max_swaps + 1) <= _TABLE_LIMIT:
            return sum(self._group_suffix[0])
        return sum(self.stratum(k) for k in range(self.max_swaps + 1))

    def is_within(self, limit: int) -> bool:
        """Whether there are at most `limit` points; cheap even where `size` is astronomic."""
        total = 0
        for k in range(self.max_swaps + 1):
            total += self.stratum(k)
            if total > limit:
                return False
        return True

    def points(self, start: int = 0, stop: int | None = None) -> IntArray:
        """Points number start … stop - 1 as a (B, n) array; a bijection between ranks and points."""
        stop = self.size if stop is None else stop
        if not 0 <= start <= stop <= self.size:
            raise InputError(f"expected 0 <= start <= stop <= {self.size}, got start={start}, stop={stop}")
        blocks, before = [np.empty((0, len(self.sizes)), np.int32)], 0
        for k in range(self.max_swaps + 1):
            here = self.stratum(k)
            low, high = max(start - before, 0), min(stop - before, here)
            if low < high:
                blocks.append(self._unrank(k, low, high))
            before += here
            if before >= stop:
                break
        return np.concatenate(blocks)

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
        small = max(map(max, counts)) < 2**62
        table = np.array(counts, np.int64 if small else object)
        rank = np.arange(high - low, dtype=np.int64)
        rank = rank + low if small else rank.astype(object) + low
        left = np.full(high - low, k)
        points = np.zeros((high - low, len(self.sizes)), np.int32)
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

    def sample(self, rng: np.random.Generator, count: int, swaps: int | None = None) -> IntArray:
        """`count` independent draws, each exactly uniform; with `swaps`, over the points with exactly so many."""
        if swaps is not None and not 0 <= swaps <= self.max_swaps:
            raise InputError(f"expected 0 to {self.max_swaps} swaps to sample, got {swaps}")
        # Positions with equally many substitutes are exchangeable, so a draw is: the number of swaps in each group
        # of equals (exact integer weights), a uniform subset of that size, and a uniform substitute for each.
        exact = random.Random(int.from_bytes(rng.bytes(32), "big"))
        suffix = self._group_suffix
        cumulative: dict[tuple[int, int], list[int]] = {}
        by_swaps = list(accumulate(suffix[0]))
        made = np.zeros((count, len(self._groups)), np.int64)
        for b in range(count):
            left = bisect_right(by_swaps, exact.randrange(by_swaps[-1])) if swaps is None else swaps
            for g, (s, positions) in enumerate(self._groups):
                if not left:
                    break
                ladder = cumulative.get((g, left))
                if ladder is None:
                    weights = (comb(len(positions), j) * s**j * suffix[g + 1][left - j] for j in range(left + 1))
                    ladder = cumulative[g, left] = list(accumulate(weights))
                made[b, g] = bisect_right(ladder, exact.randrange(ladder[-1]))
                left -= int(made[b, g])
        points = np.zeros((count, len(self.sizes)), np.int32)
        for g, (s, positions) in enumerate(self._groups):
            order = rng.permuted(np.broadcast_to(np.arange(len(positions)), (count, len(positions))), axis=1)
            words = rng.integers(1, s + 1, size=order.shape, dtype=np.int32)
            points[:, positions] = np.where(order < made[:, g, None], words, 0)
        return points
