"""The numbers of a summary about shares: against a plain recount of the records."""

from __future__ import annotations

import random
from typing import Any

import pytest

from lexproof.auditing.summary import DEFINITIONS, Shares, summarize
from lexproof.statistics.intervals import clopper_pearson


def record(i: int, label: int, share: dict[str, Any] | None, *, right: bool = True) -> dict[str, Any]:
    return {
        "id": i,
        "answer": "bracket" if right else "minimum",
        "label": label,
        "predicted": label if right else 1 - label,
        "lower": 1 if right else 0,
        "upper": None if right else 0,
        "max_swaps": 3,
        "queries": 5,
        "share": share,
        "breakers": [],
        "changed": [],
    }


def share(value: float, half: float = 0.0) -> dict[str, Any]:
    low, high = max(0.0, value - half), min(1.0, value + half)
    return {"value": value, "low": low, "high": high, "method": "clopper-pearson" if half else "exact"}


def test_texts_above_the_threshold_are_counted_by_label_and_in_all() -> None:
    rng = random.Random(0)
    made = [record(i, rng.randrange(3), share(rng.random() ** 4, rng.choice((0.0, 0.02)))) for i in range(200)]
    found = summarize(made)["share"]
    scores = [1 - r["share"]["value"] for r in made]
    k = sum(score > 0.9 for score in scores)
    above = found["above"]
    assert (above["k"], above["n"], above["value"], above["confidence"]) == (k, 200, k / 200, 0.95)
    assert (above["low"], above["high"]) == clopper_pearson(k, 200, 0.95)
    assert above["threshold"] == 0.9
    assert above["exact"] == sum(r["share"]["method"] == "exact" for r in made)
    assert found["mean"] == pytest.approx(sum(1 - score for score in scores) / 200)
    for entry in found["classes"]:
        own = [1 - r["share"]["value"] for r in made if r["label"] == entry["label"]]
        assert (entry["above"]["k"], entry["above"]["n"]) == (sum(score > 0.9 for score in own), len(own))
    assert [entry["label"] for entry in found["classes"]] == [0, 1, 2]


@pytest.mark.parametrize(
    ("given", "settled", "above"),
    [
        (share(0.05), 1, 1),
        (share(0.1), 1, 0),  # PR is 0.9, which is not above it
        (share(50 / 500), 1, 0),
        (share(0.05, 0.04), 1, 1),
        (share(0.09, 0.02), 0, 1),
        (share(0.11, 0.02), 0, 0),
        (share(0.3, 0.02), 1, 0),
    ],
)
def test_a_text_is_settled_if_its_interval_lies_on_one_side(given: dict[str, Any], settled: int, above: int) -> None:
    found = summarize([record(0, 1, given)])["share"]["above"]
    assert (found["settled"], found["k"]) == (settled, above)
    assert found["exact"] == (given["method"] == "exact")


def test_misclassified_and_uncounted_texts_are_left_out() -> None:
    found = summarize([record(0, 1, share(0.0), right=False), record(1, 1, None), record(2, 0, share(0.5))])["share"]
    assert (found["n"], found["above"]["n"], found["above"]["k"]) == (1, 1, 0)
    assert [entry["label"] for entry in found["classes"]] == [0]


def test_nothing_counted() -> None:
    found = summarize([record(0, 1, None)])["share"]
    assert (found["mean"], found["n"], found["above"]["value"], found["classes"]) == (None, 0, None, [])
    assert Shares().above(3)["n"] == 0


def test_the_summary_defines_the_number() -> None:
    assert "PR > 0.9" in DEFINITIONS["above"]
