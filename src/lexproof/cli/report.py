"""lexproof report: write report.html of a run again, or print its summary."""

from __future__ import annotations

from pathlib import Path

import click

from lexproof.auditing.folder import open_run, read_config, read_json
from lexproof.cli.audit import show
from lexproof.cli.options import emit, json_option
from lexproof.report import write


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="HTML file [default: FOLDER/report.html].")
@json_option
def report(folder: Path, out: Path | None, as_json: bool) -> None:
    """Write the report of a run folder again."""
    read_config(folder)
    summary = read_json(folder / "summary.json")
    run = open_run(folder)
    try:
        write(out or folder / "report.html", summary, run.records())
    finally:
        run.close()
    if as_json:
        emit(summary)
    else:
        show(summary, folder)
