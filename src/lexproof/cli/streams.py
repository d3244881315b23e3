"""Standard output and standard error: results on the one, messages and progress on the other."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console

screen = Console(stderr=True, highlight=False, markup=False, emoji=False)
"""Messages and progress go to standard error; standard output carries results only."""


def paper() -> Console:
    """Standard output, for people.  Nothing is read as markup: names and texts come from users."""
    return Console(highlight=False, markup=False, emoji=False)


def emit(record: dict[str, Any]) -> None:
    """One JSON object on a line of standard output."""
    sys.stdout.write(json_line(record, sys.stdout.encoding or "utf-8") + "\n")
    sys.stdout.flush()


def json_line(record: dict[str, Any], encoding: str = "utf-8") -> str:
    """The record as JSON, its letters as they are or, where the encoding lacks one, escaped."""
    line = json.dumps(record, ensure_ascii=False)
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        return json.dumps(record, ensure_ascii=True)
    return line
