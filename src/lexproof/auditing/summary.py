"""The numbers of a run, each with its definition, its n and a 95 % Clopper-Pearson interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import fsum
from statistics import median
from typing import Any

from lexproof.statistics.intervals import clopper_pearson

CONFIDENCE = 0.95
THRESHOLD = 0.9
"""A text resists random swaps if more than this share of its space keeps the label (PDP paper, type 4)."""

_MOST_DANGEROUS = 50

DEFINITIONS = {
    "clean": "Texts classified correctly as they stand, out of all texts.",
    "aua": "Accuracy under attack: texts classified correctly for which no flip was found, out of all texts.",
    "certified": "Texts classified correctly whose whole space is proven to hold no flip, out of all texts.",
    "success": "Attack success: texts for which a flip was found, out of the texts classified correctly.",
    "closed": "Texts whose minimum number of swaps is known exactly, or proven not to exist, out of all texts.",
    "minimum": "Mean minimum number of swaps over the texts that are classified correctly and were broken; it lies "
    "between the two numbers where some minima are open.",
    "share": "Mean share of the texts of a space that fool the classifier, counted completely or drawn uniformly, over "
    "the texts classified correctly. The PDP paper's PR is 1 minus it.",
    "above": "Texts with PR > 0.9, that is more than 90% of the texts of their space keep the label, out of the texts "
    "classified correctly whose share was counted. PR is exact where the space was counted completely, else an "
    "estimate; a text is settled if the interval of its PR lies on one side of 0.9.",
    "queries": "Mean number of inputs the classifier was asked about for one text. What was asked before is answered "
    "from memory and not counted; only proofs by more than 5,000 texts ask afresh.",
    "R": "The least number of word swaps, within the space, after which the predicted label differs from the gold "
    "label; 0 for a text that is misclassified as it stands.",
    "lower": "No text with fewer swaps than this fools the classifier: proven by the certificate.",
    "upper": "The witness, re-checked as text, fools the classifier with this many swaps; empty if no flip is known.",
    "attacked curve": "Texts classified correctly for which no flip with at most so many swaps was found, out of all "
    "texts: the truth is at most this.",
    "certified curve": "Texts classified correctly and proven for all texts of the space with at most so many swaps, "
    "out of all texts: the truth is at least this.",
    "interval": "95% Clopper-Pearson, over the draw of the texts.",
}


def share_of(successes: int, n: int) -> dict[str, Any]:
    """A share with its n and interval; value None if n is 0."""
    low, high = clopper_pearson(successes, n, CONFIDENCE)
    value = successes / n if n else None
    return {"value": value, "low": low, "high": high, "n": n, "k": successes, "confidence": CONFIDENCE}


class Shares:
    """Collects the shares that flip of correctly classified texts, by label; PR is 1 minus a share."""

    def __init__(self) -> None:
        self.by_label: dict[int, list[float]] = {}
        self.exact = self.settled = 0

    def add(self, label: int, share: Mapping[str, Any]) -> None:
        """Take the share of one text into account."""
        self.by_label.setdefault(label, []).append(share["value"])
        self.exact += share["method"] == "exact"
        self.settled += (1 - share["high"] > THRESHOLD) == (1 - share["low"] > THRESHOLD)

    def above(self, label: int | None = None) -> dict[str, Any]:
        """Texts with PR above the threshold, those of one label or all."""
        values = self._all if label is None else self.by_label.get(label, [])
        return share_of(sum(1 - value > THRESHOLD for value in values), len(values))

    @property
    def _all(self) -> list[float]:
        return [value for values in self.by_label.values() for value in values]

    def summary(self) -> dict[str, Any]:
        """Mean share, and texts that resist random swaps: all of them and by label."""
        values = self._all
        counted = {"threshold": THRESHOLD, "exact": self.exact, "settled": self.settled}
        return {
            "mean": fsum(values) / len(values) if values else None,
            "n": len(values),
            "above": {**self.above(), **counted},
            "classes": [{"label": label, "above": self.above(label)} for label in sorted(self.by_label)],
        }


class Tallies:
    """Collects records one at a time, so that a run of any length is summarised in little memory."""

    def __init__(self) -> None:
        self.errors = self.n = self.correct = self.broken = self.robust = self.closed = 0
        self._uppers: Counter[int | None] = Counter()  # of correct texts; None: no flip known
        self._lowers: Counter[int | None] = Counter()  # of correct texts; None: whole space proven
        self._most_swaps = 0  # allowed in a correct text
        self._sums = [0, 0, 0]  # lower, upper, closed over broken texts
        self._queries: list[int] = []
        self._shares = Shares()
        self._witnessed: Counter[tuple[str, str]] = Counter()
        self._alone: Counter[tuple[str, str]] = Counter()
        self._examples: dict[tuple[str, str], list[int]] = {}

    def add(self, record: Mapping[str, Any]) -> None:
        """Take one record into account."""
        if record["answer"] == "error":
            self.errors += 1
            return
        self.n += 1
        self._queries.append(record["queries"])
        lower, upper = record["lower"], record["upper"]
        robust = record["answer"] == "robust"
        self.closed += robust or record["answer"] == "minimum"
        if upper == 0 or record["predicted"] != record["label"]:
            return
        self.correct += 1
        self.robust += robust
        self._most_swaps = max(self._most_swaps, record["max_swaps"])
        self._uppers[upper] += 1
        self._lowers[None if robust else lower] += 1
        if upper is not None:
            self.broken += 1
            self._sums = [a + b for a, b in zip(self._sums, (lower, upper, lower == upper), strict=True)]
        if record["share"] is not None:
            self._shares.add(record["label"], record["share"])
        self._swaps(record)

    def _swaps(self, record: Mapping[str, Any]) -> None:
        alone = {_pair(change) for change in record["breakers"]}
        used = {_pair(change) for change in record["changed"]}
        self._alone.update(alone)
        self._witnessed.update(used | alone)
        for pair in used | alone:
            examples = self._examples.setdefault(pair, [])
            if len(examples) < 5:
                examples.append(record["id"])

    def curve(self) -> list[dict[str, Any]]:
        """Accuracy by number of swaps: attacked above, certified below, the truth between."""
        known = [swaps for swaps in (*self._uppers, *self._lowers) if swaps is not None]
        points = []
        for r in range(max(*known, min(self._most_swaps, 1), 0) + 1):
            attacked = sum(count for swaps, count in self._uppers.items() if swaps is None or swaps > r)
            certified = sum(count for swaps, count in self._lowers.items() if swaps is None or swaps > r)
            points.append(
                {"swaps": r, "attacked": share_of(attacked, self.n), "certified": share_of(certified, self.n)}
            )
        return points

    def dangerous(self) -> list[dict[str, Any]]:
        """The swaps that fool the classifier on most texts."""
        ranked = sorted(self._witnessed, key=lambda pair: (-self._witnessed[pair], -self._alone[pair], pair))
        return [
            {
                "old": pair[0],
                "new": pair[1],
                "texts": self._witnessed[pair],
                "alone": self._alone[pair],
                "examples": self._examples[pair],
            }
            for pair in ranked[:_MOST_DANGEROUS]
        ]

    def summary(self) -> dict[str, Any]:
        """All numbers of the run."""
        lower, upper, closed = self._sums
        broken, queries = self.broken, self._queries
        return {
            "n": self.n,
            "errors": self.errors,
            "clean": share_of(self.correct, self.n),
            "aua": share_of(self.correct - broken, self.n),
            "certified": share_of(self.robust, self.n),
            "success": share_of(broken, self.correct),
            "closed": share_of(self.closed, self.n),
            "curve": self.curve(),
            "minimum": {
                "mean_lower": lower / broken if broken else None,
                "mean_upper": upper / broken if broken else None,
                "n": broken,
                "closed": closed,
            },
            "queries": {
                "mean": sum(queries) / len(queries) if queries else None,
                "median": median(queries) if queries else None,
                "total": sum(queries),
            },
            "share": self._shares.summary(),
            "dangerous": self.dangerous(),
            "definitions": DEFINITIONS,
        }


def summarize(records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The summary of these records."""
    tallies = Tallies()
    for record in records:
        tallies.add(record)
    return tallies.summary()


def _pair(change: Mapping[str, Any]) -> tuple[str, str]:
    return change["old"].lower(), change["new"].lower()
