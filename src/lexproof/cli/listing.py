"""lexproof list: what is registered under which name."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from lexproof.attacks.specs import variants
from lexproof.cli.options import json_option
from lexproof.cli.streams import emit, paper
from lexproof.errors import MissingExtra
from lexproof.recipes import TABLE
from lexproof.registry import KINDS, Entry, entries

_WIDE, _NARROW = 100, 12  # on a terminal with fewer columns than the one, short facts get at most the other


@click.command("list")
@click.argument("kind", type=click.Choice(KINDS))
@json_option
def listing(kind: str, as_json: bool) -> None:
    """List attacks, provers, victims, candidates or defenses."""
    rows = [{**_said(entry), **(_about_attack(entry) if kind == "attacks" else {})} for entry in entries(kind).values()]
    if as_json:
        for row in rows:
            emit(row)
        return
    table = Table(show_edge=False)
    third = {"attacks": "needs", "defenses": "family"}.get(kind, "extra")
    columns = ("name", "summary", third, "cost")
    for name in columns:
        narrow = _NARROW if name in columns[2:] and paper().width < _WIDE else None
        title = "what it does" if name == "summary" else name
        table.add_column(title, overflow="fold", no_wrap=name == "name", max_width=narrow)
    for row in rows:
        about = Text(row["summary"]).append(f"\n{row['reference']}" if row["reference"] else "", style="dim")
        table.add_row(Text(row["name"]), about, *(Text(_shown(row[name])) for name in columns[2:]))
    paper().print(table)


def _said(entry: Entry) -> dict[str, Any]:
    return {key: value for key, value in asdict(entry).items() if key != "target"}


def _about_attack(entry: Entry) -> dict[str, Any]:
    """What an attack needs of the victim and of its candidates, and the variants it comes in."""
    try:
        constructor = entry.load()
        attack = constructor()
    except (MissingExtra, TypeError):  # a plug-in without its package, or whose settings have no defaults
        return {"needs": [], "variants": []}
    rows = TABLE.get(entry.name, {})
    needs = {
        "gradients": getattr(attack, "needs_gradients", False),
        "scores": getattr(attack, "needs_scores", True),
        "masked LM in recipes": any(row.candidates.startswith("masked-lm") for row in rows.values()),
    }
    return {"needs": [name for name, is_needed in needs.items() if is_needed], "variants": list(variants(constructor))}


def _shown(value: str | list[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value)
