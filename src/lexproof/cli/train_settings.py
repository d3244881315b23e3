"""`--set NAME=VALUE` of `lexproof train`: each value is read as the type of the setting it names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args, get_origin, get_type_hints

from lexproof import registry
from lexproof.errors import InputError, UnknownName, require


def parse_settings(kind: str, given: Sequence[str]) -> dict[str, Any]:
    """The settings of this kind of model by name; InputError for a name or value that it cannot have."""
    pairs = [_split(text) for text in given]
    types = _types(kind) if pairs else {}
    for name, _ in pairs:
        if name not in types:
            raise UnknownName("setting", name, types)
    return {name: _value(name, value, types[name]) for name, value in pairs}


def _split(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(f"expected --set NAME=VALUE, got {text!r}")
    return name, value


def _types(kind: str) -> Mapping[str, Any]:
    """The type of each setting of the model and of its training."""
    require("torch", "torch", "training")
    if kind == "transformer":
        from lexproof.training.transformer import Recipe

        return {"body": str} | get_type_hints(Recipe)
    from lexproof.training.words import WordRecipe

    return get_type_hints(registry.get("victims", kind).settings_type) | get_type_hints(WordRecipe)


def _value(name: str, text: str, wanted: Any) -> Any:
    if wanted is int:
        return _whole(text, f"{name}=NUMBER (a whole number)", text)
    if wanted is float:
        return _number(name, text)
    if wanted is bool:
        return _truth(name, text)
    if get_origin(wanted) is tuple:
        parts = [part for part in text.split(",") if part]
        return tuple(_whole(part, f"{name}=NUMBER,NUMBER,… (whole numbers)", text) for part in parts)
    if get_origin(wanted) is Literal and text not in get_args(wanted):
        raise InputError(f"expected --set {name}={' or '.join(get_args(wanted))}, got {text!r}")
    return text


def _truth(name: str, text: str) -> bool:
    if text not in ("true", "false"):
        raise InputError(f"expected --set {name}=true or false, got {text!r}")
    return text == "true"


def _whole(part: str, expected: str, text: str) -> int:
    try:
        return int(part)
    except ValueError:
        raise InputError(f"expected --set {expected}, got {text!r}") from None


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"expected --set {name}=NUMBER, got {text!r}")
    return value
