"""count --plot, and the strips below many answers: nothing is drawn that was not counted, nothing is written over."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from calls import MODEL_OPTIONS, call
from rich.console import Console

from lexproof.cli import share_strips
from lexproof.cli.share_plot import check_plot, share_plot, whole_share
from lexproof.cli.share_strips import BINS, groups, print_strips, strip
from lexproof.errors import InputError

LABELS = ("negative", "positive")


def counted(value: float, label: int = 1, *, right: bool = True, answer: str = "share") -> dict[str, Any]:
    return {
        "answer": answer,
        "label": label,
        "predicted": label if right else 1 - label,
        "value": value,
        "low": value,
        "high": value,
        "method": "exact",
    }


@pytest.fixture
def many(here: Path) -> Path:
    """Six texts of which all but one in three allowed texts keep the label, and six that nothing flips."""
    texts = [*(f"a fun film {i}" for i in range(6)), *(f"a plain story {i}" for i in range(6)), "dull"]
    (here / "many.csv").write_text("text,label\n" + "".join(f"{text},positive\n" for text in texts))
    return here


def test_a_strip_is_a_histogram() -> None:
    values = [0.0] * 8 + [0.5] * 4 + [1.0]
    line = strip(values)
    assert len(line) == BINS
    assert (line[0], line[BINS // 2], line[-1]) == ("█", "▄", "▁")  # one of 13 is still seen
    assert set(line[1 : BINS // 2]) == {" "}
    assert strip([1.0, 0.999, 0.96]) == " " * (BINS - 1) + "█"
    assert strip([]) == " " * BINS


def test_a_strip_a_class(capsys: pytest.CaptureFixture[str]) -> None:
    print_strips([counted(0.05), counted(0.3), counted(0.0, 0), counted(1.0, 0, right=False)], LABELS)
    lines = capsys.readouterr().out.splitlines()
    head, meaning, first, second = lines
    assert head == "PR, the share that keeps the label, from 0 to 1 over 3 texts; 1 text misclassified, left out"
    assert meaning == "median PR; texts of PR > 0.9 out of those of the class [95% interval]"
    assert first.startswith("  negative |")
    assert first.endswith("| 1; 1 of 1, 100% [2.5% to 100%]")
    assert "| 0.825; 1 of 2, 50% [" in second
    assert max(map(len, lines[1:])) <= 80  # the first line may go on with texts left out


def test_misclassified_texts_alone_have_no_strip(capsys: pytest.CaptureFixture[str]) -> None:
    print_strips([counted(0.05, right=False)], LABELS)
    assert capsys.readouterr().out == ""


def test_a_terminal_without_blocks_gets_plain_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(share_strips, "paper", lambda: Console(file=written, markup=False, highlight=False))
    print_strips([counted(0.0)], ("no", "a name that is longer than the rest"))
    written.seek(0)
    assert "|" + " " * (BINS - 1) + "@|" in written.read()


def test_hidden_characters_of_a_label_are_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    print_strips([counted(0.0)], ("no", "a\u202eb"))
    assert "a‹U+202E›b" in capsys.readouterr().out


def test_only_shares_of_correct_texts_are_drawn(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    with share_plot(path, LABELS, "t", quiet=True) as add:
        add({"answer": "error", "reason": "out of memory"})
        add(counted(0.25))
        add(counted(0.25, right=False))
    assert "positive: 1 text, PR from 0.750 to 0.750" in path.read_text("utf-8")
    assert "negative" not in path.read_text("utf-8")
    assert [group.above["k"] for group in groups([counted(0.25), counted(0.05)], LABELS) if group.above] == [1]


@pytest.mark.parametrize(("confidence", "exact"), [(1.0, True), (0.995, False)])
def test_of_a_curve_the_largest_radius_is_drawn(tmp_path: Path, confidence: float, exact: bool) -> None:
    radii = [{"radius": r, "value": value, "low": 0.0, "high": 0.5} for r, value in enumerate((0.0, 0.125, 0.25))]
    curve = {"answer": "share-curve", "label": 1, "predicted": 1, "confidence": confidence, "radii": radii}
    with share_plot(tmp_path / "a.svg", LABELS, "t", quiet=True) as add:
        add(curve)
    assert "positive: 1 text, PR from 0.750 to 0.750" in (tmp_path / "a.svg").read_text("utf-8")
    share = whole_share(curve)
    assert share is not None
    assert (share["method"] == "exact") is exact


def test_what_is_finished_is_drawn_when_the_command_is_interrupted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(KeyboardInterrupt), share_plot(tmp_path / "a.svg", LABELS, "t", quiet=False) as add:
        for _ in range(20):
            add(counted(0.25))
        raise KeyboardInterrupt
    assert "n = 20" in (tmp_path / "a.svg").read_text("utf-8")
    assert capsys.readouterr().out == ""


def test_nothing_counted_leaves_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with share_plot(tmp_path / "a.svg", LABELS, "t", quiet=True) as add:
        add(counted(0.5, right=False))
    assert list(tmp_path.iterdir()) == []
    assert "no correctly classified text was counted" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.png", r"expected --plot to end in .svg or .html, got .*a\.png; choose another name"),
        ("there.svg", r"expected --plot to be a new file, got .*there\.svg, which exists"),
        ("nowhere/a.svg", r"expected --plot in a folder that exists, got .*nowhere/a\.svg"),
    ],
)
def test_a_wrong_file_is_refused_before_anything_is_computed(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "there.svg").write_text("mine")
    with pytest.raises(InputError, match=message):
        check_plot(tmp_path / name)
    assert (tmp_path / "there.svg").read_text() == "mine"


@pytest.mark.parametrize(("name", "start"), [("a.svg", "<svg "), ("a.html", "<!DOCTYPE html>")])
def test_count_draws_what_it_counted(many: Path, capsys: pytest.CaptureFixture[str], name: str, start: str) -> None:
    status, out, err = call(capsys, "count", "--data", "many.csv", *MODEL_OPTIONS, "--plot", name)
    assert status == 0, err
    drawn = (many / name).read_text("utf-8")
    assert drawn.lstrip().startswith(start)
    assert "positive: 12 texts, PR from 0.667 to 1, median 0.833; PR &gt; 0.9 on 50%" in drawn
    assert f"plot: {name}" in err
    assert re.search(r"  positive \| +█ {7}█\| 0.833; 6 of 12, 50% \[", out)
    assert "1 text misclassified, left out" in out


def test_json_lines_stay_json_and_few_texts_have_no_strip(many: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = call(capsys, "count", "--data", "many.csv", *MODEL_OPTIONS, "--json")
    assert status == 0
    assert all(line.startswith("{") for line in out.splitlines())
    _, out, _ = call(capsys, "count", "--data", "texts.csv", *MODEL_OPTIONS)
    assert "keeps the label, from 0 to 1" not in out
    _, out, _ = call(capsys, "find", "--data", "many.csv", *MODEL_OPTIONS)
    assert "PR >" not in out


def test_count_refuses_a_wrong_plot_first(many: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--data", "many.csv", "--candidates", "table:table.json", "--model", "model.py:broken"]
    status, out, err = call(capsys, "count", *options, "--plot", "a.txt")
    assert (status, out) == (2, "")
    assert "expected --plot to end in .svg or .html, got a.txt; choose another name" in err
