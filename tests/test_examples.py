"""Every example runs, and so does every Python block of the README and the how-to pages."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_example(path: Path, tmp_path: Path) -> None:
    result = subprocess.run([sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout


def blocks() -> list[tuple[str, str]]:
    docs = ROOT / "docs"
    own = {docs / "howto" / "own-model.md", docs / "candidates.md"}  # they have tests of their own, which look closer
    pages = [ROOT / "README.md", *sorted(page for page in docs.rglob("*.md") if page not in own)]
    return [
        (f"{page.relative_to(ROOT)}:{number}", code)
        for page in pages
        for number, code in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")), 1)
    ]


@pytest.mark.parametrize(("name", "code"), blocks(), ids=lambda value: value if ".md:" in value else "")
def test_documented_code(name: str, code: str, tmp_path: Path) -> None:
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, f"{name}\n{result.stderr}"
