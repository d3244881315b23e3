"""What cannot be done is said in one line, with status 2, and leaves nothing in the way of the next try."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calls import MODEL_OPTIONS, call, records

TRAIN = ["train", "cnn", "--data", "texts.csv", "--out", "m", "--set"]
AUDIT = ["audit", "--data", "texts.csv", *MODEL_OPTIONS]

REFUSED = {
    "a folder in a file": ([*AUDIT, "--out", "texts.csv/x"], "texts.csv/x"),
    "a folder that cannot be made": ([*AUDIT, "--out", "/proc/nope/x"], "/proc/nope"),
    "a file in no folder": (["find", "a fun film", "--out", "nowhere/x.jsonl", *MODEL_OPTIONS], "nowhere/x.jsonl"),
    "a model in a file": (["train", "cnn", "--data", "texts.csv", "--out", "texts.csv"], "texts.csv"),
    "widths": ([*TRAIN, "widths=x"], "expected --set widths=NUMBER,NUMBER,… (whole numbers), got 'x'"),
    "whole number": ([*TRAIN, "filters=1.5"], "expected --set filters=NUMBER (a whole number), got '1.5'"),
    "truth": ([*TRAIN, "freeze_vectors=yes"], "expected --set freeze_vectors=true or false, got 'yes'"),
    "tuple for a number": ([*TRAIN, "filters=1,2"], "expected --set filters=NUMBER (a whole number), got '1,2'"),
    "number": ([*TRAIN, "dropout=much"], "expected --set dropout=NUMBER, got 'much'"),
    "not a number": ([*TRAIN, "dropout=nan"], "expected --set dropout=NUMBER, got 'nan'"),
    "choice": ([*TRAIN, "pooling=mean"], "expected --set pooling=max or flatten, got 'mean'"),
    "unknown": ([*TRAIN, "filtres=3"], "unknown setting 'filtres'; did you mean 'filters'?"),
    "transformer": (["train", "transformer", *TRAIN[2:], "warmup=x"], "expected --set warmup=NUMBER, got 'x'"),
    "texts and data": (["find", "a fun film", "--data", "texts.csv", *MODEL_OPTIONS], "got both texts and --data"),
    "texts and columns": (
        ["find", "a fun film", "--label-column", "label", *MODEL_OPTIONS], "got both texts and --label-column",
    ),
    "label and data": (
        ["find", "--data", "texts.csv", "--label", "positive", *MODEL_OPTIONS],
        "expected --label with texts given as arguments only; labels of --data come from its --label-column",
    ),
    "label and demo": (["prove", "--label", "positive", *MODEL_OPTIONS], "expected --label with texts given"),
    "same target": (
        ["find", "a fun film", "--label", "1", "--target", "positive", *MODEL_OPTIONS],
        "expected a target other than the label",
    ),
    "target as predicted": (
        ["find", "a fun film", "--target", "positive", *MODEL_OPTIONS], "expected a target other than the label",
    ),
    "target of all": (
        ["find", "--data", "texts.csv", "--target", "positive", "--json", *MODEL_OPTIONS],
        "none of 4 texts answered, the first: expected a target other than the label",
    ),
    "text": (["find", "caf\udce9", *MODEL_OPTIONS], "expected UTF-8, got 'caf\\udce9'"),
    "model": ([*AUDIT, "--model", "mod\udce9.py:score"], "expected UTF-8, got 'mod\\udce9.py:score'"),
    "candidates": ([*AUDIT, "--candidates", "table:t\udce9.json"], "expected UTF-8, got 'table:t\\udce9.json'"),
    "label names": ([*AUDIT, "--labels", "a,\udce9"], "expected UTF-8, got 'a,\\udce9'"),
    "file of an audit": (["audit", "texts.csv"], "unexpected argument 'texts.csv'; name a data file with --data"),
    "file to show": (["data", "show", "texts.csv"], "unexpected argument 'texts.csv'; name a data file with --data"),
    "no run": (["report", "nowhere"], "expected a run folder with config.json, got nowhere"),
    "markup of a set": (["data", "get", "mo[/b]vies"], "mo[/b]vies"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_one_clear_line_and_status_2(here: Path, capsys: pytest.CaptureFixture[str], case: str) -> None:
    arguments, expected = REFUSED[case]
    before = sorted(here.iterdir())
    status, out, err = call(capsys, *arguments)
    assert status == 2, err
    lines = [line for line in err.strip().splitlines() if "/4 0:" not in line and "fetching" not in line]  # the bars
    assert len(lines) == 1, err
    assert expected in lines[0]
    assert all(record["answer"] == "error" for record in records(out))
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize(
    "wrong", ["--label=neutral", "--target=neutral", "--attack=textfoler", "--model=model.py:broken"]
)
@pytest.mark.parametrize("verb", ["find", "minimize"])
def test_a_mistake_leaves_no_file_in_the_way(
    here: Path, capsys: pytest.CaptureFixture[str], verb: str, wrong: str
) -> None:
    arguments = [verb, "a fun film", "--out", "answers.jsonl", *MODEL_OPTIONS]
    status, _, _ = call(capsys, *arguments, wrong)
    assert status == 2
    assert not (here / "answers.jsonl").exists()
    status, _, err = call(capsys, *arguments)
    assert status == 0, err
    assert len(records((here / "answers.jsonl").read_text())) == 1


def test_a_damaged_run_is_one_clear_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, _ = call(capsys, *AUDIT, "--out", "run")
    assert status == 0
    database = here / "run" / "run.sqlite"
    whole = database.read_bytes()
    for damaged in (b"x" * len(whole), whole[:4096] + b"\xff" * (len(whole) - 4096), whole[: len(whole) // 2]):
        for arguments in ([*AUDIT, "--out", "run", "--resume"], ["report", "run", "--out", "again.html"]):
            database.write_bytes(damaged)
            status, _, err = call(capsys, *arguments)
            lines = [line for line in err.strip().splitlines() if "0/4" not in line]
            assert (status, len(lines)) == (2, 1), err
            assert "run.sqlite" in lines[0]


def test_a_report_that_cannot_be_written(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call(capsys, *AUDIT, "--out", "run")
    status, _, err = call(capsys, "report", "run", "--out", "nowhere/x.html")
    assert (status, len(err.strip().splitlines())) == (2, 1)
    assert "nowhere/x.html" in err


@pytest.mark.parametrize("name", ["caf\udce9.csv", "x[red]y.csv", "x:smile:y.csv"])
def test_any_file_name_will_do(here: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (here / "texts.csv").rename(here / name)
    status, out, err = call(capsys, "audit", "--data", name, "--out", "run", *MODEL_OPTIONS)
    assert status == 0, err
    shown = name.replace("\udce9", "\ufffd")
    assert f"on {shown}" in out
    assert json.loads((here / "run" / "summary.json").read_text(encoding="utf-8"))["data"]["name"] == shown
    status, out, err = call(capsys, "data", "show", "--data", name)
    assert status == 0, err
    assert f"{shown}: 4 texts" in out


def test_any_model_name_will_do(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "m[").mkdir()
    (here / "model.py").rename(here / "m[/b].py")
    arguments = ["--model", "m[/b].py:score", "--data", "texts.csv", "--candidates", "table:table.json"]
    status, out, err = call(capsys, "audit", *arguments, "--out", "run")
    assert status == 0, err
    assert "m[/b].py:score on texts.csv" in out
    status, _, err = call(capsys, "audit", *arguments, "--out", "run", "--overwrite", "--fail-under", "0.9")
    assert status == 1, err


def test_a_folder_named_demo_does_not_hide_the_demo(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "demo").mkdir()
    status, out, err = call(capsys, "data", "show", "--json")
    assert status == 0, err
    assert records(out)[0]["name"] == "demo"
    status, out, err = call(capsys, "audit", "--limit", "1", *MODEL_OPTIONS)
    assert status == 0, err


def test_one_width_is_enough(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f'{{"text": "{word} film {i}", "label": "{name}"}}' for i in range(12)
             for word, name in (("good", "positive"), ("bad", "negative"))]  # fmt: skip
    (here / "train.jsonl").write_text("\n".join(lines))
    settings = ["--set", "widths=3", "--set", "filters=4", "--set", "dropout=0", "--set", "pooling=flatten"]
    status, _, err = call(capsys, "train", "cnn", "--data", "train.jsonl", "--epochs", "1", "--out", "toy", *settings)
    assert status == 0, err
    config = json.loads((here / "toy" / "model.json").read_text())["config"]
    assert (config["widths"], config["filters"], config["dropout"], config["pooling"]) == ([3], 4, 0, "flatten")
