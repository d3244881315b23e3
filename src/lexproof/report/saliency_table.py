"""A table of an explanation: one row a word, one or two columns a method, cells ready to be shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lexproof.report.numerals import NOTHING, at_least, percent
from lexproof.report.saliency import NAMES, change
from lexproof.report.visible import visible


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, and one cell a word."""

    title: str
    cells: tuple[str, ...]
    is_number: bool = True


def table(explanation: Mapping[str, Any]) -> tuple[Column, ...]:
    """The words, and what each method that answered says of them."""
    columns = [Column("word", tuple(map(visible, explanation["words"])), is_number=False)]
    for name, method in explanation["methods"].items():
        if method.get("saliency") is None:
            continue
        if name == "radius":
            columns += _radius(method)
        elif name == "swaps":
            columns += _swaps(method)
        else:
            columns.append(Column(NAMES.get(name, name), tuple(map(change, method["saliency"]))))
    return tuple(columns)


def most_salient(explanation: Mapping[str, Any], limit: int) -> list[int]:
    """At most so many positions, in the order of the text: those that come first for any of the methods."""
    orders = []
    for method in explanation["methods"].values():
        values = method.get("saliency") or ()
        known = [i for i, value in enumerate(values) if value is not None]
        orders.append(sorted(known, key=lambda i: -abs(values[i])))
    n = len(explanation["words"])
    ranked = [order[rank] for rank in range(n) for order in orders if rank < len(order)]
    return sorted(list(dict.fromkeys([*ranked, *range(n)]))[:limit])


def _radius(method: Mapping[str, Any]) -> list[Column]:
    safe = method.get("any_replacement") or ()
    pairs = list(zip(method.get("lower") or (), method.get("diameter") or (), safe, strict=True))
    radii = tuple("all" if is_safe else at_least(lower) for lower, _, is_safe in pairs)
    shares = tuple(percent(1.0 if is_safe else lower / diameter) for lower, diameter, is_safe in pairs)
    return [Column("safe radius", radii), Column("of diameter", shares)]


def _swaps(method: Mapping[str, Any]) -> list[Column]:
    names = method.get("substitute") or [None] * len(method["saliency"])
    flips = method.get("flips") or [None] * len(names)
    shown = tuple(
        NOTHING if name is None else f"{visible(name)} (flips)" if flip else visible(name)
        for name, flip in zip(names, flips, strict=True)
    )
    return [Column("worst swap", shown, is_number=False), Column("drop", tuple(map(change, method["saliency"])))]
