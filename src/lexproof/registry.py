"""Names to constructors, resolved lazily so that listing and importing stay cheap; open to plug-ins by entry points.

A plug-in adds names with an entry point in the group `lexproof.attacks` (or another kind) whose value is the
constructor; its docstring's first line becomes the summary.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from lexproof.errors import UnknownName
from lexproof.registered import BUILT_IN, Entry

__all__ = ["KINDS", "Entry", "entries", "get"]


KINDS = tuple(BUILT_IN)


@cache
def entries(kind: str) -> dict[str, Entry]:
    """All entries of a kind by name, plug-ins included."""
    if kind not in BUILT_IN:
        raise UnknownName("kind", kind, BUILT_IN)
    from importlib.metadata import entry_points  # a fifth of the time that importing lexproof takes

    found = {entry.name: entry for entry in BUILT_IN[kind]}
    for point in entry_points(group=f"lexproof.{kind}"):
        found.setdefault(point.name, Entry(point.name, point.value, f"plug-in from {point.value}"))
    return found


def get(kind: str, name: str) -> Any:
    """The constructor registered under a name."""
    known = entries(kind)
    if name not in known:
        raise UnknownName(kind.removesuffix("s"), name, known)
    return known[name].load()
