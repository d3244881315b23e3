"""What only a process of its own can show: interruption, exit status, help, the default audit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "lexproof"]

SLOW = """
import time
def score(texts):
    time.sleep(0.05)
    return [[0.2, 0.8] for _ in texts]
score.labels = ["negative", "positive"]
"""


def test_help_is_quick_and_lists_the_verbs() -> None:
    begun = time.perf_counter()
    result = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True)
    assert all(verb in result.stdout for verb in ("audit", "find", "minimize", "prove", "count", "train", "doctor"))
    assert time.perf_counter() - begun < 10


def test_interrupt_keeps_everything_finished_and_resume_completes_it(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(SLOW)
    words = [f"word{i}" for i in range(12)]
    (tmp_path / "table.json").write_text(json.dumps({word: ["a", "b"] for word in words}))
    lines = [json.dumps({"text": " ".join(words), "label": 1, "n": i}) for i in range(800)]
    (tmp_path / "texts.jsonl").write_text("\n".join(lines))
    command = [
        *COMMAND, "audit", "--model", "model.py:score", "--data", "texts.jsonl", "--candidates", "table:table.json",
        "--out", "run", "--max-points", "100", "--samples", "50",
    ]  # fmt: skip
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and finished(tmp_path / "run") < 64:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "interrupted; everything finished is kept" in err
    assert "Traceback" not in err
    kept = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert 64 <= kept["n"] < 800
    assert not kept["finished"]
    assert (tmp_path / "run" / "report.html").is_file()
    subprocess.run([*command, "--resume"], cwd=tmp_path, check=True, capture_output=True)
    whole = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert whole["n"] == 800
    assert whole["finished"]


def finished(folder: Path) -> int:
    import sqlite3

    if not (folder / "run.sqlite").is_file():
        return 0
    try:
        connection = sqlite3.connect(f"file:{folder / 'run.sqlite'}?mode=ro", uri=True)
        count: int = connection.execute("SELECT count(*) FROM answers").fetchone()[0]
        connection.close()
        return count
    except sqlite3.OperationalError:
        return 0


@pytest.mark.slow
def test_audit_with_no_arguments_takes_less_than_a_minute(tmp_path: Path) -> None:
    begun = time.perf_counter()
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    result = subprocess.run([*COMMAND, "audit"], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    assert time.perf_counter() - begun < 60
    (folder,) = (tmp_path / "runs").iterdir()
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["errors"] == 0
    assert summary["clean"]["value"] > 0.7
    assert 0 < summary["success"]["value"] < 1


QUICK = """
def score(texts):
    return [[0.9, 0.1] if "dull" in text else [0.2, 0.8] for text in texts]
score.labels = ["negative", "positive"]
"""


def quick(folder: Path) -> list[str]:
    (folder / "model.py").write_text(QUICK)
    (folder / "table.json").write_text(json.dumps({"fun": ["dull"]}))
    return ["--model", "model.py:score", "--candidates", "table:table.json"]


def test_any_encoding_of_the_output_will_do(tmp_path: Path) -> None:
    options = quick(tmp_path)
    text = "a fun — ‘café’ 😀 film"
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    for form in ([], ["--json"]):
        command = [*COMMAND, "find", text, *form, *options]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, env=environment)
        assert (result.returncode, result.stderr) == (0, b"")
    record = json.loads(result.stdout.decode("latin-1"))
    assert (record["text"], record["witness"]) == (text, text.replace("fun", "dull"))
    result = subprocess.run([*COMMAND, "doctor"], cwd=tmp_path, capture_output=True, env=environment)
    assert (result.returncode, result.stderr) == (0, b"")


@pytest.mark.parametrize(("threshold", "status"), [("0.9", 1), ("0.1", 0)])
def test_a_reader_that_leaves_does_not_change_the_status(tmp_path: Path, threshold: str, status: int) -> None:
    options = quick(tmp_path)
    lines = [json.dumps({"text": f"{word} {i}", "label": 1}) for i in range(300) for word in ("a fun film", "a story")]
    (tmp_path / "texts.jsonl").write_text("\n".join(lines))
    command = [*COMMAND, "audit", "--data", "texts.jsonl", "--json", "--fail-under", threshold, *options]
    read, write = os.pipe()
    os.close(read)
    result = subprocess.run(command, cwd=tmp_path, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert result.returncode == status, result.stderr
    assert "Traceback" not in result.stderr


def test_a_reader_that_leaves_a_list_is_no_error(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    result = subprocess.run([*COMMAND, "list", "attacks", "--json"], stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (result.returncode, result.stderr) == (0, "")
