"""lexproof radius: records, a table for people, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from calls import MODEL_OPTIONS, call, records

TEXT = "a charming and often affecting journey"


def ask(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    status, out, err = call(capsys, "radius", *arguments, "--json")
    assert status == 0, err
    return records(out)


def test_each_word_of_a_text(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, TEXT, "--seed", "3")
    assert [record["words"] for record in found] == [[0], [1], [2], [3], [4], [5]]
    for record in found:
        assert (record["id"], record["text"], record["answer"], record["norm"]) == (0, TEXT, "radius", 2)
        assert 0 < record["lower"] <= record["upper"] <= record["flip"]["distance"]
        assert record["normalized"] == pytest.approx(record["lower"] / record["diameter"])
        assert record["seed"] == 3
    assert any(record["replacement"] is not None for record in found)


def test_sets_of_words_and_lower_ends_only(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (pair,) = ask(capsys, TEXT, "--words", "4,1", "--norm", "inf", "--lower-only")
    assert (pair["words"], pair["norm"], pair["upper"], pair["flip"]) == ([1, 4], "inf", None, None)
    drawn = ask(capsys, TEXT, "--sets", "3x4", "--lower-only", "--out", "sets.jsonl")
    assert len(drawn) == 4
    assert all(len(set(record["words"])) == 3 for record in drawn)
    assert [json.loads(line) for line in (here / "sets.jsonl").read_text().splitlines()] == drawn


def test_for_people(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = call(capsys, "radius", TEXT)
    assert status == 0
    assert "read as positive; L2 distances of scaled vectors, diameter 7.071" in out
    assert any(line.split("│")[0].strip() == "charming" and "█" in line for line in out.splitlines())
    status, out, _ = call(capsys, "radius", TEXT, "--words", "1,4")
    assert any("charming … affecting" in line or "charming → " in line for line in out.splitlines())


def test_texts_without_index_sets_keep_their_place(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, "fine", "a fine film", "--sets", "2x1")
    assert [(record["id"], record["answer"]) for record in found] == [(0, "error"), (1, "radius")]
    assert found[0]["reason"] == "expected a text with index sets '2x1', got one of 1 word"
    for text, count in (("", "no words"), ("...", "no words"), ("fine", "1 word")):
        status, out, err = call(capsys, "radius", text, "--sets", "pairs", "--json")
        assert (status, out) == (2, "")
        assert f"got one of {count}" in err


def test_control_characters_are_shown_and_not_obeyed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call(capsys, "radius", "a \x1b[31mfine\u202e film", "--lower-only")
    assert "\x1b[31mfine" not in out and "\u202e" not in out
    assert "‹U+001B›[31mfine‹U+202E› film" in out


def test_progress_counts_index_sets(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = call(capsys, "radius", " ".join(["a fine film"] * 7), "--lower-only", "--json")
    assert "21/21" in err
    _, _, err = call(capsys, "radius", "a fine film", "--lower-only", "--json")
    assert err == ""


def test_what_is_shown_as_safe_is_proven(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, TEXT)
    _, out, _ = call(capsys, "radius", TEXT)
    rows = {cells[0].strip(): cells for line in out.splitlines() if len(cells := line.split("│")) == 5}
    for word, record in zip(TEXT.split(), found, strict=True):
        assert record["lower"] - 1e-4 < float(rows[word][1]) <= record["lower"]
        assert record["upper"] + 1e-4 > float(rows[word][3]) >= record["upper"]


def test_words_of_several_tokens_have_other_diameters(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from lexproof.cli.radius import _show
    from lexproof.safe_radius.answer import radius_from_json
    from lexproof.safe_radius.question import Asked
    from lexproof.text import Text

    records = ask(capsys, TEXT, "--lower-only")
    records[1]["diameter"] = 10.0
    brackets = [radius_from_json(record) for record in records]
    _show(Asked(Text.parse(TEXT), [own.words for own in brackets]), brackets, ("negative", "positive"))
    assert "diameter 7.071 to 10" in capsys.readouterr().out


def test_many_texts(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "few.csv").write_text("text,label\na fine film,positive\na dull one,negative\n")
    found = ask(capsys, "--data", "few.csv", "--lower-only")
    assert [(record["id"], record["words"]) for record in found] == [(k, [w]) for k in (0, 1) for w in (0, 1, 2)]


def test_a_text_without_the_words_loses_no_other(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "few.csv").write_text("text,label\nfine,positive\na dull one,negative\n")
    status, out, err = call(capsys, "radius", "--data", "few.csv", "--lower-only", "--words", "2", "--json")
    first, second = records(out)
    assert status == 0
    assert (first["id"], first["answer"], first["text"]) == (0, "error", "fine")
    assert (second["id"], second["words"]) == (1, [2])
    assert (
        "1 of 2 texts not answered, the first: expected words of the text, which has words 0 to 0, got 2"
        in " ".join(err.split())
    )
    status, out, err = call(capsys, "radius", "--data", "few.csv", "--words", "8")
    assert (status, out) == (2, "")
    assert "none of 2 texts asked, the first: expected words of the text" in err


@pytest.mark.parametrize(
    "arguments,message",
    [
        (["--norm", "3"], "expected the norm 1, 2 or inf, got '3'"),
        (["--words", "9"], "expected words of the text, which has words 0 to 5, got 9"),
        (["--words", "1,1"], "expected each word once, got 1 more than once"),
        (["--words", "one"], "expected --words as numbers separated by commas, got 'one'"),
        (["--sets", "triples"], "expected index sets as 'each', 'pairs' or KxCOUNT such as 3x20, got 'triples'"),
        (["--upper", "magic"], "expected upper ends out of descent, words, mcts, got 'magic'"),
        (["--out", "nowhere/x.jsonl"], "expected --out in a folder that exists"),
        (MODEL_OPTIONS[:2], "no embedding to move in: expected a victim with word vectors"),
    ],
)
def test_refusals(here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    status, out, err = call(capsys, "radius", TEXT, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.strip().splitlines()) == 1
