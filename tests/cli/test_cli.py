"""The command line on real input, in this process; what needs a process of its own is in test_process.py."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

import pytest
from calls import MODEL_OPTIONS, call, records


def test_find_one_text(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = call(capsys, "find", "a fun film", "--json", *MODEL_OPTIONS)
    assert (status, err) == (0, "")
    (record,) = records(out)
    keys = {"text", "label", "predicted", "answer", "swaps", "witness", "changed", "queries", "seconds", "seed"}
    assert keys <= record.keys()
    assert (record["answer"], record["swaps"], record["witness"]) == ("broken", 1, "a dull film")
    assert record["changed"] == [{"position": 1, "old": "fun", "new": "dull"}]
    assert (record["label"], record["predicted"]) == (1, 1)


def test_answers_for_people(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for verb, expected in (
        ("find", "broken with 1 swaps: read as negative"),
        ("minimize", "R = 1 exactly: read as negative"),
        ("prove", "broken with 1 swaps"),
        ("count", "1 of all 3 texts flip: share 0.3333 exactly"),
    ):
        status, out, _ = call(capsys, verb, "a fun film", *MODEL_OPTIONS)
        assert status == 0
        assert expected in out
    _, out, _ = call(capsys, "prove", "a plain story", *MODEL_OPTIONS)
    assert "robust: none of 1 texts with up to 0 swaps fools it" in out
    _, out, _ = call(capsys, "minimize", "a plain story", *MODEL_OPTIONS)
    assert "R >= 1: no flip known; the whole space is proven" in out
    _, out, _ = call(capsys, "minimize", "a dull story", "--label", "positive", *MODEL_OPTIONS)
    assert "R = 0: misclassified as negative as it stands" in out


def test_a_data_set_gives_a_line_a_text(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["minimize", "--data", "texts.csv", "--max-share", "1", "--out", "answers.jsonl", *MODEL_OPTIONS]
    status, out, _ = call(capsys, *arguments, "--json")
    assert status == 0
    found = {record["text"]: record for record in records(out)}
    assert {text: (r["lower"], r["upper"]) for text, r in found.items()} == {
        "a fun film": (1, 1), "a good plot": (1, 1), "a plain story": (1, None), "dull": (0, 0),
    }  # fmt: skip
    assert (here / "answers.jsonl").read_text() == out
    status, _, err = call(capsys, *arguments)
    assert status == 2
    assert "expected --out to be a new file" in err


def test_audit(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["audit", "--data", "texts.csv", "--out", "run", *MODEL_OPTIONS]
    status, out, _ = call(capsys, *arguments)
    assert status == 0
    assert "clean accuracy" in out
    assert "75.0%" in out
    assert (here / "run" / "report.html").is_file()
    config = json.loads((here / "run" / "config.json").read_text())
    assert config["command"].startswith("lexproof audit ")
    assert config["command"] in unescape((here / "run" / "report.html").read_text())
    status, _, err = call(capsys, *arguments)
    assert status == 2
    assert "already holds a run; continue it with --resume or replace it with --overwrite" in err
    assert len(err.strip().splitlines()) == 1
    status, out, _ = call(capsys, *arguments, "--resume", "--json")
    assert status == 0
    assert [record["upper"] for record in records(out)] == [1, 1, None, 0]
    status, _, err = call(capsys, *arguments, "--resume", "--seed", "5")
    assert (status, len(err.strip().splitlines())) == (2, 1)
    assert "settings.seed is 0, now it is 5" in err
    status, _, _ = call(capsys, *arguments, "--overwrite", "--seed", "5")
    assert status == 0
    status, out, _ = call(capsys, "report", "run", "--out", "again.html")
    assert status == 0
    assert (here / "again.html").read_text() == (here / "run" / "report.html").read_text()


@pytest.mark.parametrize(
    ("threshold", "status"),
    [
        ("0.2", 0), ("0.9", 1), ("clean=0.75", 0), ("clean=0.76", 1), ("certified=0.25", 0), ("certified@1=0.26", 1),
        ("attacked@0=0.75", 0), ("attacked@9=0.3", 1),
    ],
)  # fmt: skip
def test_fail_under(here: Path, capsys: pytest.CaptureFixture[str], threshold: str, status: int) -> None:
    got, _, err = call(capsys, "audit", "--data", "texts.csv", "--fail-under", threshold, *MODEL_OPTIONS)
    assert got == status
    assert ("threshold missed" in err) == bool(status)


BAD = {
    "missing file": (["audit", "--data", "nowhere.csv"], "nowhere.csv"),
    "missing column": (["audit", "--data", "texts.csv", "--text-column", "body"], "body"),
    "missing label column": (["audit", "--data", "texts.csv", "--label-column", "stars"], "stars"),
    "both": (["audit", "--resume", "--overwrite"], "expected --resume or --overwrite, got both"),
    "threshold": (["audit", "--fail-under", "robust=1"], "expected --fail-under SHARE or METRIC=SHARE"),
    "share": (["audit", "--max-share", "0"], "in (0, 1], got 0"),
    "attack": (["find", "x", "--attack", "textfoler"], "did you mean 'textfooler'?"),
    "label": (["find", "x", "--label", "neutral"], "expected a label out of negative, positive"),
    "no such verb": (["audti"], "audti"),
    "no such option": (["audit", "--modle", "x"], "--modle"),
    "raises": (["audit", "--model", "model.py:broken"], "raised ValueError: out of memory"),
    "nan": (["audit", "--model", "model.py:nan"], "finite scores"),
    "too few rows": (["audit", "--model", "model.py:short"], "scores of shape"),
    "no such function": (["audit", "--model", "model.py:nothing"], "nothing"),
    "no such model": (["audit", "--model", "no/such/folder"], "no/such/folder"),
    "candidates": (["audit", "--candidates", "wordnot"], "wordnot"),
    "not a run": (["report", "."], "expected a run folder with config.json"),
    "bad setting": (["train", "cnn", "--data", "texts.csv", "--out", "m", "--set", "filters"], "NAME=VALUE"),
    "unknown set": (["data", "get", "moveis"], "moveis"),
    "list": (["list", "attcks"], "attcks"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_clear_line_and_status_2(here: Path, capsys: pytest.CaptureFixture[str], case: str) -> None:
    arguments, expected = BAD[case]
    if arguments[0] in ("audit", "find"):
        defaults = {"--model": "model.py:score", "--candidates": "table:table.json", "--data": "texts.csv"}
        for option, value in defaults.items():
            if option not in arguments and not (option == "--data" and arguments[0] == "find"):
                arguments = [*arguments, option, value]
    status, out, err = call(capsys, *arguments)
    assert status == 2, err
    assert out == ""
    lines = [line for line in err.strip().splitlines() if "0/4" not in line]  # the progress bar that was drawn
    assert len(lines) == 1, err
    assert expected in lines[0]


def test_bad_files(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "latin.csv").write_bytes("text,label\ncaf\xe9,positive\n".encode("latin-1"))
    (here / "empty.csv").write_text("text,label\n")
    (here / "model.pkl").write_bytes(b"\x80\x04K\x01.")
    (here / "folder").mkdir()
    (here / "folder" / "model.json").write_text("{")
    for arguments in (
        ["audit", "--data", "latin.csv", *MODEL_OPTIONS],
        ["audit", "--data", "empty.csv", *MODEL_OPTIONS],
        ["audit", "--model", "model.pkl"],
        ["audit", "--model", "folder"],
    ):
        status, _, err = call(capsys, *arguments)
        assert (status, len(err.strip().splitlines())) == (2, 1), err


def test_bad_rows_are_reported_and_the_rest_is_audited(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "mixed.jsonl").write_text(
        '{"text": "a fun film", "label": "positive"}\nnot json\n{"text": "a good plot", "label": "neutral"}\n'
        '{"label": "positive"}\n{"text": "a good plot", "label": 1}\n'
    )
    status, _, err = call(capsys, "audit", "--data", "mixed.jsonl", "--out", "run", *MODEL_OPTIONS)
    assert status == 0
    assert "3 rows left out, the first at line 2" in err
    summary = json.loads((here / "run" / "summary.json").read_text())
    assert summary["n"] == 2
    assert [row["line"] for row in summary["data"]["bad_rows"]] == [2, 3, 4]


@pytest.mark.parametrize("kind", ["attacks", "provers", "victims", "candidates", "defenses"])
def test_list(capsys: pytest.CaptureFixture[str], kind: str) -> None:
    status, out, _ = call(capsys, "list", kind, "--json")
    assert status == 0
    assert all(record["name"] for record in records(out))
    status, out, _ = call(capsys, "list", kind)
    assert status == 0


def test_a_mistake_leaves_no_run_folder_behind(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = call(capsys, "audit", "--data", "texts.csv", "--attack", "nothing", "--out", "run", *MODEL_OPTIONS)
    assert status == 2
    assert "unknown attack 'nothing'" in err
    assert not (here / "run").exists()


def test_a_run_that_answers_nothing_leaves_nothing_in_the_way(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["audit", "--data", "texts.csv", "--out", "run", "--candidates", "table:table.json", "--model"]
    status, _, _ = call(capsys, *arguments, "model.py:broken")
    assert status == 2
    assert not (here / "run").exists()
    status, _, _ = call(capsys, *arguments, "model.py:score")
    assert status == 0


def test_without_labels_the_model_is_gold_and_says_so(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "plain.csv").write_text("text\na fun film\na dull film\n")
    status, out, err = call(capsys, "audit", "--data", "plain.csv", *MODEL_OPTIONS)
    assert status == 0
    assert "the model's own predictions count as gold" in err
    assert "clean accuracy   100.0%" in out


def test_list_shows_brackets(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    _, out, _ = call(capsys, "list", "candidates")
    assert "word: [substitutes]" in out


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = call(capsys, "doctor", "--json")
    assert status == 0
    found = {record["what"]: record for record in records(out)}
    assert found["numpy"]["ok"]
    assert found["embedded models"]["found"] == "movies-cnn"
    assert all("\\" not in record["remedy"] for record in found.values())
    status, out, _ = call(capsys, "doctor")
    assert "torch" in out


def test_data_show(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = call(capsys, "data", "show", "--data", "texts.csv")
    assert status == 0
    assert "texts.csv: 4 texts" in out
    status, out, _ = call(capsys, "data", "show", "--json")
    (record,) = records(out)
    assert record["name"] == "demo"
    assert 50 <= record["n"] <= 80
    assert set(record["labels"]) == {"negative", "positive"}


def test_train(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f'{{"text": "{word} film {i}", "label": "{name}"}}' for i in range(30)
             for word, name in (("good", "positive"), ("bad", "negative"))]  # fmt: skip
    (here / "train.jsonl").write_text("\n".join(lines))
    arguments = ["train", "cnn", "--data", "train.jsonl", "--test", "train.jsonl", "--epochs", "30", "--out", "toy"]
    small = ["--set", "filters=8", "--set", "widths=1,2", "--learning-rate", "0.02"]
    status, out, err = call(capsys, *arguments, *small, "--json")
    assert status == 0, err
    (record,) = records(out)
    assert record["test_accuracy"] == 1.0
    assert sorted(path.name for path in (here / "toy").iterdir())[0] == "model.json"
    status, _, err = call(capsys, *arguments)
    assert status == 2
    assert "expected --out to be a new folder" in err
    status, out, _ = call(capsys, "find", "a good film", "--model", "toy", "--candidates", "table:table.json", "--json")
    assert status == 0
    assert records(out)[0]["predicted"] == 1
