"""An explanation on a terminal: the text in color, one line a method, then a table of its words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.style import Style
from rich.table import Table
from rich.text import Text as Styled

from lexproof.cli.streams import paper
from lexproof.report.evidence import label_name
from lexproof.report.saliency import LEVELS, Line, Piece, agreed, lines, score_shown
from lexproof.report.saliency_table import most_salient, table
from lexproof.report.visible import visible

_MOST_ROWS = 25  # words in the table; --json has them all
# the ends of the two scales, from the page's colors; black letters can be read on all of them
_ENDS = {"p": (240, 150, 84), "n": (176, 148, 214)}
_PALE = {"p": (253, 243, 234), "n": (245, 241, 250)}


def print_explanation(record: Mapping[str, Any]) -> None:
    """One explanation for people, on standard output."""
    console = paper()
    if record["answer"] == "error":
        console.print(Styled(f"error: {record['reason']}", style="red"), soft_wrap=True)
        return
    if record["premise"] is not None:
        console.print(Styled(f"premise: {visible(record['premise'])}", style="dim"), soft_wrap=True)
    for line in lines(record["text"], record, record["labels"]):
        is_missing = record["methods"][line.method]["saliency"] is None
        console.print(Styled("(left out)", "dim") if is_missing else _colored(line), soft_wrap=True)
        console.print(Styled(f"  {line.name}: {line.legend}", style="dim"), soft_wrap=True)
    console.print(_heading(record), soft_wrap=True)
    if record["words"]:
        console.print(_table(record))
    for own in record["agreement"]:
        if own["spearman"] is not None:
            console.print(Styled(f"  {agreed(own)}"), soft_wrap=True)
    console.print()


def _heading(record: Mapping[str, Any]) -> Styled:
    labels, label = record["labels"], record["label"]
    said = f"{label_name(labels, label)}: score {score_shown(record['scores'][label])}"
    if record["predicted"] != label:
        said += f", but read as {label_name(labels, record['predicted'])}"
    return Styled(f"  {said}", style="bold")


def _colored(line: Line) -> Styled:
    """The text, each word on its color."""
    made = Styled()
    for piece in line.pieces:
        made.append(piece.text, style=_style(piece))
    return made


def _style(piece: Piece) -> Style:
    kind = piece.kind.removeprefix("lex-")
    if kind == "none":
        return Style(dim=True)
    if kind == "safe":
        return Style(underline=True)
    level = int(kind[1:] or 0) if kind else 0
    if not level:
        return Style()
    share = (level - 1) / (LEVELS - 1)
    mixed = [round(a + (b - a) * share) for a, b in zip(_PALE[kind[0]], _ENDS[kind[0]], strict=True)]
    return Style.parse(f"black on rgb({mixed[0]},{mixed[1]},{mixed[2]})")


def _table(record: Mapping[str, Any]) -> Table:
    """The words that matter most, in the order of the text."""
    columns, rows = table(record), most_salient(record, _MOST_ROWS)
    more = len(record["words"]) - len(rows)
    made = Table(show_edge=False, caption=Styled(f"{more} more words; --json has them all") if more else None)
    for column in columns:
        made.add_column(column.title, justify="right" if column.is_number else "left", overflow="fold")
    for i in rows:
        made.add_row(*(Styled(column.cells[i]) for column in columns))
    return made
