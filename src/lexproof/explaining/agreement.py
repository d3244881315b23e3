"""How far two methods agree on which words matter.

Ranks are compared over the words of which both say something, and of values as records show them: what differs by less
is the rounding of a computer, and counts as equal.  Spearman's and Kendall's correlations (tau-b) treat ties
by mean ranks and as ties; they do not exist, and are None, for fewer than two words or a method that tells none apart.
The overlap of the k most salient words is that of two sets of k words (fewer if there are fewer), divided by their
size; ties at the end of a set are broken by the order of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from lexproof.errors import InputError
from lexproof.points import FloatArray

_DIGITS = 9  # after the point


def shown(value: float) -> float:
    """A value as records show it; a zero has no sign."""
    return round(value, _DIGITS) + 0.0


class Ranked(Protocol):
    """A method's values, one a word."""

    @property
    def method(self) -> str:
        """Its name."""
        ...

    @property
    def array(self) -> FloatArray:
        """One value a word, not a number where there is none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Of two methods about one text; `n` words have a value from both, `overlap[k]` is of the k most salient."""

    first: str
    second: str
    n: int
    spearman: float | None
    kendall: float | None
    overlap: dict[int, float | None]

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary; the sizes of the sets become strings."""
        return {**asdict(self), "overlap": {str(k): value for k, value in self.overlap.items()}}


def agreement(first: Ranked, second: Ranked, top: Sequence[int]) -> Agreement:
    """Compare two methods; InputError for a set of less than one word."""
    for k in top:
        if k < 1:
            raise InputError(f"expected sets of at least 1 word, got {k}")
    known = ~(np.isnan(first.array) | np.isnan(second.array))
    one, other = (np.array([shown(value) for value in own.array[known].tolist()]) for own in (first, second))
    spearman, kendall = rank_correlations(one, other)
    return Agreement(
        first=first.method,
        second=second.method,
        n=len(one),
        spearman=spearman,
        kendall=kendall,
        overlap={k: overlap(one, other, k) for k in top},
    )


def rank_correlations(one: FloatArray, other: FloatArray) -> tuple[float | None, float | None]:
    """Spearman's rho and Kendall's tau-b of paired values."""
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None, None
    from scipy.stats import kendalltau, spearmanr

    return float(spearmanr(one, other).statistic), float(kendalltau(one, other).statistic)


def overlap(one: FloatArray, other: FloatArray, k: int) -> float | None:
    """The share of the k largest of one that are among the k largest of the other."""
    k = min(k, len(one))
    if not k:
        return None
    best = [set(np.argsort(-values, kind="stable")[:k].tolist()) for values in (one, other)]
    return len(best[0] & best[1]) / k
