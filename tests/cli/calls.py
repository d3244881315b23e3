"""Call the command line in this process."""

from __future__ import annotations

import json

import pytest

from lexproof.cli import run

MODEL_OPTIONS = ["--model", "model.py:score", "--candidates", "table:table.json"]


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = run(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def records(output: str) -> list[dict]:  # type: ignore[type-arg]
    return [json.loads(line) for line in output.splitlines()]
