"""Templating: the environment that every page is rendered in, and how a page is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lexproof.report.evidence import pair
from lexproof.report.numerals import count, plural
from lexproof.report.visible import visible


def environment() -> Environment:
    """Templates of the package; everything is escaped, nothing may be undefined."""
    made = Environment(
        loader=PackageLoader("lexproof.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["count"] = count
    made.filters["pair"] = pair
    made.globals["plural"] = plural
    return made


def _shown(value: Any) -> Any:
    # whatever reaches the page is made visible here once more, so that no field can be forgotten
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def write_whole(path: str | Path, html: str) -> Path:
    """Write a page into a file, as a whole or not at all, and return its path."""
    target = Path(path)
    partial = target.with_name(f"{target.name}.partial")
    partial.write_text(html, "utf-8", newline="\n")
    return partial.replace(target)
