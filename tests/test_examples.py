"""Every example runs, and so does every Python block of the README and the pages of the documentation.

Those of the README run in an interpreter of their own, as a new user's do; the others in this one, which has loaded
torch already: that is most of the time that each of them takes.
"""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_example(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def blocks() -> list[tuple[str, str]]:
    docs = ROOT / "docs"
    own = {docs / "howto" / "own-model.md", docs / "candidates.md"}  # they have tests of their own, which look closer
    pages = [ROOT / "README.md", *sorted(page for page in docs.rglob("*.md") if page not in own)]
    return [
        (f"{page.relative_to(ROOT)}:{number}", code)
        for page in pages
        for number, code in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")), 1)
    ]


BLOCKS = blocks()
FIRST = [block for block in BLOCKS if block[0].startswith("README.md")]


@pytest.mark.parametrize(("name", "code"), FIRST, ids=lambda value: value if ".md:" in value else "")
def test_what_the_readme_says_first(name: str, code: str, tmp_path: Path) -> None:
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, f"{name}\n{result.stderr}"


@pytest.mark.parametrize(("name", "code"), BLOCKS, ids=lambda value: value if ".md:" in value else "")
def test_documented_code(name: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code, name, "exec"), {"__name__": "__main__"})
