"""Status, verdict, evidence and row of a record."""

from __future__ import annotations

from typing import Any

import pytest
from synthetic_run import LABELS, records

from lexproof.errors import InputError
from lexproof.report.glyph import axis_end, glyph, glyph_name, glyphs
from lexproof.report.rows import row
from lexproof.report.status import STATUSES, status

RECORD: dict[str, Any] = {
    "id": 17,
    "text": "a good film",
    "premise": None,
    "label": 1,
    "predicted": 1,
    "scores": [0.1, 0.9],
    "answer": "bracket",
    "lower": 2,
    "upper": 3,
    "swaps": 3,
    "witness": "a decent film",
    "witness_predicted": 0,
    "changed": [{"position": 1, "old": "good", "new": "decent"}],
    "words": 3,
    "open": 2,
    "max_swaps": 5,
    "points": "123456",
    "certificate": {
        "method": "enumeration",
        "radius": 1,
        "points": 61,
        "margin": 0.12,
        "rounding": 1e-05,
        "victim": "ab12",
        "space": "cd34",
    },
    "reason": "stopped at 20000 points",
    "breakers": [],
    "share": {
        "value": 0.03,
        "low": 0.02,
        "high": 0.05,
        "confidence": 0.995,
        "n": 5000,
        "flips": 150,
        "method": "clopper-pearson",
        "radius": 5,
    },
    "queries": 1812,
    "cached": 30,
    "seconds": 0.05,
    "seed": 0,
}


def record(**changes: Any) -> dict[str, Any]:
    return {**RECORD, **changes}


@pytest.mark.parametrize(
    ("changes", "expected", "verdict"),
    [
        ({}, "open", "labeled positive; 3 swaps make it negative, perhaps fewer, but not fewer than 2"),
        ({"lower": 1}, "open", "labeled positive; 3 swaps make it negative, perhaps fewer"),
        (
            {"answer": "minimum", "lower": 3},
            "exact",
            "labeled positive; 3 swaps make it negative, and no fewer can",
        ),
        (
            {"answer": "minimum", "lower": 1, "upper": 1},
            "exact",
            "labeled positive; 1 swap makes it negative",
        ),
        ({"lower": 3}, "exact", "labeled positive; 3 swaps make it negative, and no fewer can"),
        ({"upper": None}, "unsettled", "labeled positive; no flip is known; safe up to 1 swap"),
        ({"upper": None, "lower": 1}, "unsettled", "labeled positive; no flip is known"),
        ({"upper": None, "lower": 6}, "robust", "labeled positive; nothing up to 5 swaps changes it"),
        (
            {"answer": "robust", "upper": None, "max_swaps": 0},
            "robust",
            "labeled positive; no word of it can be swapped",
        ),
        (
            {"answer": "robust", "upper": None, "lower": 6},
            "robust",
            "labeled positive; nothing up to 5 swaps changes it",
        ),
        (
            {"answer": "minimum", "lower": 0, "upper": 0, "predicted": 0},
            "wrong",
            "labeled positive, read as negative without any swap",
        ),
        (
            {"answer": "error", "lower": None, "upper": None, "reason": "bad\x00row"},
            "error",
            "labeled positive; could not be answered: bad‹U+0000›row",
        ),
        (
            {"label": 7, "lower": 1},
            "open",
            "labeled label 7; 3 swaps make it negative, perhaps fewer",
        ),
    ],
)
def test_status_and_verdict(changes: dict[str, Any], expected: str, verdict: str) -> None:
    assert status(record(**changes)) == expected
    shown = row(record(**changes), LABELS)
    assert shown.verdict == verdict
    assert shown.closed == (expected in ("wrong", "exact", "robust"))


def test_evidence_says_what_the_record_says() -> None:
    shown = row(record(breakers=[{"position": 2, "old": "film", "new": "movie"}]), LABELS)
    evidence = {term: text.replace("\u00a0", " ") for term, text in shown.evidence}
    assert evidence == {
        "Swaps": "good → decent",
        "Proof": "Every text with at most 1 swap was scored (61 texts); of those allowed, the least margin, 0.12, "
        "exceeds the allowance for rounding, 1e-05. Victim ab12, space cd34.",
        "Left open": "stopped at 20000 points",
        "Flips on its own": "film → movie",
        "Share that flips": "3.0% of the texts with at most 5 swaps: 150 of 5,000 texts drawn; 2.0% to 5.0% with "
        "confidence 99.5% (clopper-pearson).",
        "Space": "3 words, 2 with substitutes, at most 5 swaps, 123,456 texts",
        "Scores": "negative 0.10, positive 0.90",
        "Cost": "1,812 queries, 30 answered from memory, 0.05 s, seed 0",
    }


