"""lexproof audit: the main job.  A bracket for every text, a summary, and a report worth showing."""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from lexproof.auditing import Settings
from lexproof.auditing.folder import open_run
from lexproof.auditing.run import Run, Subject, examine, finish, start
from lexproof.cli.explain import method_names, methods_help
from lexproof.cli.frame import attack_options, budget_options, prover_options, space_options
from lexproof.cli.options import Subject as Asked
from lexproof.cli.options import (
    data_options,
    json_option,
    load_subject,
    model_option,
    progress_bar,
    refuse_arguments,
    seed_option,
    warn_bad_rows,
)
from lexproof.cli.pipe import reader_may_leave
from lexproof.cli.streams import emit, paper, screen
from lexproof.cli.thresholds import missed, parse_thresholds
from lexproof.errors import InputError, RunError
from lexproof.explaining import DEFAULT_METHODS
from lexproof.questions import Minimize

_LONGEST = 30  # swaps shown on the screen; the rest of the curve is in summary.json


@click.command(context_settings={"allow_extra_args": True})
@model_option
@data_options
@space_options
@attack_options(Minimize.default)
@prover_options(20_000, 20_000)
@click.option("--samples", type=click.IntRange(min=0),
              help="Texts drawn for the share that flips, 0 for none [default: 500, or 0 with a floor].")  # fmt: skip
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of the share's interval.")
@budget_options
@click.option("--time-limit", type=click.FloatRange(min=0, min_open=True), default=60.0, show_default=True,
              help="Seconds a text.")  # fmt: skip
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Run folder [default: runs/MODEL-DATA].")
@click.option("--resume", is_flag=True, help="Continue the run in --out; gives the same answers.")
@click.option("--overwrite", is_flag=True, help="Replace the run in --out.")
@click.option("--explain", is_flag=False, flag_value=",".join(DEFAULT_METHODS), metavar="[METHODS]",
              help=f"Also store how much each word matters, and color the report's texts by it. {methods_help} "
                   f"[METHODS: {','.join(DEFAULT_METHODS)}].")  # fmt: skip
@click.option("--fail-under", multiple=True, metavar="[METRIC=]SHARE",
              help="Exit with status 1 if a share is lower: 0.6 (under attack), certified@1=0.4.")  # fmt: skip
@seed_option
@json_option
@click.pass_context
def audit(ctx: click.Context, /, **options: Any) -> int:
    """Bracket the number of word swaps that fools the model, for every text."""
    refuse_arguments(ctx)
    thresholds = parse_thresholds(options["fail_under"])
    if options["resume"] and options["overwrite"]:
        raise InputError("expected --resume or --overwrite, got both; choose one")
    given = load_subject(options)
    settings = _settings(given, options)
    warn_bad_rows(given.data)
    subject = Subject(
        given.victim,
        given.data.texts,
        given.data.labels,
        given.candidates,
        given.data.name,
        tuple((row.line, row.reason) for row in given.data.bad_rows),
        shlex.join(["lexproof", *ctx.obj]),
        given.frame.encoder,
    )
    folder: Path = options["out"] or Path("runs") / f"{_slug(given.victim.name)}-{_slug(given.data.name)}"
    with readable(folder):
        run = start(subject, settings, folder, resume=options["resume"], overwrite=options["overwrite"])
        given.frame.announce()
        summary = _carry_out(run, subject)
        with reader_may_leave():  # the gate stands all the same
            _print(summary, folder, options["as_json"])
    return _gate(summary, thresholds)


def _settings(given: Asked, options: dict[str, Any]) -> Settings:
    names = ("provers", "max_points", "max_nodes", "samples", "confidence", "max_queries", "time_limit", "seed")
    limits = asdict(given.frame.constraints)
    explain = None if options["explain"] is None else method_names(options["explain"])
    return Settings(attack=given.frame.attack, explain=explain, **limits, **{name: options[name] for name in names})


