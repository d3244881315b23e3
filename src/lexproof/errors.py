"""The error tree.  Every message reads: what was expected, what was got, what to do.

- LexproofError
    - InputError (ValueError)      a text, label, file, option or answer of a model that cannot be used
        - DataError                a data file or row
        - ModelError               a model folder, or scores of the wrong shape or not finite
        - UnknownName              a name the registry does not hold
        - RunError                 a run folder that belongs to another configuration
    - MissingExtra (ImportError)   an optional package is not installed; the message names the pip command
    - EvidenceError                a method claimed something that its evidence does not bear out: a bug
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType


class LexproofError(Exception):
    """Base of all errors that Lexproof raises on purpose."""


class InputError(LexproofError, ValueError):
    """Something the caller gave cannot be used."""


class DataError(InputError):
    """A data file, column or row cannot be used."""


class ModelError(InputError):
    """A model folder cannot be loaded, or a model answered with scores that cannot be used."""


class RunError(InputError):
    """A run folder cannot be used as asked."""


class UnknownName(InputError):
    """A name that the registry does not hold; the message lists what it does hold."""

    def __init__(self, kind: str, name: str, available: Iterable[str]) -> None:
        names = sorted(available)
        close = get_close_matches(name, names, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        super().__init__(f"unknown {kind} {name!r}; {hint}available: {', '.join(names)}")


class MissingExtra(LexproofError, ImportError):
    """An optional package is needed and not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {package!r}, which is not installed; run: pip install 'lexproof[{extra}]'")


class NoRule(LexproofError):
    """A bound has no rule for an operation, or for a substitute; another method may still answer."""


class EvidenceError(LexproofError):
    """A method's evidence does not bear out its claim.  This is always a bug: please report it."""


def check_whole(at_least: int = 1, /, **numbers: object) -> None:
    """InputError unless these are whole numbers, as Python and so JSON has them, that are large enough."""
    for name, number in numbers.items():
        if type(number) is not int or number < at_least:
            raise InputError(f"expected {name} to be a whole number of at least {at_least}, got {number!r}")


def require(package: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional package, or raise MissingExtra with the pip command that brings it."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.split(".")[0] != package.split(".")[0]:
            raise
        raise MissingExtra(package, extra, purpose) from error
