"""Deletion curves: how the label's score falls as words are taken away in some order.

An order that puts the words that matter first makes the curve fall early, so that the area under it is small.  All
orders of a text share both ends of the curve, the text as it is and the text without words, and can be compared.
Petsiuk, Das, Saenko 2018 (RISE) for images; the same is known for texts as the comprehensiveness of a rationale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lexproof.edits import as_text
from lexproof.errors import InputError
from lexproof.explaining.labels import label_number
from lexproof.points import DELETED, MASKED, FloatArray, IntArray
from lexproof.space import Space
from lexproof.text import Input, Text
from lexproof.victims.base import Victim


@dataclass(frozen=True, slots=True, eq=False)
class DeletionCurve:
    """The label's score after the first 0, 1, … n words of an order are deleted, and after they are masked."""

    deleted: FloatArray
    masked: FloatArray

    @property
    def area_deleted(self) -> float:
        """The mean height of the curve of deleted words, between 0 and 1 if scores are."""
        return area(self.deleted)

    @property
    def area_masked(self) -> float:
        """The mean height of the curve of masked words."""
        return area(self.masked)


def area(curve: FloatArray) -> float:
    """The area under a curve over the share of words taken away, by trapezoids; the height itself without words."""
    if len(curve) == 1:
        return float(curve[0])
    return float((curve[1:] + curve[:-1]).mean() / 2)


def deletion_curve(victim: Victim, text: Text | Input, label: int | str, order: Sequence[int]) -> DeletionCurve:
    """The curve of an order of all words (positions, the most salient first), such as `Saliency.order()`.

    The label may be given by name; of a pair, the words are those of its second text.
    """
    return _curves(victim, as_text(text), label, [order])[0]


def random_curve(
    victim: Victim, text: Text | Input, label: int | str, *, orders: int = 10, seed: int = 0
) -> DeletionCurve:
    """The mean curve of so many random orders: what an order must beat to have found something."""
    if orders < 1:
        raise InputError(f"expected at least 1 order, got {orders}")
    rng = np.random.default_rng(seed)
    text = as_text(text)
    curves = _curves(victim, text, label, [rng.permutation(len(text)).tolist() for _ in range(orders)])
    return DeletionCurve(
        np.mean([curve.deleted for curve in curves], axis=0), np.mean([curve.masked for curve in curves], axis=0)
    )


def _curves(victim: Victim, text: Text, label: int | str, orders: Sequence[Sequence[int]]) -> list[DeletionCurve]:
    """One curve an order, all scored together."""
    n, column = len(text), label_number(label, victim)
    for order in orders:
        if sorted(order) != list(range(n)):
            raise InputError(f"expected each of the positions 0 to {n - 1} once, got {list(order)}")
    space = Space(text, [()] * n, 0)
    points = [_taken(order, probe) for order in orders for probe in (DELETED, MASKED)]
    scores = victim.score([(victim.bind(space), np.concatenate(points))])[0][:, column]
    curves = scores.reshape(len(orders), 2, n + 1)
    return [DeletionCurve(deleted, masked) for deleted, masked in curves]


def _taken(order: Sequence[int], probe: int) -> IntArray:
    """The text with its first 0, 1, … n words of the order taken away: (n + 1, n)."""
    n = len(order)
    points = np.zeros((n + 1, n), np.int32)
    rank = np.empty(n, np.int64)
    rank[list(order)] = np.arange(n)
    points[np.arange(n + 1)[:, None] > rank] = probe
    return points
