"""Interpolated modified Kneser-Ney smoothing of trigrams, on numbers alone.

Guarantee: for every context, seen or not, the probabilities of all symbols sum to 1, and each is positive.

    p3(w | u v) = (c(u v w) - D3) / c(u v ·)          + left3(u v) p2(w | v)
    p2(w | v)   = (N(· v w) - D2) / N(· v ·)          + left2(v)   p1(w)
    p1(w)       = (N(· w)   - D1) / N(· ·)            + left1      1 / S

Symbols: c counts trigrams; N(· v w) counts the distinct words before `v w`, N(· w) those before w; S symbols can be
predicted; D depends on the count (1, 2, 3 or more) and on the order; `left` is what the discounts took from a context,
1 for a context never seen.

Reference: Chen and Goodman 1999, An Empirical Study of Smoothing Techniques for Language Modeling.  Deviations: the
starting symbol is an ordinary context word, so that the lower orders count distinct words before it too; a discount
that few counts leave undefined, or put outside its range, is set to the nearest sensible value (at least a tenth of
the count, so that every symbol keeps a positive probability, at most the count itself).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lexproof.points import FloatArray

Keys = NDArray[np.int64]
Counts = NDArray[np.int64]

LARGEST = 2_000_000
"""Symbols at most: three of them make a key of 63 bits."""

_LEAST_SHARE = 0.1  # of a count that is always discounted


@dataclass(frozen=True, slots=True)
class Order:
    """One line of the formula: what each context gives its own symbols, and what it leaves to the order below."""

    grams: Keys  # sorted: context * symbols + w
    shares: FloatArray  # of each gram
    contexts: Keys  # sorted
    left: FloatArray  # of each context

    def apply(self, contexts: Keys, symbols: Keys, size: int, below: FloatArray) -> FloatArray:
        """Probabilities of symbols after contexts, given those of the order below."""
        share = _found(self.grams, self.shares, contexts * size + symbols, 0.0)
        return share + _found(self.contexts, self.left, contexts, 1.0) * below


class KneserNey:
    """Probabilities of the next symbol after two others, from counted trigrams.

    Trigram (u, v, w) has the key (u * symbols + v) * symbols + w.  `predicted`: symbols 0 … predicted - 1 can follow;
    those beyond stand in contexts only.
    """

    def __init__(self, keys: Keys, counts: Counts, symbols: int, predicted: int) -> None:
        self.symbols, self.predicted = symbols, predicted
        pairs, before = np.unique(keys % symbols**2, return_counts=True)
        singles, kinds = np.unique(pairs % symbols, return_counts=True)
        self._orders = [
            _order(grams, counted, symbols) for grams, counted in ((singles, kinds), (pairs, before), (keys, counts))
        ]

    def probability(self, first: Keys, second: Keys, symbols: Keys) -> FloatArray:
        """The probability of each symbol after the two before it."""
        found: FloatArray = np.full(len(symbols), 1.0 / self.predicted)
        contexts = (np.zeros_like(second), second, first * self.symbols + second)
        for order, context in zip(self._orders, contexts, strict=True):
            found = order.apply(context, symbols, self.symbols, found)
        return found


def _order(grams: Keys, counts: Counts, symbols: int) -> Order:
    discounts = _discounts(counts)[np.minimum(counts, 3)]
    contexts, owner = np.unique(grams // symbols, return_inverse=True)
    total = np.bincount(owner, counts, len(contexts))
    left = np.bincount(owner, discounts, len(contexts)) / total
    return Order(grams, (counts - discounts) / total[owner], contexts, left)


def _discounts(counts: Counts) -> FloatArray:
    """What is taken from counts of 1, 2 and at least 3; entry 0 is not used."""
    n1, n2, n3, n4 = (int(np.count_nonzero(counts == count)) for count in (1, 2, 3, 4))
    share = n1 / (n1 + 2 * n2) if n1 else 0.5
    raw = [count - (count + 1) * share * after / here if here else count / 2
           for count, here, after in ((1, n1, n2), (2, n2, n3), (3, n3, n4))]  # fmt: skip
    return np.array([0.0, *(float(np.clip(d, _LEAST_SHARE * c, c)) for c, d in enumerate(raw, 1))])


def _found(keys: Keys, values: FloatArray, wanted: Keys, otherwise: float) -> FloatArray:
    """The value of each key that is known, else the other one."""
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    found: FloatArray = np.where(keys[at] == wanted, values[at], otherwise)
    return found
