"""lexproof harden: from a file to a model that loads, resumable, and told in one line what is wrong."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("torch")

from calls import call as call_in

import lexproof as lp
from lexproof.registry import entries
from lexproof.training import checkpoint as checkpoints
from small_training import reviews


class Result(NamedTuple):
    status: int
    stdout: str
    stderr: str


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    return lambda *arguments: Result(*call_in(capsys, *map(str, arguments)))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "train.jsonl"
    rows = zip(*reviews(60), strict=True)
    path.write_text(
        "".join(json.dumps({"text": text, "label": "good" if label else "bad"}) + "\n" for text, label in rows)
    )
    return path


SMALL = ("--epochs", "2", "--batch-size", "16", "--set", "dim=8", "--set", "filters=8", "--set", "max_length=16")


def test_a_defended_model_is_written_and_loads(call: Callable[..., Result], data: Path, tmp_path: Path) -> None:
    result = call("harden", "freelb++?steps=2", "--data", data, "--out", tmp_path / "held", *SMALL, "--json")
    assert result.status == 0, result.stderr
    said = json.loads(result.stdout)
    assert said["kind"] == "cnn" and said["defense"] == "freelb++"
    victim = lp.load(tmp_path / "held")
    assert victim.labels == ("bad", "good")
    assert victim.training["defense"]["steps"] == 2  # type: ignore[attr-defined]
    assert not (tmp_path / "held.checkpoint").exists()


@pytest.mark.parametrize("command", [("harden", "rand"), ("train", "cnn")])
def test_it_resumes_where_it_was_interrupted(
    call: Callable[..., Result], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, str]
) -> None:
    from lexproof.cli.training_bar import TrainingBar

    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    arguments = (*command, "--data", data, *SMALL)
    whole = call(*arguments, "--out", tmp_path / "whole")
    assert whole.status == 0, whole.stderr
    step = TrainingBar.step

    def stopping(bar: TrainingBar, epoch: int, done: int, steps: int, loss: float) -> None:
        step(bar, epoch, done, steps, loss)
        if done == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(TrainingBar, "step", stopping)
        stopped = call(*arguments, "--out", tmp_path / "parts")
        assert stopped.status == 130 and "the same command goes on from there" in " ".join(stopped.stderr.split())
    assert (tmp_path / "parts.checkpoint").is_file() and not (tmp_path / "parts").exists()
    refused = call(*arguments, "--out", tmp_path / "parts", "--seed", "1")
    assert refused.status == 2 and "other data, model or settings" in refused.stderr
    resumed = call(*arguments, "--out", tmp_path / "parts")
    assert resumed.status == 0 and "resuming from" in resumed.stderr
    assert lp.load(tmp_path / "parts").fingerprint == lp.load(tmp_path / "whole").fingerprint


def test_synonyms_are_apart_unless_shared(call: Callable[..., Result], data: Path, tmp_path: Path) -> None:
    for name, options in (("apart", ()), ("shared", ("--share-synonyms",))):
        result = call("harden", "ascc?steps=1", "--data", data, "--out", tmp_path / name, *SMALL, *options)
        assert result.status == 0, result.stderr
    attacker = lp.candidates.from_spec("default")
    known = {name: lp.load(tmp_path / name).training["synonyms"] for name in ("apart", "shared")}  # type: ignore[attr-defined]
    assert known["apart"]["name"] == "wordnet"
    assert known["shared"]["fingerprint"] == attacker.fingerprint  # type: ignore[attr-defined]
    texts = tmp_path / "texts.csv"
    texts.write_text("text,label\nthe film was good,good\n")
    for name, is_said in (("apart", False), ("shared", True)):
        folder = tmp_path / f"run-{name}"
        result = call("audit", "--model", tmp_path / name, "--data", texts, "--out", folder)
        assert result.status == 0, result.stderr
        page = (folder / "report.html").read_text()
        assert ("attacker and defender share them" in page) == is_said
        assert ("attacker and defender share them" in " ".join(result.stdout.split())) == is_said
        assert "ascc?steps=1" in page  # which defense, among the facts


def test_the_list_says_family_cost_and_reference(call: Callable[..., Result]) -> None:
    result = call("list", "defenses", "--json")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["name"] for row in rows] == list(entries("defenses")) and len(rows) == 17
    assert all(row["family"] and row["cost"] and row["reference"] for row in rows)
    assert "family" in call("list", "defenses").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ascd",), "unknown defense 'ascd'; did you mean 'ascc'?"),
        (("freelb?step=3",), "unknown setting 'step' of defense 'freelb'; available:"),
        (("ibp", "--kind", "transformer"), "transformer"),
        (("rand", "--share-synonyms"), "expected no synonyms for the defense 'rand', which uses none, got some"),
        (("ascc", "--share-synonyms", "--synonyms", "wordnet"), "expected --synonyms or --share-synonyms, got both"),
        (("ascc", "--synonyms", "wordnot"), "wordnot"),
        (("rand", "--set", "fitlers=3"), "unknown setting 'fitlers'; did you mean 'filters'?"),
    ],
)
def test_mistakes_are_told_before_training(
    call: Callable[..., Result], data: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = call("harden", *arguments, "--data", data, "--out", tmp_path / "held")
    assert result.status == 2
    assert message in result.stderr and "epoch 1" not in result.stderr
    assert "ETA" not in result.stderr  # one line, without a bar of work that was never begun
    assert not (tmp_path / "held").exists()


def test_a_model_that_cannot_be_trained_on_is_told_apart(
    call: Callable[..., Result], data: Path, tmp_path: Path
) -> None:
    function = tmp_path / "mine.py"
    function.write_text("def predict(texts):\n    return [[0.5, 0.5] for text in texts]\n")
    result = call("harden", "rand", "--model", f"{function}:predict", "--data", data, "--out", tmp_path / "held")
    assert result.status == 2 and "expected --model to be one that lexproof trained" in result.stderr
    assert call("harden", "ranmask", "--data", data, "--out", tmp_path / "masked", *SMALL).status == 0
    result = call("harden", "rand", "--model", tmp_path / "masked", "--data", data, "--out", tmp_path / "held")
    assert (
        result.status == 2 and "give its base" in result.stderr and str(tmp_path / "masked" / "base") in result.stderr
    )
    base = tmp_path / "masked" / "base"
    result = call("harden", "rand", "--model", base, "--data", data, "--out", tmp_path / "held", "--epochs", "1")
    assert result.status == 0, result.stderr


def test_validation_rows_that_are_left_out_are_told(call: Callable[..., Result], data: Path, tmp_path: Path) -> None:
    valid = tmp_path / "valid.csv"
    valid.write_text("text,label\nthe film was good,good\nthe film was odd,odd\n")
    result = call("harden", "rand", "--data", data, "--valid", valid, "--out", tmp_path / "held", *SMALL)
    assert result.status == 0 and "1 rows left out of valid.csv" in result.stderr.replace("\n", " ")


def test_work_between_steps_and_the_last_accuracy_have_a_bar_with_an_eta(
    call: Callable[..., Result], data: Path, tmp_path: Path
) -> None:
    result = call("harden", "a2t", "--data", data, "--test", data, "--out", tmp_path / "held", *SMALL)
    assert result.status == 0, result.stderr
    lines = [line for line in result.stderr.splitlines() if "ETA" in line]
    assert any("test" in line and "60/60" in line for line in lines), lines


def test_going_on_from_a_defended_model_keeps_its_record(
    call: Callable[..., Result], data: Path, tmp_path: Path
) -> None:
    first = ("harden", "ascc?steps=1", "--share-synonyms", "--data", data, "--out", tmp_path / "first", *SMALL)
    assert call(*first, "--set", "vocabulary_size=20").status == 0
    result = call(
        "harden", "rand", "--model", tmp_path / "first", "--data", data, "--out", tmp_path / "second", "--epochs", "1"
    )
    assert result.status == 0, result.stderr
    known = lp.load(tmp_path / "second").training  # type: ignore[attr-defined]
    assert known["defense"]["name"] == "rand" and known["vocabulary_size"] == 20
    assert known["start"]["defense"]["name"] == "ascc"
    assert known["start"]["fingerprint"] == lp.load(tmp_path / "first").fingerprint
    assert known["start"]["synonyms"]["fingerprint"] == lp.candidates.from_spec("default").fingerprint


def test_the_folder_that_the_user_is_in(
    call: Callable[..., Result], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    result = call("harden", "rand", "--data", data, "--out", ".", *SMALL)
    assert result.status == 0, result.stderr
    assert lp.load(tmp_path / "empty").labels == ("bad", "good")


def test_a_checkpoint_that_cannot_be_written_is_told_in_a_line(
    call: Callable[..., Result], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import safetensors
    import safetensors.torch

    def full(*given: object, **named: object) -> None:
        raise safetensors.SafetensorError("No space left on device")

    monkeypatch.setattr(safetensors.torch, "save_file", full)
    result = call("harden", "rand", "--data", data, "--out", tmp_path / "held", *SMALL)
    assert result.status == 2 and "cannot write" in result.stderr and "No space left" in result.stderr


def test_a_checkpoint_has_no_place_beside_a_folder_that_is_read_only(
    call: Callable[..., Result], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    access, closed = os.access, tmp_path / "closed"
    (closed / "held").mkdir(parents=True)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != closed and access(path, mode))
    result = call("harden", "rand", "--data", data, "--out", closed / "held", *SMALL)
    assert result.status == 2 and "which is read-only" in " ".join(result.stderr.split())


def test_an_interruption_says_what_is_left(
    call: Callable[..., Result], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import lexproof.cli.train as verb

    def stopped(*given: object) -> float:
        raise KeyboardInterrupt

    arguments = ("harden", "rand", "--data", data, "--test", data, *SMALL)
    with monkeypatch.context() as patched:
        patched.setattr(verb, "_accuracy", stopped)
        result = call(*arguments, "--out", tmp_path / "held")
    said = " ".join(result.stderr.split())
    assert result.status == 130 and f"the model in {tmp_path / 'held'} is complete" in said
    assert lp.load(tmp_path / "held").labels == ("bad", "good")
    with monkeypatch.context() as patched:
        patched.setattr("lexproof.cli.training_bar.TrainingBar.step", stopped)
        result = call(*arguments, "--out", tmp_path / "short")
    said = " ".join(result.stderr.split())
    assert result.status == 130 and "nothing is kept" in said and "everything finished" not in said


@pytest.mark.parametrize("norm", ["5", "1e30"])
def test_a_training_that_diverges_leaves_the_way_free(
    call: Callable[..., Result], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, norm: str
) -> None:
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    arguments = ("train", "cnn", "--data", data, "--out", tmp_path / "held", *SMALL, "--set", f"largest_norm={norm}")
    result = call(*arguments, "--learning-rate", "1e30")
    assert result.status == 2 and "training diverged" in result.stderr
    assert not (tmp_path / "held.checkpoint").exists()
    assert call(*arguments, "--learning-rate", "1e-3").status == 0


def test_a_set_whose_classes_have_other_names_is_told(
    call: Callable[..., Result], tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call("train", "cnn", "--data", data, "--out", tmp_path / "plain", *SMALL).status == 0
    result = call(
        "harden", "rand", "--model", tmp_path / "plain", "--data", "demo", "--out", tmp_path / "held", "--epochs", "1"
    )
    said = " ".join(result.stderr.split())
    assert result.status == 0 and "taken in their order: negative as bad, positive as good" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("sp-defense?gap=1e400",), "expected a finite gap > 0"),
        (("mixada?concentration=1e-300",), "expected concentration from 1e-06"),
        (("infobert?width=100000000000",), "expected width from 1 to 100000"),
        (("rand", "--seed", "99999999999999999999"), "not in the range"),
        (("ascc", "--synonyms", ""), "unknown candidate ''"),
    ],
)
def test_settings_out_of_range_are_refused_before_training(
    call: Callable[..., Result], data: Path, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    result = call("harden", *options, "--data", data, "--out", tmp_path / "held", *SMALL)
    assert result.status == 2 and said in " ".join(result.stderr.split()), result.stderr
    assert not (tmp_path / "held").exists()
