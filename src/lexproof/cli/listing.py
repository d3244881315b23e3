"""lexproof list: what is registered under which name."""

from __future__ import annotations

from dataclasses import asdict

import click
from rich.table import Table
from rich.text import Text

from lexproof.cli.options import json_option
from lexproof.cli.streams import emit, paper
from lexproof.registry import KINDS, entries


@click.command("list")
@click.argument("kind", type=click.Choice(KINDS))
@json_option
def listing(kind: str, as_json: bool) -> None:
    """List attacks, provers, victims, candidates or defenses."""
    found = entries(kind)
    if as_json:
        for entry in found.values():
            emit({key: value for key, value in asdict(entry).items() if key != "target"})
        return
    table = Table(show_edge=False)
    for heading in ("name", "what it does", "cost", "reference", "extra"):
        table.add_column(heading, overflow="fold")
    for entry in found.values():
        table.add_row(*map(Text, (entry.name, entry.summary, entry.cost, entry.reference, entry.extra)))
    paper().print(table)
