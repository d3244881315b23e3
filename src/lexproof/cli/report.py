"""lexproof report: write report.html of a run again, or print its summary."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from lexproof.auditing.folder import open_run, read_config, read_json
from lexproof.cli.audit import readable, show
from lexproof.cli.options import json_option
from lexproof.cli.streams import emit
from lexproof.cli.word_tables import show_words
from lexproof.errors import InputError
from lexproof.report import write
from lexproof.report.words import write_words


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="HTML file [default: FOLDER/report.html].")
@json_option
def report(folder: Path, out: Path | None, as_json: bool) -> None:
    """Write the report of a run folder again."""
    read_config(folder)
    target = out or folder / "report.html"
    if not target.parent.is_dir():
        raise InputError(f"expected --out in a folder that exists, got {target}; make the folder first")
    summary = read_json(folder / "summary.json")
    is_words = summary.get("answer") == "flip-words"
    if is_words:
        write_words(target, summary)
    else:
        with readable(folder), closing(open_run(folder)) as run:
            write(target, summary, run.records())
    if as_json:
        emit(summary)
    else:
        (show_words if is_words else show)(summary, folder)