def test_evidence_of_other_methods() -> None:
    changes = {
        "certificate": {**RECORD["certificate"], "method": "linear"},
        "share": {**RECORD["share"], "method": "exact"},
    }
    evidence = dict(row(record(**changes), LABELS).evidence)
    assert evidence["Proof"].startswith("No flip with at most 1 swap, by linear: every margin of logits exceeds 0.12.")
    assert evidence["Share that flips"].endswith("150 of 5,000 texts, counted completely.")
    changes["share"] |= {"value": 0.0, "flips": 0}  # nothing is counted where a proof says so
    assert dict(row(record(**changes), LABELS).evidence)["Share that flips"].endswith(": none of 5,000 texts flips.")


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        ({"value": 0.0, "low": 0.0, "high": 0.0, "method": "exact"}, "0%"),
        ({"value": 1.0, "low": 1.0, "high": 1.0, "method": "exact"}, "100%"),
        ({"value": 0.0, "low": 0.0, "high": 0.012, "method": "hoeffding"}, "≤1.2%"),
        ({"value": 0.0, "low": 0.0, "high": 0.0004, "method": "clopper-pearson"}, "<0.1%"),
        ({"value": 1.0, "low": 0.98, "high": 1.0, "method": "clopper-pearson"}, "≥98.0%"),
    ],
)
def test_a_sample_without_flips_is_not_zero(share: dict[str, Any], shown: str) -> None:
    changed = record(share={**RECORD["share"], **share})
    assert row(changed, LABELS).cells["share"] == shown
    assert dict(row(changed, LABELS).evidence)["Share that flips"].startswith(f"{shown} of the texts")


def test_long_lists_of_breakers_are_cut_and_counted() -> None:
    breakers = [{"position": 0, "old": "a", "new": f"b{i}"} for i in range(103)]
    text = dict(row(record(breakers=breakers), LABELS).evidence)["Flips on its own"]
    assert text.startswith("a → b0, a → b1, ")
    assert text.endswith("a → b99, and 3 more")


def test_silence_of_the_record_is_silence_of_the_report() -> None:
    bare = {"id": 1, "text": "x", "answer": "error", "reason": ""}
    shown = row(bare, LABELS)
    assert shown.evidence == ()
    assert shown.verdict == "labeled unknown; could not be answered: no reason given"
    assert set(shown.cells.values()) == {"–"}


def test_cells_and_sort_keys() -> None:
    shown = row(record(), LABELS)
    assert shown.keys == {"lower": 2, "upper": 3, "share": 0.03, "confidence": 0.9, "queries": 1812}
    assert shown.cells == {"lower": "2", "upper": "3", "share": "3.0%", "confidence": "0.90", "queries": "1,812"}
    none_known = row(record(upper=None), LABELS).cells
    assert (none_known["lower"], none_known["upper"]) == ("2", "none known")
    proven = row(record(upper=None, answer="robust"), LABELS).cells
    assert (proven["lower"], proven["upper"]) == ("–", "none exists")
    assert row(record(scores=[float("nan"), float("inf")]), LABELS).keys["confidence"] is None


def test_a_witness_spelled_by_the_segments_is_not_sent_twice() -> None:
    assert row(record(), LABELS).to_json()["witness"] is True
    assert "copy" not in row(record(), LABELS).to_json()
    other = row(record(witness="something else"), LABELS).to_json()
    assert other["witness"] == "something else"
    hidden = row(record(text="a\x00 good film", witness="a\x00 decent film"), LABELS)
    assert hidden.witness == "a‹U+0000› decent film"
    assert hidden.to_json()["witness"] is True
    assert hidden.to_json()["copy"] == "a\x00 decent film"
    wrong = row(record(answer="minimum", lower=0, upper=0, witness="a good film"), LABELS)
    assert "witness" not in wrong.to_json()


def test_unusable_records_are_refused() -> None:
    with pytest.raises(InputError, match="expected 'answer' to be one of minimum, bracket, robust, error, got 'maybe'"):
        row(record(answer="maybe"), LABELS)
    with pytest.raises(InputError, match="expected a record with id, text, answer, got one without text"):
        row({"id": 1, "answer": "robust"}, LABELS)


def test_glyph_parts_follow_the_bracket() -> None:
    # the axis runs from 5 to 91 for 0 to 4 swaps; cell k stands for k swaps
    half_open = glyph("open", 2, 4, 4)
    assert half_open.proven == (5, 21.5)
    assert half_open.unsettled == (26.5, 43.0)
    assert half_open.broken == (69.5, 21.5)
    assert half_open.dot == 80.2
    exact = glyph("exact", 1, 1, 4)
    assert (exact.proven, exact.unsettled, exact.broken) == (None, None, (5.0, 86.0))
    safe = glyph("robust", 9, None, 4)
    assert (safe.proven, safe.unsettled, safe.broken, safe.dot) == ((5, 86), None, None, None)
    unsettled = glyph("unsettled", 3, None, 4)
    assert (unsettled.proven, unsettled.unsettled, unsettled.broken) == ((5, 43.0), (48.0, 43.0), None)
    wrong = glyph("wrong", 0, 0, 4)
    assert (wrong.proven, wrong.unsettled, wrong.broken, wrong.dot) == (None, None, (5.0, 86.0), 5.0)
    assert glyph("error", None, None, 4).dot is None


def test_every_row_has_its_glyph_and_the_axis_holds_all_brackets() -> None:
    made = records(200)
    end = axis_end(made)
    assert end == max(max(r["lower"], r["upper"] or 0) for r in made if r["answer"] in ("minimum", "bracket"))
    names = [g.name for g in glyphs(made, end)]
    assert len(set(names)) == len(names)
    assert {row(r, LABELS).glyph for r in made} == set(names)
    assert axis_end([record(lower=1, upper=500)]) == 30
    assert glyph("exact", 500, 500, 30).dot == 91.0
    assert glyph_name("unsettled", 3, None) == "g-3-x"


def test_the_invented_run_holds_every_status() -> None:
    assert {status(r) for r in records()} == set(STATUSES)
