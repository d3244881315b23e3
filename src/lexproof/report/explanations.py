"""Explanations as HTML: one in a notebook, or many on a page of their own.  Records in, HTML out.

Guarantee: what is made is complete in itself and fetches nothing; all data is escaped by the template engine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexproof.report.embed import asset, policy
from lexproof.report.evidence import label_name
from lexproof.report.numerals import NOTHING
from lexproof.report.saliency import Line, agreed, both_names, lines, score_shown
from lexproof.report.saliency_table import Column, table
from lexproof.report.templating import environment, write_whole
from lexproof.report.visible import visible

_CORRELATIONS = ("spearman", "kendall")


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One text: what it is read as, a line a method, a table of its words, agreement of each two methods."""

    id: Any
    premise: str | None
    heading: str
    lines: tuple[Line, ...]
    columns: tuple[Column, ...]
    agreement: tuple[str, ...]
    error: str


def fragment(record: Mapping[str, Any]) -> str:
    """One explanation as a piece of HTML with its own style, for a notebook."""
    return environment().get_template("fragment.html").render(css=asset("saliency.css"), card=card(record))


def render_explanations(records: Iterable[Mapping[str, Any]], title: str) -> str:
    """All explanations as a page."""
    records = list(records)
    css = asset("page.css") + asset("saliency.css")
    return (
        environment()
        .get_template("explanations.html")
        .render(
            css=css,
            policy=policy(css, ""),
            title=title,
            cards=[card(record) for record in records],
            agreement=mean_agreement(records),
        )
    )


def write_explanations(path: str | Path, records: Iterable[Mapping[str, Any]], title: str) -> Path:
    """Render into a file, as a whole or not at all, and return its path."""
    return write_whole(path, render_explanations(records, title))


def card(record: Mapping[str, Any]) -> Card:
    """What is shown of a record of `lexproof explain`."""
    failed = record.get("answer") == "error"
    premise = record.get("premise")
    return Card(
        id=record.get("id"),
        premise=None if premise is None else visible(premise),
        heading=visible(record["text"]) if failed else _heading(record),
        lines=() if failed else lines(record["text"], record, record.get("labels") or ()),
        columns=table(record) if not failed and record["words"] else (),
        agreement=() if failed else tuple(map(agreed, record.get("agreement") or ())),
        error=visible(record.get("reason") or "no reason given") if failed else "",
    )


def _heading(record: Mapping[str, Any]) -> str:
    labels: Sequence[str] = record.get("labels") or ()
    label, predicted, scores = record["label"], record["predicted"], record.get("scores") or ()
    shown = f" ({score_shown(scores[label])})" if 0 <= label < len(scores) else ""
    read = "" if predicted == label else f", but read as {label_name(labels, predicted)}"
    return f"{label_name(labels, label)}{shown}{read}"


def mean_agreement(records: Iterable[Mapping[str, Any]]) -> list[tuple[str, int, list[str]]]:
    """For each two methods their names, the number of texts, and means of Spearman, Kendall, top-1 and top-3.

    Records of `lexproof explain`, or explanations out of those of a run; older runs kept no agreement.
    """
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for record in records:
        for own in record.get("agreement") or ():
            found[own["first"], own["second"]].append(own)
    rows = []
    for (first, second), all_ in found.items():
        known = [own for own in all_ if own["spearman"] is not None]
        tops = [[own["overlap"][k] for own in known if own["overlap"].get(k) is not None] for k in ("1", "3")]
        means = [
            *(_mean([own[key] for own in known], "{:+z.2f}") for key in _CORRELATIONS),
            *(_mean(top, "{:.0%}") for top in tops),
        ]
        rows.append((both_names(first, second), len(known), means))
    return rows


def _mean(values: Sequence[float], form: str) -> str:
    return form.format(sum(values) / len(values)) if values else NOTHING
