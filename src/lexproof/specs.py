"""Methods from one line of text, as the command line takes them: NAME[?setting=value&...].

Settings are the fields of the method's dataclass that have a simple type; their values are read as that type.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Literal
from urllib.parse import unquote

from lexproof.errors import InputError


def parse(
    spec: str, what: str, constructor_of: Callable[[str], Any], *, beside: Sequence[str] = ()
) -> tuple[str, dict[str, Any]]:
    """The name in a line and its settings; InputError lists what exists.

    `beside` are names that the caller understands beside the fields, as strings.
    """
    name, _, query = spec.partition("?")
    constructor = constructor_of(name)
    known = settings_of(constructor)
    settings: dict[str, Any] = {}
    for pair in filter(None, query.split("&")):
        key, _, value = pair.partition("=")
        if key in settings:
            raise InputError(f"expected {key} once, got it twice")
        if key in beside:
            settings[key] = unquote(value)
        elif key in known:
            settings[key] = _value(key, unquote(value), known[key])
        else:
            available = ", ".join(sorted([*known, *beside])) or "none"
            raise InputError(f"unknown setting {key!r} of {what} {name!r}; available: {available}")
    return name, settings


def settings_of(constructor: Any) -> dict[str, Any]:
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
    options = [part for part in parts if part is not type(None)]
    if options == [int, float]:  # a number of things, or a share of them
        options = [float if "." in value else int]
    (part,) = options
    if typing.get_origin(part) is Literal:
        named = typing.get_args(part)
        if value not in named:
            raise InputError(f"expected {key} out of {', '.join(map(str, named))}, got {value!r}")
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
