"""What `lexproof words` prints for people: rho, a table of the most dangerous words of each class, parts of speech."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text as Styled

from lexproof.cli.streams import paper
from lexproof.report.numerals import count, plural
from lexproof.report.visible import visible
from lexproof.report.words_numbers import change, estimate, reach
from lexproof.text import Text

_BAR = 10  # characters of a full bar
_AROUND = 5  # words shown on either side of a swap
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
    if any(word["accuracy"] for own in summary["classes"] for word in own["words"]):
        for line in (
            "with it: accuracy on texts with the word → after the word is removed",
            "without it: accuracy on texts without the word → attacked with it",
        ):
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
        f"rho {estimate(rho)} of the pairs of text and word cannot be flipped "
        f"(95% interval {reach(rho)} over the draw of the texts)",
        f"{pairs}, method {summary['method']}",
    ]


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
    has_accuracy = any(word["accuracy"] for word in own["words"])
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("word", "kappa", "", "95%", "part", *(("with it", "without it") if has_accuracy else ())):
        is_fixed = heading not in ("word", "part")
        table.add_column(heading, justify="right" if heading == "kappa" else "left", overflow="fold", no_wrap=is_fixed)
    for word in own["words"]:
        table.add_row(*_row(word))
    console.print(table)
    for word in own["words"]:
        for example in word["examples"][:1]:
            console.print(_example(example, labels), soft_wrap=True)


def _row(word: Record) -> list[Styled]:
    kappa, accuracy = word["kappa"], word["accuracy"]
    cells = [
        Styled(visible(word["word"]), style="bold red"),
        Styled(estimate(kappa)),
        _bar(kappa),
        Styled(reach(kappa).replace("% to ", "–"), style="dim"),
        Styled(word["part_of_speech"]),
    ]
    if accuracy is not None:
        cells.append(Styled(change(accuracy["with_word"], accuracy["removed"])))
        cells.append(Styled(change(accuracy["without_word"], accuracy["attacked"])))
    return cells


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
