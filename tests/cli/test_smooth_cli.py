"""lexproof smooth: records, lines for people, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calls import call, records

from lexproof.candidates import Table
from lexproof.victims.safer_sets import SynonymSets
from lexproof.victims.smoothed import RanMask, Safer
from small_victims import WORDS, lean, word_victim

TEXT = "w1 w2 w3 w4 w5 w6 w7"


@pytest.fixture
def models(here: Path) -> Path:
    """A RanMASK model that is sure of class 0, and SAFER's for the same table as the attacker's, in this folder."""
    (here / "words.json").write_text(json.dumps({"w1": ["w2"], "w3": ["w4", "w5"]}))
    base = lean(word_victim("cnn", 1), 0, 30.0)
    RanMask(base, rate=0.7).save(here / "masked")
    Safer(base, SynonymSets.of(Table.load(here / "words.json"), WORDS)).save(here / "swapped")
    return here


ASK = ("--candidates", "table:words.json", "--max-swaps", "3")


def test_records(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = call(capsys, "smooth", TEXT, "w9", "--model", "masked", *ASK, "--json", "--seed", "2")
    assert status == 0
    first, second = records(out)
    assert (first["id"], first["text"], first["answer"], first["seed"]) == (0, TEXT, "smoothed", 2)
    assert (first["label"], first["predicted"], first["radius"], first["max_swaps"]) == (0, 0, 1, 2)
    assert first["p_low"] > 0.99
    assert "smoothed classifier" in first["statement"]
    assert (second["radius"], second["whole"]) == (0, True)
    assert "certified for the whole space: 1 of 2 texts" in err
    assert "by number of swaps: 0: 100%, 1: 100%." in " ".join(err.split())  # of one word, all there are
    assert "speak for the smoothed classifier" in " ".join(err.split())


def test_sets_of_the_attacker_are_covered_and_others_are_not(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call(capsys, "smooth", TEXT, "--model", "swapped", *ASK, "--json")
    assert records(out)[0]["whole"]
    (models / "words.json").write_text(json.dumps({"w1": ["w9"]}))
    _, out, _ = call(capsys, "smooth", TEXT, "--model", "swapped", *ASK, "--json")
    assert [(own["radius"], own["whole"]) for own in records(out)] == [(0, False)]
    assert "to the text, and no swap is certified" in records(out)[0]["statement"]
    _, out, _ = call(capsys, "smooth", TEXT, "--model", "swapped", *ASK)
    assert "class 0: certain for the text itself, for no swap; probability at least" in out


def test_a_wrong_class_is_not_certified(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (models / "gold.csv").write_text(f"text,label\n{TEXT},class 0\n{TEXT},class 1\n")
    status, out, _ = call(
        capsys, "smooth", "--data", "gold.csv", "--model", "swapped", *ASK, "--samples", "200", "--out", "found.jsonl"
    )
    assert status == 0
    assert "class 0: holds for up to 2 swaps, the whole space" in out
    assert "class 0 (gold: class 1): holds" in out
    assert "certified for the whole space: 1 of 2 texts, 50%" in out
    assert "by number of swaps: 0: 50%, 1: 50%, 2: 50%." in out
    found = [json.loads(line) for line in (models / "found.jsonl").read_text().splitlines()]
    assert [(own["label"], own["predicted"], own["samples"]) for own in found] == [(0, 0, 200), (1, 0, 200)]


def test_refusals(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = call(capsys, "smooth", TEXT, "--model", "model.py:score", *ASK)
    assert (status, err) == (
        2,
        "lexproof: expected --model of kind safer or ranmask, got 'blackbox'; make one with `lexproof harden`\n",
    )
    status, _, err = call(capsys, "smooth", TEXT, "--model", "masked", *ASK, "--confidence", "0.5")
    assert (status, err) == (2, "lexproof: expected --confidence in (0.5, 1), got 0.5\n")
    status, _, err = call(capsys, "smooth", TEXT, "--model", "masked", *ASK, "--label", "other")
    assert status == 2
    assert "expected a label out of class 0, class 1, class 2" in err


@pytest.mark.parametrize("verb", ["find", "prove", "minimize", "count"])
def test_other_verbs_say_what_they_speak_for(verb: str, models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = call(capsys, verb, TEXT, "--model", "masked", *ASK)
    assert status == 0
    assert "mind: answers are about 100 copies of each text" in " ".join(err.split())
