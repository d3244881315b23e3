"""Page: the whole report as one HTML file.

Guarantee: the file is complete in itself and its policy forbids it to fetch anything; all data is escaped by the
template engine or written as JSON that cannot leave its element; the same input gives the same page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lexproof.errors import InputError
from lexproof.report import band, dots, glyph, histogram, violin
from lexproof.report.cards import above, cards
from lexproof.report.definitions import further
from lexproof.report.embed import asset, json_block, policy
from lexproof.report.evidence import label_name
from lexproof.report.explanations import mean_agreement
from lexproof.report.facts import bad_rows, byline, candidates, caveats, facts
from lexproof.report.headline import headline, takeaways
from lexproof.report.rows import Row, row
from lexproof.report.saliency import saliency_css
from lexproof.report.status import STATUSES
from lexproof.report.templating import environment, write_whole

SCHEMA = 1
PAGE_SIZE = 25
"""Rows shown at first, and without a script."""

SORTS = (
    ("id", "#", "Number of the text"),
    ("lower", "At least", "Fewer swaps than this are proven not to be enough"),
    ("upper", "At most", "A flip with so many swaps is known"),
    ("share", "Flip share", "Share of the allowed texts that flip the label"),
    ("confidence", "Score", "Score of the predicted label for the original text"),
    ("queries", "Queries", "Distinct texts scored to reach the answer"),
)
"""Sort key, column title and what the column means."""


def render(summary: Mapping[str, Any], records: Iterable[Mapping[str, Any]]) -> str:
    """The report as HTML; InputError if the summary has another schema or a record is not one of a run."""
    if summary.get("schema") != SCHEMA:
        raise InputError(
            f"expected a summary of schema {SCHEMA}, got {summary.get('schema')!r}; write the report with the "
            "version of lexproof that made the run"
        )
    return environment().get_template("page.html").render(_context(summary, list(records)))


def write(path: str | Path, summary: Mapping[str, Any], records: Iterable[Mapping[str, Any]]) -> Path:
    """Render into a file, as a whole or not at all, and return its path."""
    return write_whole(path, render(summary, records))


def _context(summary: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    css, js = asset("page.css") + saliency_css(records), asset("page.js")
    return {
        "css": css,
        "js": js,
        "policy": policy(css, js),
        "title": summary.get("title") or "Lexproof report",
        "finished": summary.get("finished", True),
        "headline": headline(summary),
        "takeaways": takeaways(summary),
        "caveats": caveats(summary),
        "byline": byline(summary),
        "cards": cards(summary),
        "dangerous": list(summary.get("dangerous") or ()),
        "facts": facts(summary),
        "candidates": candidates(summary),
        "command": summary.get("command") or "",
        "bad_rows": bad_rows(summary),
        "definitions": further(summary),
        "explained": any(record.get("explanation") for record in records),
        "agreement": mean_agreement(record.get("explanation") or {} for record in records),
        **_charts(summary, records),
        **_table(records, (summary.get("victim") or {}).get("labels") or ()),
    }


def _charts(summary: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    end = glyph.axis_end(records)
    labels, share = (summary.get("victim") or {}).get("labels") or (), summary.get("share")
    return {
        "band": band.band(summary.get("curve") or ()),
        "histogram": histogram.histogram(records),
        "dots": dots.dots(records),
        "violins": violin.violins(violin.class_groups(records, labels, share), per_row=3),
        "above": above(summary),
        "glyphs": glyph.glyphs(records, end),
        "axis_end": end,
        "frame": {"band": band, "histogram": histogram, "dots": dots, "violin": violin, "glyph": glyph},
    }


def _table(records: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> dict[str, Any]:
    rows = [row(record, labels) for record in records]
    chips = {name: words[0] for name, words in STATUSES.items()}
    titles = {key: title for key, title, _ in SORTS}
    return {
        "rows": rows[:PAGE_SIZE],
        "total": len(rows),
        "page_size": PAGE_SIZE,
        "sorts": SORTS,
        "chips": chips,
        "titles": titles,
        "status_options": _status_options(rows),
        "label_options": _label_options(rows, labels),
        "data": json_block({"rows": [item.to_json() for item in rows], "chips": chips, "titles": titles}),
    }


def _status_options(rows: Sequence[Row]) -> list[tuple[str, str, int]]:
    counts = Counter(item.status for item in rows)
    return [(name, words[1], counts[name]) for name, words in STATUSES.items() if counts[name]]


def _label_options(rows: Sequence[Row], labels: Sequence[str]) -> list[tuple[int, str, int]]:
    counts = Counter(item.label for item in rows if item.label is not None)
    return [(label, label_name(labels, label), counts[label]) for label in sorted(counts)]
