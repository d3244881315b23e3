"""Means over texts, how sure they are, and whether a trend is seen: by a bootstrap over texts, never by eye.

Words of one text are not independent, so whole texts are drawn again; a text drawn counts for every network that was
measured on it, so that networks are compared on the same texts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Values = Mapping[int, Sequence[float]]  # by text

DRAWS = 2000
LEVELS = (0.025, 0.975)
LEAST = 10  # texts, for an interval to be worth anything


@dataclass(frozen=True, slots=True)
class Sample:
    """Values by network and text; every mean is over all values of a network."""

    names: tuple[str, ...]
    sums: Floats  # (networks, texts)
    counts: Floats

    @classmethod
    def of(cls, values: Mapping[str, Values]) -> "Sample":
        texts = sorted({text for own in values.values() for text in own})
        place = {text: at for at, text in enumerate(texts)}
        sums, counts = np.zeros((len(values), len(texts))), np.zeros((len(values), len(texts)))
        for row, own in enumerate(values.values()):
            for text, found in own.items():
                sums[row, place[text]], counts[row, place[text]] = sum(found), len(found)
        return cls(tuple(values), sums, counts)

    def means(self) -> Floats:
        return self.sums.sum(1) / np.maximum(self.counts.sum(1), 1)

    def draws(self, seed: int = 0) -> Floats:
        """Means of texts drawn again: (draws, networks); not a number for a network of fewer than LEAST texts."""
        texts = self.sums.shape[1]
        weights = np.random.default_rng(seed).multinomial(texts, np.full(texts, 1 / texts), DRAWS).astype(float)
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn = (weights @ self.sums.T) / (weights @ self.counts.T)
        return np.where((self.counts > 0).sum(1) >= LEAST, drawn, np.nan)


def means_by_set(values: Mapping[str, Values]) -> tuple[dict[str, float], dict[str, Floats]]:
    """The mean of each network, and means of texts drawn again, jointly for the networks of a set (SET-...)."""
    means: dict[str, float] = {}
    draws: dict[str, Floats] = {}
    for seed, data in enumerate(dict.fromkeys(name.split("-")[0] for name in values)):
        own = {name: found for name, found in values.items() if name.split("-")[0] == data}
        sample = Sample.of(own)
        means |= dict(zip(own, sample.means().tolist(), strict=True))
        draws |= dict(zip(own, sample.draws(seed).T, strict=True))
    return means, draws


@dataclass(frozen=True, slots=True)
class Finding:
    """A trend of the paper, the number that stands for it, its interval, and whether that says it is seen."""

    claim: str
    measure: str
    value: float
    low: float
    high: float
    wanted: float  # the side of 0 on which the paper has it: 1 or -1

    @property
    def verdict(self) -> str:
        """Seen or reversed if the whole interval is on one side of 0."""
        if not np.isfinite([self.value, self.low, self.high]).all():
            return "too little data"
        if self.low <= 0 <= self.high:
            return "not seen"
        return "seen" if self.value * self.wanted > 0 else "reversed"

    def row(self) -> list[str]:
        return [self.claim, self.measure, f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]", self.verdict]


def finding(claim: str, measure: str, value: float, draws: Floats, wanted: float) -> Finding:
    return Finding(claim, measure, float(value), *interval(draws), wanted)


def interval(draws: Floats) -> tuple[float, float]:
    """The 95 % interval of values drawn again; not a number if most of them are none."""
    kept = draws[np.isfinite(draws)]
    low, high = np.quantile(kept, LEVELS) if len(kept) > DRAWS / 2 else (np.nan, np.nan)
    return float(low), float(high)


def log_slope(x: Sequence[float], means: Floats) -> Floats:
    """The slope of log mean against log x by least squares, for means (..., len(x))."""
    at = np.log(np.asarray(x, float))
    at = at - at.mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        return (np.log(means) * at).sum(-1) / (at**2).sum()


def log_ratio(means: Floats, over: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(means / over)


def interval_of_mean(values: Sequence[float], seed: int = 0) -> tuple[float, float, float]:
    """The mean of one value a text, with its interval."""
    found = np.asarray(values, float)
    if not len(found):
        return np.nan, np.nan, np.nan
    rows = np.random.default_rng(seed).integers(0, len(found), (DRAWS, len(found)))
    low, high = interval(found[rows].mean(1)) if len(found) >= LEAST else (np.nan, np.nan)
    return float(found.mean()), low, high


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def findings_table(found: Sequence[Finding]) -> str:
    note = (
        "Seen: the whole 95 % bootstrap interval (texts drawn again) lies on the paper's side of 0; reversed: on the "
        f"other side; not seen: it holds 0; too little data: fewer than {LEAST} texts of a network."
    )
    return (
        note + "\n\n" + markdown(["the paper's trend", "measured by", "value [95 %]", "here"], [f.row() for f in found])
    )
