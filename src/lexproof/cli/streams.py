"""Standard output and standard error: results on the one, messages and progress on the other."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console
from rich.file_proxy import FileProxy

screen = Console(stderr=True, highlight=False, markup=False, emoji=False)
"""Messages and progress go to standard error; standard output carries results only."""


class _Paper(Console):
    """A console that leaves it to `cli.pipe` what happens when nobody reads any more; rich would exit with status 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def paper() -> Console:
    """Standard output, for people.  Nothing is read as markup: names and texts come from users.

    While a bar is drawn on the same terminal, it is the console that draws it: the bar moves down, and stays whole.
    """
    return screen if _bar_below() else _Paper(highlight=False, markup=False, emoji=False)


def emit(record: dict[str, Any]) -> None:
    """One JSON object on a line of standard output, whatever is drawn on standard error."""
    if _bar_below():
        screen.print(json_line(record), soft_wrap=True)
        return
    out = sys.stdout.rich_proxied_file if isinstance(sys.stdout, FileProxy) else sys.stdout  # not the bar's own stream
    out.write(json_line(record, getattr(out, "encoding", None) or "utf-8") + "\n")
    out.flush()


def _bar_below() -> bool:
    """Whether a bar is being drawn, and on the terminal that standard output is, too."""
    return isinstance(sys.stdout, FileProxy) and sys.stdout.rich_proxied_file.isatty()


def json_line(record: dict[str, Any], encoding: str = "utf-8") -> str:
    """The record as JSON, its letters as they are or, where the encoding lacks one, escaped."""
    line = json.dumps(record, ensure_ascii=False)
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        return json.dumps(record, ensure_ascii=True)
    return line
