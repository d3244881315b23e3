"""Imports point one way (DESIGN): a lower room never knows a higher one."""

import ast
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "lexproof"

LAYERS = [
    {"errors", "marks", "text", "points", "strata", "space", "goal", "answers", "search", "registry", "resources"}
    | {"specs", "registered"},
    {"candidates", "victims", "bounds", "data", "fluency"},
    {"attacks", "certify", "statistics", "training"},
    {"asking", "counting", "engine", "running", "evidence", "questions", "verbs", "constraints", "recipes", "edits"}
    | {"certificates", "checker", "safe_radius", "explaining", "single_words"},
    {"auditing", "defenses"},
    {"report", "benchmark"},
    {"cli", "web", "__main__"},
]
HEIGHT = {room: height for height, layer in enumerate(LAYERS) for room in layer}
# the audit ends by writing its report, and an explanation draws itself in a notebook; the imports are inside the
# functions that do it
ALLOWED = {("auditing", "report"), ("explaining", "report")}
CORE_PACKAGES = {"numpy", "lexproof"} | set(sys.stdlib_module_names)


def room_of(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} uses a relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    room = room_of(path)
    assert room in HEIGHT, f"say in LAYERS where {room} belongs"
    for name in imports(path):
        parts = name.split(".")
        if parts[0] != "lexproof" or len(parts) < 2 or parts[1] not in HEIGHT or parts[1] == room:
            continue
        assert HEIGHT[parts[1]] <= HEIGHT[room] or (room, parts[1]) in ALLOWED, f"{room} imports {name}"


@pytest.mark.parametrize("room", ["text", "points", "strata", "space", "goal", "answers", "search", "errors"])
def test_the_core_needs_numpy_only(room: str) -> None:
    tops = {name.split(".")[0] for name in imports(SOURCE / f"{room}.py")}
    assert tops <= CORE_PACKAGES


def test_attacks_know_no_concrete_victim() -> None:
    for path in (SOURCE / "attacks").glob("*.py"):
        assert not any(name.startswith("lexproof.victims") for name in imports(path)), path


def test_report_knows_only_records() -> None:
    for path in (SOURCE / "report").glob("*.py"):
        names = {name for name in imports(path) if name.startswith("lexproof.")}
        assert all(name.split(".")[1] in {"report", "text", "errors"} for name in names), (path, names)


def run_python(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return result.stdout.strip()


def test_import_is_light() -> None:
    heavy = run_python(
        "import sys, lexproof; "
        "print(sorted({'torch', 'transformers', 'sklearn', 'scipy', 'rich', 'click', 'jinja2', 'pyarrow', 'spacy'} "
        "& set(sys.modules)))"
    )
    assert heavy == "[]"


def is_quick(code: str, limit: float) -> bool:
    """Whether the processor seconds that the code prints are below the limit; asked again: a busy machine adds some."""
    return any(float(run_python(code)) < limit for _ in range(8))


def test_import_is_quick_and_offline() -> None:
    code = (
        "import socket, time\n"
        "def refuse(*args, **kwargs): raise OSError('no network at import')\n"
        "socket.socket.connect = refuse\n"
        "import numpy\n"
        "start = time.process_time()\n"
        "import lexproof\n"
        "print(time.process_time() - start)"
    )
    assert is_quick(code, 0.25)  # numpy itself, which everyone has loaded, takes about 0.1 s more


def test_the_version_is_read_when_it_is_asked_for() -> None:
    code = "import sys, lexproof; known = 'importlib.metadata' in sys.modules; print(known, lexproof.__version__)"
    assert run_python(code) == f"False {version('lexproof')}"


def test_whole_import_takes_less_than_half_a_second() -> None:
    code = "import time; start = time.process_time(); import lexproof; print(time.process_time() - start)"
    assert is_quick(code, 0.5)
