"""The page of `lexproof words`: rho, the most dangerous words of each class, what they do to accuracy.

Summary in, HTML out; knows no model.  Guarantee: the page is complete in itself and fetches nothing; all data is
escaped by the template engine; the same summary gives the same page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexproof.errors import InputError
from lexproof.report import words_charts
from lexproof.report.embed import asset, policy
from lexproof.report.evidence import label_name
from lexproof.report.facts import bad_rows
from lexproof.report.numerals import count
from lexproof.report.segments import Segment, segments
from lexproof.report.templating import environment, write_whole
from lexproof.report.words_charts import Mark, mark
from lexproof.report.words_facts import byline, cards, facts, headline, takeaways
from lexproof.report.words_numbers import change, estimate, reach

SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two accuracies on the same texts, before and after."""

    before: Mark | None
    after: Mark | None
    said: str
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A text with the swapped word marked, and what it is then read as."""

    id: Any
    premise: str | None
    segments: tuple[Segment, ...]
    predicted: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One dangerous word."""

    word: str
    part: str
    kappa: Mark | None
    said: str
    basis: str
    with_it: Pair | None
    without_it: Pair | None
    examples: tuple[Example, ...]


def render_words(summary: Mapping[str, Any]) -> str:
    """The page; InputError if the summary is not one of `lexproof words`."""
    if summary.get("answer") != "flip-words" or summary.get("schema") != SCHEMA:
        raise InputError(
            f"expected the summary of a run of `lexproof words` of schema {SCHEMA}, got answer "
            f"{summary.get('answer')!r} of schema {summary.get('schema')!r}"
        )
    return environment().get_template("words.html").render(_context(summary))


def write_words(path: str | Path, summary: Mapping[str, Any]) -> Path:
    """Render into a file, as a whole or not at all, and return its path."""
    return write_whole(path, render_words(summary))


def _context(summary: Mapping[str, Any]) -> dict[str, Any]:
    css = asset("page.css") + asset("words.css")
    labels: Sequence[str] = summary["victim"]["labels"]
    parts = summary["vocabulary"]["parts"]
    return {
        "css": css,
        "policy": policy(css, ""),
        "title": summary["title"],
        "finished": summary["finished"],
        "done": (summary["n"], summary["correct"]),
        "headline": headline(summary),
        "byline": byline(summary),
        "takeaways": takeaways(summary),
        "cards": cards(summary),
        "classes": [
            (label_name(labels, own["label"]), own["n"], [_word(word, labels) for word in own["words"]])
            for own in summary["classes"]
        ],
        "has_accuracy": any(word["accuracy"] for own in summary["classes"] for word in own["words"]),
        "histogram": words_charts.histogram(summary["vocabulary"]["histogram"]),
        "is_exact": summary["vocabulary"]["is_exact"],
        "parts": [(part, count(number)) for part, number in parts["counts"].items()],
        "ranked": parts["n"],
        "frame": words_charts,
        "facts": facts(summary),
        "command": summary.get("command") or "",
        "definitions": summary["definitions"],
        "bad_rows": bad_rows(summary),
    }


def _word(word: Mapping[str, Any], labels: Sequence[str]) -> Word:
    kappa, accuracy = word["kappa"], word["accuracy"]
    return Word(
        word=word["word"],
        part=word["part_of_speech"],
        kappa=mark(kappa),
        said=estimate(kappa),
        basis=f"{reach(kappa)}; all classes {estimate(word['overall'])}",
        with_it=None if accuracy is None else _pair(accuracy["with_word"], accuracy["removed"]),
        without_it=None if accuracy is None else _pair(accuracy["without_word"], accuracy["attacked"]),
        examples=tuple(_example(example, labels) for example in word["examples"]),
    )


def _pair(before: Mapping[str, Any], after: Mapping[str, Any]) -> Pair:
    basis = f"n = {count(before['n'])}" if before["n"] else "no such text"
    if after["n"]:
        basis += f"; then {reach(after)}"
    return Pair(before=mark(before), after=mark(after), said=change(before, after), basis=basis)


def _example(example: Mapping[str, Any], labels: Sequence[str]) -> Example:
    return Example(
        id=example["id"],
        premise=example["premise"],
        segments=segments(example["text"], example["changed"], ()),
        predicted=label_name(labels, example["predicted"]),
    )
