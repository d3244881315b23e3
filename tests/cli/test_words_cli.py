"""lexproof words: one JSON object, tables for people, runs that go on, refusals."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from calls import call, records
from rich.console import Console

import lexproof.auditing.word_run as word_run
from lexproof.cli.word_inputs import usual_split
from lexproof.cli.word_tables import _show_class
from lexproof.single_words.flips import TextFlips

BLACK_BOX = ["--model", "model.py:score", "--data", "texts.csv"]
TEXTS = ["a fun film", "a good plot", "a plain story", "dull"]


@pytest.fixture
def words(here: Path) -> Path:
    (here / "words.txt").write_text("dull\npoor\nbright\n\n dull \n")
    return here / "words.txt"


def ask(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    status, out, err = call(capsys, "words", *arguments, "--json")
    assert status == 0, err
    (record,) = records(out)
    return record


def answers(record: dict[str, Any]) -> dict[str, Any]:
    """What must not depend on how often a run was interrupted."""
    return {key: record[key] for key in ("rho", "classes", "vocabulary", "method", "n", "correct", "misclassified")}


def test_a_model_that_can_be_counted_by_hand(words: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, *BLACK_BOX, "--vocabulary", "words.txt", "--seed", "5")
    assert (found["answer"], found["method"], found["n"], found["misclassified"]) == ("flip-words", "exact", 3, 1)
    assert found["rho"]["value"] == pytest.approx(1 / 3)
    assert {"value", "low", "high", "confidence", "n"} <= set(found["rho"])
    assert (found["seed"], found["vocabulary"]["size"], found["finished"]) == (5, 3, True)
    negative, positive = found["classes"]
    assert (negative["name"], negative["n"], negative["words"]) == ("negative", 0, [])
    assert [word["word"] for word in positive["words"]] == ["dull", "poor"]  # "bright" flips nothing
    dull = positive["words"][0]
    assert (dull["kappa"]["value"], dull["kappa"]["n"], dull["part_of_speech"]) == (1.0, 3, "adjective/verb")
    for own in dull["examples"]:
        (changed,) = own["changed"]
        assert changed["new"] == "dull" and own["text"] in TEXTS
        assert own["witness"].split()[changed["position"]] == "dull"
        assert (own["label"], own["predicted"]) == (1, 0)
    accuracy = {name: (own["value"], own["n"]) for name, own in dull["accuracy"].items()}
    assert accuracy == {"with_word": (0, 1), "removed": (1, 1), "without_word": (1, 3), "attacked": (0, 3)}
    assert found["vocabulary"]["parts"] == {
        "n": 2, "counts": {"noun": 0, "verb": 0, "adjective": 2, "adverb": 0, "other": 0},
    }  # fmt: skip


def test_for_people(words: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = call(capsys, "words", *BLACK_BOX, "--vocabulary", "words.txt", "--list", "top.txt")
    assert status == 0
    assert "rho 33% of the pairs of text and word cannot be flipped (95%: 0.2% to 95.6%)" in out
    assert "3 words x 3 texts (1 misclassified left out), method exact" in out
    assert "negative: no text is classified correctly" in out
    assert "positive: 3 texts; words that flip most of them" in out
    (row,) = [line for line in out.splitlines() if line.startswith("dull")]
    assert row.split() == [
        "dull",
        "100%",
        "██████████",
        "29–100%",
        "adjective/verb",
        *["0%", "→", "100%", "(1)", "100%", "→", "0%", "(3)"],
    ]
    assert "a→dull fun film  reads negative" in out
    assert "parts of speech of the top 2 words: noun 0, verb 0, adjective 2, adverb 0, other 0" in out
    assert (words.parent / "top.txt").read_text() == "dull\npoor\n"
    status, out, _ = call(
        capsys, "words", *BLACK_BOX, "--vocabulary", "words.txt", "--accuracy-texts", "0", "--top", "1"
    )
    assert "with it" not in out and "poor" not in out


def test_the_columns_are_explained(words: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call(capsys, "words", *BLACK_BOX, "--vocabulary", "words.txt")
    for said in (
        "kappa: texts of the class",
        "with it: accuracy on n texts",
        "95%: interval over the draw of the texts",
    ):
        assert sum(line.startswith(said) for line in out.splitlines()) == 1


def open_words(*names: str) -> dict[str, Any]:
    """A class of open kappa: brackets are wide."""
    share = {"value": None, "lower": 1 / 3, "upper": 2 / 3, "low": 0.01, "high": 0.999, "n": 1000, "confidence": 0.95}
    settled = {**share, "value": 0.935}
    accuracy = {"with_word": settled, "removed": settled, "without_word": settled, "attacked": share}
    parts = "adverb/noun/adjective"
    rows = [{"word": name, "kappa": share, "part_of_speech": parts, "examples": [], "accuracy": accuracy}
            for name in names]  # fmt: skip
    return {"name": "positive", "n": 3, "words": rows}


@pytest.mark.parametrize(("width", "encoding", "columns"), [
    (130, "utf-8", [" 95%", "part", "█"]), (120, "utf-8", [" 95%", "part"]), (100, "utf-8", [" 95%"]),
    (80, "utf-8", []), (160, "ascii", [" 95%", "part"]),
])  # fmt: skip
def test_a_narrow_table_has_fewer_columns_and_whole_words(width: int, encoding: str, columns: list[str]) -> None:
    written = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
    console = Console(file=written, width=width, markup=False, highlight=False)
    _show_class(console, open_words("awful", "uncharismatically"), ["negative", "positive"])
    written.seek(0)
    lines = written.read().splitlines()
    assert [letters for letters in (" 95%", "part", "█") if any(letters in line for line in lines)] == columns
    assert all(len(line) <= width for line in lines)
    assert sum(line.startswith(("awful ", "uncharismatically ")) for line in lines) == len(lines) - 3


def test_an_embedded_model_by_the_most_frequent_words(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, "--most-frequent", "40", "--sample", "8", "--top", "2", "--list", "top.txt", "--list-size", "3")
    again = ask(capsys, "--most-frequent", "40", "--sample", "8", "--top", "2")
    assert answers(found) == answers(again)
    other = ask(capsys, "--most-frequent", "40", "--sample", "8", "--top", "2", "--seed", "1")
    assert answers(found) != answers(other)
    assert found["vocabulary"]["size"] == 40 and found["data"]["n"] == 8
    assert found["vocabulary"]["source"] == "most frequent words of demo"
    listed = (here / "top.txt").read_text().split()
    best = max((own["words"][0]["overall"]["value"] for own in found["classes"] if own["words"]), default=None)
    assert 1 <= len(listed) <= 3 and best is not None
    tops = {word["word"]: word["overall"]["value"] for own in found["classes"] for word in own["words"]}
    assert tops[listed[0]] == best


def test_words_that_the_model_does_not_know(words: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words.write_text("zwxqa\nzwxqb\n")
    options = ("--vocabulary", "words.txt", "--limit", "3")
    found = ask(capsys, *options)
    assert found["vocabulary"]["unknown"] == ["zwxqa", "zwxqb"]
    _, out, _ = call(capsys, "words", *options)
    said = "2 of 2 words are unknown to the model, which reads them all alike: zwxqa, zwxqb"
    assert said in out


def test_own_predictions_count_as_gold(words: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (words.parent / "bare.csv").write_text("text\na fun film\ndull\n")
    status, out, err = call(
        capsys, "words", "--model", "model.py:score", "--data", "bare.csv", "--vocabulary", "words.txt", "--json"
    )
    assert status == 0 and "the model's own predictions count as gold" in err
    found = json.loads(out)
    assert (found["n"], found["misclassified"], found["data"]["is_labelled"]) == (2, 0, False)


@pytest.mark.parametrize("method", ["exact", "euba"])
def test_a_run_goes_on_and_ends_with_the_same_answers(
    method: str, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--most-frequent", "30", "--limit", "6", "--method", method, "--patience", "20"]
    whole = ask(capsys, *options, "--out", "whole")
    assert {path.name for path in (here / "whole").iterdir()} == {
        "config.json", "run.sqlite", "summary.json", "report.html",
    }  # fmt: skip
    rows_of = word_run.rows_of

    def interrupted(*given: Any, **named: Any) -> Iterator[tuple[int, TextFlips]]:
        for number, row in enumerate(rows_of(*given, **named)):
            if number == 2:
                raise KeyboardInterrupt
            yield row

    monkeypatch.setattr(word_run, "rows_of", interrupted)
    status, out, err = call(capsys, "words", *options, "--out", "part", "--list", "top.txt", "--json")
    (partial,) = records(out)
    assert status == 130 and "interrupted; continue with --resume --out part" in err
    assert (partial["finished"], partial["n"]) == (False, 2)
    assert all(word["accuracy"] is None for own in partial["classes"] for word in own["words"])
    assert not (here / "top.txt").exists()  # it would stand in the way of the run that goes on
    assert "This run is not finished." in (here / "part" / "report.html").read_text("utf-8")
    monkeypatch.setattr(word_run, "rows_of", rows_of)
    resumed = ask(capsys, *options, "--out", "part", "--resume", "--list", "top.txt")
    assert resumed["finished"] and answers(resumed) == answers(whole)
    once_more = ask(capsys, *options, "--out", "part", "--resume")
    assert answers(once_more) == answers(whole)


def test_an_interruption_while_accuracy_is_measured_costs_that_alone(
    words: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*given: Any, **named: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(word_run, "accuracies", interrupted)
    status, out, _ = call(capsys, "words", *BLACK_BOX, "--vocabulary", "words.txt", "--json")
    (record,) = records(out)
    assert status == 130 and record["finished"]
    assert [word["accuracy"] for word in record["classes"][1]["words"]] == [None, None]


def test_an_interruption_before_the_first_text_leaves_nothing(
    words: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*given: Any, **named: Any) -> Iterator[tuple[int, TextFlips]]:
        raise KeyboardInterrupt

    monkeypatch.setattr(word_run, "rows_of", interrupted)
    status, out, _ = call(capsys, "words", *BLACK_BOX, "--vocabulary", "words.txt", "--out", "run")
    assert (status, out) == (130, "")
    assert not (words.parent / "run").exists()


def test_the_report_is_written_again(words: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask(capsys, *BLACK_BOX, "--vocabulary", "words.txt", "--out", "run")
    page = words.parent / "run" / "report.html"
    before = page.read_text("utf-8")
    page.unlink()
    status, out, _ = call(capsys, "report", "run")
    assert status == 0 and "rho 33%" in out
    assert page.read_text("utf-8") == before
    _, out, _ = call(capsys, "report", "run", "--json")
    assert json.loads(out)["answer"] == "flip-words"


def test_a_run_of_another_configuration_is_not_continued(words: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [*BLACK_BOX, "--out", "run"]
    ask(capsys, *options, "--vocabulary", "words.txt")
    status, _, err = call(capsys, "words", *options, "--vocabulary", "words.txt")
    assert status == 2 and "already holds a run; continue it with --resume" in err
    words.write_text("dull\n")
    status, _, err = call(capsys, "words", *options, "--vocabulary", "words.txt", "--resume")
    assert status == 2 and "another configuration: its words.n is 3, now it is 1" in err
    found = ask(capsys, *options, "--vocabulary", "words.txt", "--overwrite")
    assert found["vocabulary"]["size"] == 1
    audited = ["audit", "--data", "texts.csv", "--model", "model.py:score", "--candidates", "table:table.json"]
    assert call(capsys, *audited, "--out", "audited")[0] == 0
    status, _, err = call(capsys, "words", *BLACK_BOX, "--vocabulary", "words.txt", "--out", "audited", "--resume")
    assert status == 2 and "its answer is None, now it is flip-words" in err


def test_pairs_with_a_premise(words: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (words.parent / "pair.py").write_text(
        "def score(pairs):\n    return [[0.9, 0.1] if 'dull' in text else [0.2, 0.8] for _, text in pairs]\n"
        "score.labels = ['negative', 'positive']\n"
    )
    (words.parent / "pairs.csv").write_text("premise,hypothesis,label\nit is <dull>,a fun film,positive\n")
    found = ask(capsys, "--model", "pair.py:score", "--data", "pairs.csv", "--vocabulary", "words.txt", "--out", "run")
    (example,) = found["classes"][1]["words"][0]["examples"]
    assert (example["premise"], example["text"]) == ("it is <dull>", "a fun film")
    assert "it is &lt;dull&gt;" in (words.parent / "run" / "report.html").read_text("utf-8")


def test_the_usual_part_of_a_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEXPROOF_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name, split in (("both", "train"), ("both", "test"), ("tested", "test")):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / f"{split}.jsonl.xz").touch()
    assert [usual_split(name) for name in ("both", "tested", "demo", "x.csv", "a/b.csv")] == ["train", *["test"] * 4]
    monkeypatch.chdir("/")
    assert [usual_split(name) for name in ("both", "tested", str(tmp_path / "both"))] == ["train", "test", "train"]


REFUSED = {
    "top": (["--top", "0"], "--top"),
    "patience": (["--patience", "0"], "--patience"),
    "method": (["--method", "guess"], "'guess' is not one of"),
    "empty vocabulary": (["--vocabulary", "empty.txt"], "one word a line, got no words in empty.txt"),
    "no vocabulary": (["--vocabulary", "nowhere.txt"], "nowhere.txt"),
    "two words": (["--vocabulary", "phrase.txt"], "one word a line, got 'two words' in phrase.txt"),
    "not text": (["--vocabulary", "latin.txt"], "which cannot be read: it is not UTF-8"),
    "two vocabularies": (["--vocabulary", "words.txt", "--most-frequent", "3"], "got both --vocabulary and"),
    "large sample": (["--sample", "5"], "expected --sample of at most 4, the number of texts of texts.csv, got 5"),
    "two choices": (["--sample", "1", "--limit", "1"], "got both --limit and --sample"),
    "list": (["--list", "words.txt"], "expected --list to be a new file, got words.txt, which exists"),
    "resume": (["--resume"], "expected --resume with --out, got it without"),
    "both": (["--resume", "--overwrite", "--out", "run"], "expected --resume or --overwrite, got both"),
    "gradients": (["--method", "euba"], "expected a victim with gradients for euba, got 'blackbox'"),
    "argument": (["texts.csv"], "name a data file with --data"),
    "no text right": (["--data", "wrong.csv"], "expected texts that the model classifies correctly, got none of 1"),
}


@pytest.mark.parametrize(("options", "said"), REFUSED.values(), ids=REFUSED)
def test_refusals(options: list[str], said: str, words: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (words.parent / "empty.txt").write_text("\n \n")
    (words.parent / "phrase.txt").write_text("dull\ntwo words\n")
    (words.parent / "latin.txt").write_bytes("é".encode("latin-1"))
    (words.parent / "wrong.csv").write_text("text,label\ndull,positive\n")
    status, out, err = call(capsys, "words", *BLACK_BOX, *options)
    assert (status, out) == (2, "")
    assert said in err and len(err.splitlines()) == 1
    assert not (words.parent / "run").exists()


def test_no_correct_text_leaves_no_folder(words: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (words.parent / "wrong.csv").write_text("text,label\ndull,positive\n")
    options = ["--model", "model.py:score", "--data", "wrong.csv", "--vocabulary", "words.txt", "--out", "run"]
    status, _, err = call(capsys, "words", *options)
    assert status == 2 and "got none of 1 (1 misclassified" in err
    assert not (words.parent / "run").exists()


def test_a_list_is_of_each_class_by_turns_or_of_all(words: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["words", *BLACK_BOX, "--vocabulary", "words.txt", "--accuracy-texts", "0"]
    for by in ("class", "all"):
        status, _, err = call(capsys, *given, "--list", f"{by}.txt", "--list-by", by)
        assert status == 0, err
        assert (words.parent / f"{by}.txt").read_text().split() == ["dull", "poor"]
    status, _, err = call(capsys, *given, "--list", "other.txt", "--list-by", "chance")
    assert status == 2 and not (words.parent / "other.txt").exists()
