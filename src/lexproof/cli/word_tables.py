"""What `lexproof words` prints for people: rho, a table of the most dangerous words of each class, parts of speech."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text as Styled

from lexproof.cli.share_strips import can_write
from lexproof.cli.streams import paper
from lexproof.report.numerals import count, plural
from lexproof.report.visible import visible
from lexproof.report.words_numbers import change, estimate, reach
from lexproof.text import Text

_BAR = 10  # characters of a full bar
_AROUND = 5  # words shown on either side of a swap
_WIDEST = 10_000  # a table is measured as if there were so much room
_LETTERS = 20  # of a word that are kept together
_FEW = 5  # unknown words that are named

Record = Mapping[str, Any]


def show_words(summary: Record, folder: Path | None) -> None:
    """The answer on standard output."""
    console = paper()
    console.print(Styled(visible(summary["title"]), style="bold"), soft_wrap=True)
    for line in _about(summary):
        console.print(Styled(visible(line)), soft_wrap=True)
    if summary["vocabulary"]["unknown"]:
        console.print(Styled(visible(_unknown(summary["vocabulary"])), style="yellow"), soft_wrap=True)
    for own in summary["classes"]:
        _show_class(console, own, summary["victim"]["labels"])
    for line in _legend([word for own in summary["classes"] for word in own["words"]]):
        console.print(Styled(line, style="dim"), soft_wrap=True)
    parts = summary["vocabulary"]["parts"]
    if parts["n"]:
        counts = ", ".join(f"{part} {count(number)}" for part, number in parts["counts"].items())
        console.print(f"parts of speech of the top {plural(parts['n'], 'word')}: {counts}", soft_wrap=True)
    if folder is not None:
        console.print(f"report: {folder / 'report.html'}", soft_wrap=True)


def _about(summary: Record) -> list[str]:
    """rho, and what it rests on."""
    rho, left_out = summary["rho"], []
    if summary["misclassified"]:
        left_out.append(f"{count(summary['misclassified'])} misclassified")
    if summary["errors"]:
        left_out.append(f"{count(summary['errors'])} unreadable")
    if summary["n"] < summary["correct"]:
        left_out.append(f"{count(summary['correct'] - summary['n'])} not finished")
    texts = plural(summary["n"], "text") + (f" ({', '.join(left_out)} left out)" if left_out else "")
    pairs = f"{plural(summary['vocabulary']['size'], 'word')} x {texts}"
    return [
        f"rho {estimate(rho)} of the pairs of text and word cannot be flipped (95%: {reach(rho)})",
        f"{pairs}, method {summary['method']}",
    ]


def _legend(words: Sequence[Record]) -> list[str]:
    """What the columns of the tables mean."""
    lines = []
    if words:
        lines.append("kappa: texts of the class that the word flips at some position")
    if any(word["accuracy"] for word in words):
        lines.append("with it: accuracy on n texts with the word → after the word is removed")
        lines.append("without it: accuracy on n texts without the word → attacked with it")
    return [*lines, "95%: interval over the draw of the texts"]


def _unknown(vocabulary: Record) -> str:
    unknown: Sequence[str] = vocabulary["unknown"]
    named = ", ".join(unknown[:_FEW]) + (", …" if len(unknown) > _FEW else "")
    are = "is" if len(unknown) == 1 else "are"
    return (
        f"{count(len(unknown))} of {plural(vocabulary['size'], 'word')} {are} unknown to the model, which reads them "
        f"all alike: {named}"
    )


def _show_class(console: Console, own: Record, labels: Sequence[str]) -> None:
    console.print()
    if not own["n"]:
        console.print(Styled(visible(f"{own['name']}: no text is classified correctly"), style="bold"), soft_wrap=True)
        return
    title = f"{own['name']}: {plural(own['n'], 'text')}"
    if not own["words"]:
        console.print(Styled(visible(f"{title}; no word is known to flip one"), style="bold"), soft_wrap=True)
        return
    console.print(Styled(visible(f"{title}; words that flip most of them"), style="bold"), soft_wrap=True)
    console.print(_fitting_table(console, own["words"]))
    for word in own["words"]:
        for example in word["examples"][:1]:
            console.print(_example(example, labels), soft_wrap=True)


def _fitting_table(console: Console, words: Sequence[Record]) -> Table:
    """As many columns as there is room for: the bar is left out first, then parts of speech, then intervals."""
    rows = [_row(word) for word in words]
    dropped = ["", "part", "95%"]
    for number in range(0 if can_write("█░", console.encoding) else 1, len(dropped) + 1):
        table = _table(rows, dropped[:number])
        if console.measure(table, options=console.options.update(width=_WIDEST)).maximum <= console.width:
            break
    return table


def _table(rows: Sequence[Mapping[str, Styled]], left_out: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    headings = [heading for heading in rows[0] if heading not in left_out]
    longest = max(len(row["word"]) for row in rows)
    for heading in headings:
        least = min(longest, _LETTERS) if heading == "word" else None  # it must not give way to the numbers
        justify: Literal["left", "right"] = "right" if heading == "kappa" else "left"
        is_fixed = heading in ("kappa", "", "95%")
        table.add_column(heading, justify=justify, overflow="fold", no_wrap=is_fixed, min_width=least)
    for row in rows:
        table.add_row(*(row[heading] for heading in headings))
    return table


def _row(word: Record) -> dict[str, Styled]:
    """Cells by the headings of their columns; that of the bar is empty."""
    kappa, accuracy = word["kappa"], word["accuracy"]
    cells = {
        "word": Styled(visible(word["word"]), style="bold red"),
        "kappa": Styled(_short(estimate(kappa))),
        "": _bar(kappa),
        "95%": Styled(_short(reach(kappa)), style="dim"),
        "part": Styled(word["part_of_speech"]),
    }
    if accuracy is not None:
        cells["with it (n)"] = _change(accuracy["with_word"], accuracy["removed"])
        cells["without it (n)"] = _change(accuracy["without_word"], accuracy["attacked"])
    return cells


def _change(before: Record, after: Record) -> Styled:
    """Two accuracies, and the number of texts they are taken over."""
    said = Styled(_short(change(before, after)))
    return said.append(f" ({count(before['n'])})", style="dim") if before["n"] else said


def _short(ends: str) -> str:
    return ends.replace("% to ", "–")


def _bar(kappa: Record) -> Styled:
    """Full as far as kappa is known, shaded as far as the interval reaches."""
    known, reached = floor(_BAR * kappa["lower"]), ceil(_BAR * kappa["high"])
    return Styled("█" * known, style="red").append("░" * max(0, reached - known), style="dim red")


def _example(example: Record, labels: Sequence[str]) -> Styled:
    """The flipped text around the swap, the old word and the new one marked."""
    (swap,) = example["changed"]
    text, position = Text.parse(example["text"]), swap["position"]
    first, last = max(0, position - _AROUND), min(len(text), position + _AROUND + 1)
    line = Styled("  ", style="")
    line.append("… " if first else "", style="dim")
    for at in range(first, last):
        if at == position:
            line.append(visible(swap["old"]), style="strike dim").append("→")
            line.append(visible(swap["new"]), style="bold red")
        else:
            line.append(visible(text.words[at]))
        line.append(_gap(text.gaps[at + 1]) if at < last - 1 else "")
    line.append(" …" if last < len(text) else "", style="dim")
    return line.append(f"  reads {visible(labels[example['predicted']])}", style="dim")


def _gap(gap: str) -> str:
    """A gap on one line."""
    return visible(" ".join(gap.split())) if gap.strip() == gap else " " if gap.isspace() else visible(gap)
