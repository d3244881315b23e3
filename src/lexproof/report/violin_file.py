"""Violins in a file of their own: an SVG picture for a paper, or a page.  Values in, file out.

Guarantee: the file is complete in itself and fetches nothing; names are escaped by the template engine; the same
values give the same file.  Both follow the light or dark setting of whoever looks at them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lexproof.errors import InputError
from lexproof.report.density import BANDWIDTH
from lexproof.report.embed import asset, policy
from lexproof.report.templating import environment, write_whole
from lexproof.report.violin import LEFT, Group, Violins, short, violins
from lexproof.report.visible import visible

SUFFIXES = (".svg", ".html", ".htm")
"""What the name of a file with violins ends in."""

NOTE = (
    "PR is the share of a text’s allowed texts that keep the label. A violin is as wide as that PR is frequent among "
    f"the texts (Gaussian kernel, bandwidth {BANDWIDTH:g}, reflected at 0 and 1) and ends at the largest and smallest."
)
_SHORT = f"full: PR > 0.9 · circle: median · kernel bandwidth {BANDWIDTH:g}"


def violin_svg(groups: Sequence[Group], title: str) -> str:
    """The violins of these groups as a picture."""
    drawn = _drawn(groups)
    context = {"v": drawn, "left": LEFT, "title": title, "note": NOTE, "short_note": _SHORT}
    heading = short(visible(title), drawn.width - LEFT)
    return environment().get_template("violin.svg").render(css=asset("violin.css"), heading=heading, **context)


def violin_page(groups: Sequence[Group], title: str) -> str:
    """The violins of these groups as a page, with the numbers as a table."""
    css = asset("page.css")
    context = {"v": _drawn(groups), "left": LEFT, "title": title, "note": NOTE}
    return environment().get_template("violins.html").render(css=css, policy=policy(css, ""), **context)


def write_violins(path: str | Path, groups: Sequence[Group], title: str) -> Path:
    """Write a picture or a page, as the name of the file ends, as a whole or not at all; return its path."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"expected a file that ends in .svg or .html, got {path}; choose another name")
    draw = violin_svg if suffix == ".svg" else violin_page
    return write_whole(path, draw(groups, title))


def _drawn(groups: Sequence[Group]) -> Violins:
    drawn = violins(groups)
    if drawn is None:
        raise InputError("expected at least one value of PR to draw, got none; count the share of some texts first")
    return drawn
