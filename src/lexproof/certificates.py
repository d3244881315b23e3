"""Certificates as files: one self-contained JSON object, from which `lexproof check` verifies a proof anew.

It holds the text, every substitute, the claim, and the steps of the proof; with the model nothing else is needed.
Reading trusts nothing: types, ranges and the fingerprint of the space are checked before anything is computed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from lexproof.answers import Answer, Certificate, Step
from lexproof.errors import InputError
from lexproof.space import Space
from lexproof.text import Text

FORMAT = "lexproof-certificate"
VERSION = 1

METHODS = ("enumeration", "interval", "linear", "branch-and-bound", "milp")

_KEYS = frozenset(
    ("format", "version", "text", "choices", "max_swaps", "label", "target", "radius", "rounding", "victim", "space")
) | {"steps"}


@dataclass(frozen=True, slots=True)
class Stated:
    """A certificate that was read, with the space it is about.  That it is well formed does not make it true."""

    space: Space
    certificate: Certificate


def export_certificate(answer: Answer, space: Space) -> dict[str, Any]:
    """The certificate of an answer about a space as a plain JSON object that needs neither of them."""
    certificate: Certificate | None = getattr(answer, "certificate", None)
    if certificate is None:
        raise InputError(f"expected an answer with a certificate, got {answer.kind!r}; prove or minimize may give one")
    if space.predicate is not None:
        raise InputError(
            "expected a space that its substitutes define, got one with a condition on whole texts, which a "
            "certificate cannot hold; leave out the similarity floor"
        )
    if certificate.space != space.fingerprint:
        raise InputError(f"expected the space {certificate.space} of the certificate, got {space.fingerprint}")
    text = space.original
    return {
        "format": FORMAT,
        "version": VERSION,
        "text": {"words": list(text.words), "gaps": list(text.gaps), "premise": text.premise},
        "choices": [list(options) for options in space.choices],
        "max_swaps": space.max_swaps,
        "label": certificate.label,
        "target": certificate.target,
        "radius": certificate.radius,
        "rounding": certificate.rounding,
        "victim": certificate.victim,
        "space": certificate.space,
        "steps": [asdict(step) for step in certificate.steps],
    }


def read_certificate(record: Any) -> Stated:
    """What a JSON object states; InputError says what is wrong with it."""
    record = _object(record, "a certificate", _KEYS)
    if record["format"] != FORMAT or record["version"] != VERSION or type(record["version"]) is not int:
        found = f"{record['format']!r:.60} version {record['version']!r:.20}"
        raise InputError(f"expected format {FORMAT!r} version {VERSION}, got {found}")
    space = _space(record)
    if _string(record["space"], "space") != space.fingerprint:
        raise InputError(f"expected a text and substitutes with fingerprint {record['space']}, got {space.fingerprint}")
    target = record["target"]
    certificate = Certificate(
        label=whole(record["label"], "label"),
        target=None if target is None else whole(target, "target"),
        radius=whole(record["radius"], "radius", most=space.max_swaps),
        rounding=number(record["rounding"], "rounding"),
        victim=_string(record["victim"], "victim"),
        space=space.fingerprint,
        steps=tuple(map(_step, _array(record["steps"], "steps"))),
    )
    if certificate.rounding < 0:
        raise InputError(f"expected rounding of at least 0, got {certificate.rounding}")
    _check_cover(certificate)
    return Stated(space, certificate)


def _space(record: Mapping[str, Any]) -> Space:
    given = _object(record["text"], "text", {"words", "gaps", "premise"})
    premise = given["premise"]
    text = Text(
        _strings(given["words"], "words"),
        _strings(given["gaps"], "gaps"),
        None if premise is None else _string(premise, "premise"),
    )
    choices = [_strings(options, "choices") for options in _array(record["choices"], "choices")]
    return Space(text, choices, whole(record["max_swaps"], "max_swaps", most=len(text)))


def _step(record: Any) -> Step:
    record = _object(record, "a step", {"method", "first", "last", "margin", "points", "detail"})
    if record["method"] not in METHODS:
        raise InputError(f"expected a method out of {', '.join(METHODS)}, got {record['method']!r:.60}")
    return Step(
        method=record["method"],
        first=whole(record["first"], "first"),
        last=whole(record["last"], "last"),
        margin=number(record["margin"], "margin"),
        points=whole(record["points"], "points"),
        detail=_object(record["detail"], "detail", frozenset()),
    )


def _check_cover(certificate: Certificate) -> None:
    """Steps must follow each other from 0 swaps to the radius."""
    due = 0
    for step in certificate.steps:
        if step.first != due or step.last < step.first:
            raise InputError(f"expected a step from {due} swaps on, got one from {step.first} to {step.last}")
        due = step.last + 1
    if due != certificate.radius + 1:
        raise InputError(f"expected steps up to {certificate.radius} swaps, got steps up to {due - 1}")


# ---------------------------------------------------------------------- values of the expected kind


def whole(value: Any, name: str, most: int | None = None) -> int:
    """A whole number from 0 to `most`."""
    if type(value) is not int or value < 0 or (most is not None and value > most):
        limit = "of at least 0" if most is None else f"from 0 to {most}"
        raise InputError(f"expected {name} to be a whole number {limit}, got {_shown(value)}")
    return value


def number(value: Any, name: str) -> float:
    """A finite number."""
    if type(value) in (int, float) and abs(value) < 1e300 and math.isfinite(value):
        return float(value)
    raise InputError(f"expected {name} to be a finite number, got {_shown(value)}")


def _shown(value: Any) -> str:
    if type(value) is int and abs(value) > 10**18:
        return "a number of many digits"
    return f"{value!r:.60}" if type(value) in (int, float, bool, str, type(None)) else f"a {type(value).__name__}"


def _string(value: Any, name: str) -> str:
    if type(value) is not str:
        raise InputError(f"expected {name} to be a string, got {_shown(value)}")
    return value


def _array(value: Any, name: str) -> list[Any]:
    if type(value) is not list:
        raise InputError(f"expected {name} to be an array, got {_shown(value)}")
    return value


def _strings(value: Any, name: str) -> tuple[str, ...]:
    return tuple(_string(each, f"each of {name}") for each in _array(value, name))


def _object(value: Any, name: str, keys: frozenset[str] | set[str]) -> dict[str, Any]:
    if type(value) is not dict:
        raise InputError(f"expected {name} to be a JSON object, got {_shown(value)}")
    if missing := sorted(keys - value.keys()):
        raise InputError(f"expected {name} with {', '.join(sorted(keys))}, missing {', '.join(missing)}")
    return value
