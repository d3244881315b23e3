"""BlackBox: any function from texts to scores, or to labels.

A function is all a black box needs.  From the command line it is named `module:function` or `file.py:function`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import json
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from lexproof.errors import InputError, ModelError
from lexproof.points import FloatArray
from lexproof.text import Input
from lexproof.victims.base import Victim, check_scores
from lexproof.victims.labels import scores_of_labels

ScoreFunction = Callable[[list[Any]], Any]
"""Reads a list of strings (or of (premise, hypothesis) tuples); returns scores, one row a text, or one label a text."""


class BlackBox(Victim):
    """A classifier known by its answers alone.

    `fn` is called with at most `batch_size` texts and must return finite scores of shape (texts, classes).  It must be
    pure: the same text has the same scores up to `rounding`, whatever else is in the batch.  What it raises becomes
    a ModelError.

    With `scores=False` the function returns one label a text, as a number from 0 on or as one of `labels`.
    """

    kind: ClassVar[str] = "blackbox"

    def __init__(
        self,
        fn: ScoreFunction,
        labels: Sequence[str],
        *,
        name: str | None = None,
        batch_size: int | None = None,
        rounding: float = 1e-6,
        scores: bool = True,
    ) -> None:
        if len(labels) < 2:
            raise InputError(f"expected at least 2 labels, got {list(labels)}")
        if not scores and len(set(labels)) < len(labels):
            raise InputError(f"expected distinct labels, got {list(labels)}")
        if batch_size is not None and batch_size < 1:
            raise InputError(f"expected batch_size >= 1, got {batch_size}")
        self.fn = fn
        self.labels = tuple(labels)
        self.name = name or _name_of(fn)
        self.batch_size = batch_size
        self.rounding = rounding
        self.has_scores = scores

    def scores(self, inputs: Sequence[Input]) -> FloatArray:
        """Scores of texts: (B, classes); 1.0 for the label of a function that returns labels."""
        size = self.batch_size or max(len(inputs), 1)
        parts = [self._call(list(inputs[at : at + size])) for at in range(0, len(inputs), size)]
        return np.concatenate([np.empty((0, self.classes)), *parts])

    def _call(self, inputs: list[Input]) -> FloatArray:
        try:
            found = self.fn(inputs)
        except Exception as error:  # the function is foreign code and may raise anything
            raise ModelError(f"black box {self.name!r} raised {type(error).__name__}: {error}") from error
        source = f"black box {self.name!r}"
        if not self.has_scores:
            return scores_of_labels(found, len(inputs), self.labels, source)
        return check_scores(found, len(inputs), self.classes, source)

    @property
    def fingerprint(self) -> str:
        """Hash of the labels and, as far as they can be known, the function's name and source."""
        content = [self.kind, self.labels, getattr(self.fn, "__module__", ""), self.name, _source_of(self.fn)]
        content += [] if self.has_scores else ["labels"]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _name_of(fn: object) -> str:
    return str(getattr(fn, "__qualname__", type(fn).__qualname__))


def _source_of(fn: object) -> str:
    try:
        return inspect.getsource(fn if inspect.isroutine(fn) else type(fn))
    except (OSError, TypeError):  # built in, or typed at a prompt
        return ""


def is_function_spec(spec: str) -> bool:
    """Whether a string reads `module:name` or `file.py:name`."""
    where, colon, name = spec.rpartition(":")
    parts = where.split(".")
    return bool(colon) and name.isidentifier() and (where.endswith(".py") or all(part.isidentifier() for part in parts))


def import_function(spec: str) -> Any:
    """What `module:name` or `file.py:name` names, usually a function; ModelError if there is no such thing.

    This runs the user's code, as importing does.
    """
    if not is_function_spec(spec):
        raise ModelError(f"expected 'module:function' or 'file.py:function', got {spec!r}")
    where, _, name = spec.rpartition(":")
    try:
        module = _import_file(Path(where)) if where.endswith(".py") else import_module(where)
    except ModelError:
        raise
    except Exception as error:  # the module is foreign code and may raise anything
        raise ModelError(f"importing {where!r} raised {type(error).__name__}: {error}") from error
    if not hasattr(module, name):
        public = sorted(key for key, value in vars(module).items() if callable(value) and not key.startswith("_"))
        raise ModelError(f"expected {name!r} in {where!r}, got only: {', '.join(public) or 'nothing callable'}")
    return getattr(module, name)


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ModelError(f"expected a Python file at {str(path)!r}, got nothing; check the path")
    # Registered under a name of its own, so that classes it defines can find their module and two files do not clash.
    key = "lexproof_user_" + hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
    spec = importlib.util.spec_from_file_location(key, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[key] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[key]
        raise
    return module
