"""lexproof radius: how far the words of a text may move in embedding space before its class changes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from math import inf
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text as Styled

from lexproof.cli.inputs import check_new, new_file, texts_given
from lexproof.cli.options import (
    check_utf8,
    data_options,
    json_option,
    load_texts,
    load_victim,
    model_option,
    progress_bar,
    seed_option,
    warn_bad_rows,
)
from lexproof.cli.streams import emit, paper, screen
from lexproof.errors import InputError
from lexproof.report.numerals import at_least, at_most
from lexproof.report.visible import visible
from lexproof.safe_radius.answer import RadiusBracket
from lexproof.safe_radius.index_sets import check_words, index_sets
from lexproof.safe_radius.question import Asked, radii
from lexproof.safe_radius.settings import UPPERS, Settings, norm_of
from lexproof.text import Input, Text
from lexproof.victims.balls import scale_of
from lexproof.victims.base import Victim

_NAMES = {1.0: "L1", 2.0: "L2", inf: "L∞"}
_DIGITS = 4
_FEW = {"mlp": 16, "cnn": 16}  # index sets that are done in no time, of others none
_COLUMNS = (("word", "left"), ("safe within", "right"), ("", "left"), ("flips at", "right"), ("nearest word", "left"))


@click.command()
@click.argument("texts", nargs=-1)
@model_option
@data_options
@click.option("--words", metavar="N,N,…", help="Words that move together, counted from 0, instead of --sets.")
@click.option(
    "--sets",
    default="each",
    show_default=True,
    help="Index sets of each text: each word, all pairs, or KxCOUNT, COUNT sets of K words (1 to 5) by chance.",
)
@click.option("--norm", default="2", show_default=True, help="Of the distance: 1, 2 or inf.")
@click.option(
    "--upper",
    "uppers",
    multiple=True,
    help=f"Ways to an upper end, out of {', '.join(UPPERS)}; may be given several times [default: descent, words].",
)
@click.option(
    "--neighbors",
    type=click.IntRange(min=1),
    help="Nearest words that may replace a word [default: all for one word of an mlp or cnn, else 1000].",
)
@click.option("--lower-only", is_flag=True, help="Prove the lower ends only, which is quicker.")
@click.option("--tolerance", type=float, default=0.01, show_default=True, help="Of the search for the lower end.")
@click.option("--time-limit", type=click.FloatRange(min=0), help="Seconds a text; what is proven by then is kept.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Also write the JSON lines to this new file."
)
@seed_option
@json_option
def radius(**options: Any) -> None:  # fmt: skip
    """Bracket how far words may move in embedding space: the maximal safe radius."""
    if options["lower_only"] and options["uppers"]:
        raise InputError("got both --lower-only and --upper; leave out one of them")
    settings = Settings(
        norm=norm_of(options["norm"]),
        uppers=() if options["lower_only"] else tuple(options["uppers"]) or ("descent", "words"),
        tolerance=options["tolerance"],
        seed=options["seed"],
        time_limit=options["time_limit"],
        neighbors=options["neighbors"],
    )
    check_new(options["out"])
    check_utf8(options["model"])
    words = None if options["words"] is None else _numbers(options["words"])
    given = texts_given({**options, "label": None})
    victim = load_victim(options["model"], options["labels"], options["label_only"])
    data = load_texts(options, victim.labels) if given is None else given
    warn_bad_rows(data)
    asked = [_asked(text, words, options["sets"], options["seed"]) for text in data.texts]
    failed = [error for error in asked if isinstance(error, InputError)]
    if failed and len(failed) == len(asked):
        raise failed[0] if len(asked) == 1 else InputError(f"none of {len(asked)} texts asked, the first: {failed[0]}")
    _answer(victim, data.texts, asked, settings, options)
    if failed:
        said = visible(f"{len(failed)} of {len(asked)} texts not answered, the first: {failed[0]}")
        screen.print(said, soft_wrap=True, markup=False, highlight=False)


def _answer(
    victim: Victim, texts: Sequence[Input], asked: list[Asked | InputError], settings: Settings, options: dict[str, Any]
) -> None:
    """Write what is found, text by text, as it is finished; a text that could not be asked about keeps its place."""
    scale_of(victim)  # a victim without word vectors is refused before anything is shown
    known = [own for own in asked if isinstance(own, Asked)]
    with ExitStack() as stack:
        write = stack.enter_context(new_file(options["out"]))
        total = sum(len(own.sets) for own in known)
        is_long = total > _FEW.get(victim.kind, 0)
        step = stack.enter_context(progress_bar("radius", total)) if is_long else lambda done: None
        found = radii(victim, known, settings, step)
        for number, own in enumerate(asked):
            brackets = [] if isinstance(own, InputError) else next(found)
            records = [bracket.to_json() for bracket in brackets]
            if isinstance(own, InputError):
                records = [{"text": _surface(texts[number]), "answer": "error", "reason": str(own)}]
            for record in records:
                write({"id": number, **record, "seed": settings.seed})
                if options["as_json"]:
                    emit({"id": number, **record, "seed": settings.seed})
            if not options["as_json"]:
                _show(own, brackets, victim.labels)


def _numbers(given: str) -> list[int]:
    try:
        return [int(part) for part in given.split(",")]
    except ValueError:
        raise InputError(f"expected --words as numbers separated by commas, got {given!r}") from None


def _asked(given: Input, words: list[int] | None, sets: str, seed: int) -> Asked | InputError:
    text = Text.parse(given) if isinstance(given, str) else Text.parse(given[1], premise=given[0])
    try:
        found = index_sets(text, sets, seed) if words is None else [check_words(text, words)]
    except InputError as error:
        return error
    count = f"{len(text)} word{'' if len(text) == 1 else 's'}" if len(text) else "no words"
    return Asked(text, found) if found else InputError(f"expected a text with index sets {sets!r}, got one of {count}")


def _surface(given: Input) -> str:
    return given if isinstance(given, str) else given[1]


def _show(asked: Asked | InputError, brackets: list[RadiusBracket], labels: tuple[str, ...]) -> None:
    """One text for people: a row for each index set, with a bar as long as its words may safely move."""
    console = paper()
    if isinstance(asked, InputError):
        console.print(Styled(visible(f"error: {asked}"), style="red"), soft_wrap=True)
        return
    if asked.text.premise is not None:
        console.print(Styled(visible(asked.text.premise), style="dim"), soft_wrap=True)
    console.print(Styled(visible(str(asked.text))), soft_wrap=True)
    first = brackets[0]
    about = f"  read as {labels[first.predicted]}; {_NAMES[first.norm]} distances of scaled vectors"
    least, most = (f"{end(own.diameter for own in brackets):.{_DIGITS}g}" for end in (min, max))
    spread = least if least == most else f"{least} to {most}"  # words of several tokens, or never read
    console.print(Styled(f"{about}, diameter {spread}", style="dim"), soft_wrap=True)
    table = Table(show_edge=False)
    for name, side in _COLUMNS:
        table.add_column(name, justify="right" if side == "right" else "left", overflow="fold")
    widest = max((own.lower for own in brackets if not own.any_replacement), default=0.0) or 1.0
    for own in brackets:
        table.add_row(*_row(asked.text, own, widest, labels))
    console.print(table)
    for reason in dict.fromkeys(own.reason for own in brackets if own.reason):
        console.print(Styled(f"  {reason}", style="yellow"), soft_wrap=True)


def _row(text: Text, own: RadiusBracket, widest: float, labels: tuple[str, ...]) -> tuple[Styled, ...]:
    words = Styled(visible(" … ".join(text.words[word] for word in own.words)))
    if own.any_replacement:
        return words, Styled("any word", style="green"), Styled(""), Styled(""), Styled("")
    bar = Styled("█" * max(1, round(12 * own.lower / widest)) if own.lower else "", style="cyan")
    upper = Styled("?" if own.upper is None else at_most(own.upper, _DIGITS))
    nearest = Styled("")
    if own.replacement is not None:
        several = len(own.words) > 1  # say which of them
        changed = [f"{change.old} → {change.new}" if several else change.new for change in own.replacement.changed]
        nearest.append(visible(", ".join(changed)), style="bold red")
        nearest.append(f" at {at_most(own.replacement.distance, _DIGITS)}: {labels[own.replacement.predicted]}")
    return words, Styled(at_least(own.lower, _DIGITS)), bar, upper, nearest
