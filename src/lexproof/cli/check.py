"""lexproof check: verify certificates that prove or minimize wrote, from the file and the model alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from rich.text import Text as Styled

from lexproof.certificates import FORMAT
from lexproof.checker import MAX_TEXTS, Checked, check
from lexproof.cli.options import check_utf8, json_option, load_victim, model_option, progress_bar
from lexproof.cli.streams import emit, paper, screen
from lexproof.errors import InputError

_STYLES = {"verified": "bold green", "derived again": "bold yellow", "refused": "bold red"}


@click.command("check")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@model_option
@click.option(
    "--max-points",
    type=click.IntRange(min=0),
    default=MAX_TEXTS,
    show_default=True,
    help="Texts scored to verify one step of a proof.",
)
@json_option
def check_command(file: Path, model: str, labels: str | None, label_only: bool, max_points: int, as_json: bool) -> int:
    """Verify the certificates of FILE, one a line, independently of the code that made them.

    Exit status 1 if one of them is refused.
    """
    for given in (model, labels or ""):
        check_utf8(given)
    lines = list(_lines(file))
    victim = load_victim(model, labels, label_only)
    found: list[str] = []
    with ExitStack() as stack:
        step = stack.enter_context(progress_bar("check", len(lines))) if len(lines) > 1 else None
        for done, (number, record) in enumerate(lines, 1):
            checked = _unread(record) if isinstance(record, str) else check(record, victim, max_points=max_points)
            found.append(checked.status)
            if as_json:
                _emit(number, record, checked)
            else:
                _print(number, record, checked, victim.labels)
            if step is not None:
                step(done)
    _sum_up(found)
    return 1 if "refused" in found else 0


def _lines(file: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Each line's number, and its JSON object or what is wrong with it; InputError if no line is a certificate."""
    rows: list[tuple[int, dict[str, Any] | str]] = []
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        if line.strip():
            rows.append((number, _parse(line)))
    if not rows:
        raise InputError(f"expected certificates, one a line, got nothing in {file}")
    if not any(isinstance(row, dict) and row.get("format") == FORMAT for _, row in rows):
        number, first = rows[0]
        problem = first if isinstance(first, str) else f"a JSON object that does not say format {FORMAT!r}"
        raise InputError(f"expected certificates in {file}, got {problem} at line {number}")
    yield from rows


def _parse(line: bytes) -> dict[str, Any] | str:
    try:
        record = json.loads(line.decode("utf-8"))
    except RecursionError:
        return "JSON that is nested too deeply"
    except ValueError as error:  # not UTF-8, not JSON, or a number of too many digits
        return f"no JSON: {error}"
    return record if isinstance(record, dict) else f"a JSON {type(record).__name__}, no object"


def _unread(problem: str) -> Checked:
    return Checked(
        status="refused", reason=f"expected a certificate, got {problem}", radius=None, steps=(), seconds=0.0
    )


def _surface(record: dict[str, Any] | str, checked: Checked) -> str | None:
    """The text, if the record was well formed."""
    if isinstance(record, str) or checked.radius is None:
        return None
    words, gaps = record["text"]["words"], record["text"]["gaps"]
    return str(gaps[0] + "".join(word + gap for word, gap in zip(words, gaps[1:], strict=True)))


def _emit(number: int, record: dict[str, Any] | str, checked: Checked) -> None:
    well_formed = record if isinstance(record, dict) and checked.radius is not None else {}
    names = {name: well_formed.get(name) for name in ("label", "target")}
    emit({"line": number, "text": _surface(record, checked), **names, **checked.to_json()})


def _print(number: int, record: dict[str, Any] | str, checked: Checked, labels: Sequence[str]) -> None:
    console, text = paper(), _surface(record, checked)
    shown = "" if text is None else f": {text}"
    console.print(Styled(f"line {number}{shown}"), soft_wrap=True)
    said = f"  {checked.status}"
    if checked.holds and isinstance(record, dict):
        target = record["target"]
        flip = f"a flip from {labels[record['label']]}" + ("" if target is None else f" to {labels[target]}")
        said += f": no text with up to {checked.radius} swaps is {flip}"
    detail = "; ".join(f"{step.method} of {step.first} to {step.last}: {step.how}" for step in checked.steps)
    tail = f" ({checked.reason})" if checked.reason else f" ({detail})"
    console.print(Styled(said, style=_STYLES[checked.status]).append(tail, style="not bold"), soft_wrap=True)


def _sum_up(found: list[str]) -> None:
    if len(found) > 1:
        counts = (f"{found.count(status)} {status}" for status in _STYLES if status in found)
        screen.print(f"{len(found)} certificates: {', '.join(counts)}")
