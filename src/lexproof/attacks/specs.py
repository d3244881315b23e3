"""Attacks from one line of text, as the command line takes them: NAME[?setting=value&...].

    textfooler   textfooler?variant=paper   pdp?beam=20&samples=4   worst?members=best,random

`variant` sets what belongs together; further settings override it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from lexproof import registry
from lexproof.attacks.base import Attack
from lexproof.errors import InputError, UnknownName
from lexproof.specs import parse


@lru_cache(maxsize=64)
def from_spec(spec: str) -> Attack:
    """The attack that a line describes; errors list what exists."""
    name, settings = parse(
        spec,
        "attack",
        lambda name: registry.get("attacks", name),
        beside=("variant",),
    )
    return make(name, **settings)


def make(name: str, variant: str | None = None, **settings: Any) -> Attack:
    """The attack of this name in a variant, with further settings of its own."""
    constructor = registry.get("attacks", name)
    chosen = {}
    if variant is not None:
        known = variants(constructor)
        if not known:
            raise InputError(f"expected no variant of attack {name!r}, which has none, got {variant!r}")
        if variant not in known:
            raise UnknownName(f"variant of {name}", variant, known)
        chosen = dict(known[variant])
    attack: Attack = constructor(**{**chosen, **settings})
    return attack


def variants(constructor: Any) -> dict[str, dict[str, Any]]:
    """The variants of an attack by name."""
    return {name: dict(settings) for name, settings in getattr(constructor, "variants", {}).items()}
