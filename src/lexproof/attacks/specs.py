"""Attacks from one line of text, as the command line takes them: NAME[?setting=value&...].

    textfooler   textfooler?variant=paper   pdp?beam=20&samples=4   worst?members=best,random

`variant` sets what belongs together; further settings override it.
"""

from __future__ import annotations

import types
import typing
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, Literal
from urllib.parse import unquote

from lexproof import registry
from lexproof.attacks.base import Attack
from lexproof.errors import InputError, UnknownName


@lru_cache(maxsize=64)
def from_spec(spec: str) -> Attack:
    """The attack that a line describes; errors list what exists."""
    name, _, query = spec.partition("?")
    constructor = registry.get("attacks", name)
    given: dict[str, str] = {}
    for pair in filter(None, query.split("&")):
        key, _, value = pair.partition("=")
        if key in given:
            raise InputError(f"expected {key} once, got it twice")
        given[key] = unquote(value)
    variant = given.pop("variant", None)
    known = _settings(constructor)
    settings: dict[str, Any] = {}
    for key, value in given.items():
        if key not in known:
            available = ", ".join(sorted([*known, *(["variant"] if variants(constructor) else [])])) or "none"
            raise InputError(f"unknown setting {key!r} of attack {name!r}; available: {available}")
        settings[key] = _value(key, value, known[key])
    return make(name, variant, **settings)


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


def _settings(constructor: Any) -> dict[str, Any]:
    """The type of each setting that can be written in a line."""
    if not is_dataclass(constructor):
        return {}
    hints = typing.get_type_hints(constructor)
    return {field.name: hints[field.name] for field in fields(constructor) if _writable(hints[field.name])}


def _parts(kind: Any) -> tuple[Any, ...]:
    return typing.get_args(kind) if typing.get_origin(kind) in (typing.Union, types.UnionType) else (kind,)


def _writable(kind: Any) -> bool:
    simple = (bool, int, float, str, type(None), tuple[str, ...])
    return all(part in simple or typing.get_origin(part) is Literal for part in _parts(kind))


def _value(key: str, value: str, kind: Any) -> Any:
    parts = _parts(kind)
    if type(None) in parts and value == "none":
        return None
    (part,) = (part for part in parts if part is not type(None))
    if typing.get_origin(part) is Literal:
        options = typing.get_args(part)
        if value not in options:
            raise InputError(f"expected {key} out of {', '.join(map(str, options))}, got {value!r}")
        return value
    if part is bool:
        if value not in ("0", "1"):
            raise InputError(f"expected {key}=0 or {key}=1, got {value!r}")
        return value == "1"
    if part == tuple[str, ...]:
        return tuple(value.split(","))
    try:
        return part(value)
    except ValueError as error:
        raise InputError(f"expected {key} to be a number, got {value!r}") from error