@contextmanager
def readable(folder: Path) -> Iterator[None]:
    """Turn what SQLite says about a damaged file, whenever it comes upon the damage, into one line."""
    try:
        yield
    except sqlite3.Error as error:
        passing = isinstance(error, sqlite3.OperationalError)  # such as a full disk: the run itself is whole
        remedy = "" if passing else "; replace the run with --overwrite"
        raise RunError(f"cannot use {folder / 'run.sqlite'}: {error}{remedy}") from error


def _carry_out(run: Run, subject: Subject) -> dict[str, Any]:
    """Examine and sum up; an interruption sums up what is finished and goes on to end the program."""
    try:
        with progress_bar("audit", len(subject.texts)) as bar:
            examine(run, subject, lambda finished, total, record: bar(finished))
        summary = finish(run, subject)
    except KeyboardInterrupt:
        finish(run, subject)
        screen.print(f"interrupted; continue with --resume --out {run.store.folder}")
        run.store.close()
        raise
    except BaseException:
        run.store.abandon()
        raise
    run.store.close()
    return summary


def _print(summary: dict[str, Any], folder: Path, as_json: bool) -> None:
    if not as_json:
        show(summary, folder)
        return
    with closing(open_run(folder)) as run:
        for record in run.records():
            emit(record)


def show(summary: dict[str, Any], folder: Path | None) -> None:
    """The summary for people, on standard output."""
    console = paper()
    table = Table(title=Text(summary["title"], "table.title"), title_justify="left", show_edge=False)
    for heading in ("swaps", "accuracy under attack", "certified accuracy"):
        table.add_column(heading, justify="right" if heading == "swaps" else "left", no_wrap=True)
    for point in summary["curve"][: _LONGEST + 1]:
        table.add_row(str(point["swaps"]), *(Text(_percent(point[key])) for key in ("attacked", "certified")))
    console.print(table)
    minimum = summary["minimum"]
    for name, value in (
        ("clean accuracy", _percent(summary["clean"])),
        ("accuracy under attack", _percent(summary["aua"])),
        ("attack success", _percent(summary["success"])),
        ("whole space proven", _percent(summary["certified"])),
        ("exact answers", _percent(summary["closed"])),
        ("mean minimum swaps", _mean_minimum(minimum)),
        *_above(summary["share"]),
    ):
        console.print(f"{name:>22}  {value}", soft_wrap=True)
    if summary["errors"]:
        console.print(f"{'texts not answered':>22}  {summary['errors']}")
    for caveat in summary["victim"].get("caveats", ()):
        console.print(Text(f"{'mind':>22}  {caveat}"), soft_wrap=True)
    if folder is not None:
        console.print(f"{'report':>22}  {folder / 'report.html'}", soft_wrap=True)


def _percent(share: dict[str, Any]) -> str:
    if share["value"] is None:
        return "- (no texts)"
    return f"{share['value']:7.1%}  [{share['low']:.1%}, {share['high']:.1%}]  {share['k']} of {share['n']}"


def _above(share: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """How many texts resist random swaps, where shares were counted; runs of old do not know."""
    if share.get("above", {}).get("n"):
        yield f"PR above {share['above']['threshold']:g}", _percent(share["above"])


def _mean_minimum(minimum: dict[str, Any]) -> str:
    if not minimum["n"]:
        return "- (no text broken)"
    low, high = f"{minimum['mean_lower']:.2f}", f"{minimum['mean_upper']:.2f}"
    ends = low if low == high else f"between {low} and {high}"
    return f"{ends} over {minimum['n']} broken texts, {minimum['closed']} of them exact"


def _gate(summary: dict[str, Any], thresholds: list[tuple[str, float]]) -> int:
    failures = missed(summary, thresholds)
    for failure in failures:
        screen.print(failure)
    return 1 if failures else 0


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in Path(name).name).strip("-") or "run"
