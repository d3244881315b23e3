"""Sklearn: a fitted scikit-learn pipeline that reads texts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from lexproof.errors import ModelError
from lexproof.points import FloatArray
from lexproof.text import Input
from lexproof.victims.base import Victim, check_scores


class Sklearn(Victim):
    """A pipeline with `predict_proba`, or else `decision_function`; labels are its `classes_`.

    A binary decision value d becomes the scores (-d, d).  The predicted label is the largest score; estimators whose
    `predict` does something else (SVC with probability=True) are judged by their scores.
    """

    kind: ClassVar[str] = "sklearn"

    def __init__(
        self, pipeline: Any, labels: Sequence[str] | None = None, *, name: str | None = None, rounding: float = 1e-9
    ) -> None:
        self.method = _method_of(pipeline)
        classes = getattr(pipeline, "classes_", None)
        if classes is None:
            raise ModelError(
                f"expected a fitted pipeline, got {type(pipeline).__name__} without classes_; call fit first"
            )
        self.labels = tuple(map(str, classes)) if labels is None else tuple(labels)
        if len(self.labels) != len(classes):
            raise ModelError(f"expected {len(classes)} labels, one a class, got {len(self.labels)}")
        self.pipeline = pipeline
        self.name = name or _name_of(pipeline)
        self.rounding = rounding

    def scores(self, inputs: Sequence[Input]) -> FloatArray:
        """Probabilities or decision values of texts: (B, classes)."""
        if not len(inputs):
            return np.empty((0, self.classes))
        try:
            found = np.asarray(getattr(self.pipeline, self.method)(list(inputs)))
        except Exception as error:  # an estimator is foreign code and may raise anything
            raise ModelError(f"{self.name}.{self.method} raised {type(error).__name__}: {error}") from error
        if found.ndim == 1 and self.classes == 2:
            found = np.stack([-found, found], axis=1)
        return check_scores(found, len(inputs), self.classes, f"{self.name}.{self.method}")

    @property
    def fingerprint(self) -> str:
        """Hash of the labels and of every array and setting of the steps, as far as they can be seen."""
        digest = hashlib.sha256(json.dumps([self.kind, self.labels, self.method]).encode())
        _hash_into(digest, self.pipeline, depth=0)
        return digest.hexdigest()[:16]


def _method_of(pipeline: Any) -> str:
    if hasattr(pipeline, "predict_proba"):
        return "predict_proba"
    if not hasattr(pipeline, "decision_function"):
        raise ModelError(
            f"expected a pipeline with predict_proba or decision_function, got {type(pipeline).__name__} with neither"
        )
    if getattr(_last(pipeline), "decision_function_shape", "ovr") == "ovo":
        raise ModelError("expected one decision value a class, got decision_function_shape='ovo'; use 'ovr'")
    return "decision_function"


def _last(pipeline: Any) -> Any:
    steps = getattr(pipeline, "steps", None)
    return steps[-1][1] if steps else pipeline


def _name_of(pipeline: Any) -> str:
    steps = getattr(pipeline, "steps", None)
    return "+".join(type(step).__name__ for _, step in steps) if steps else type(pipeline).__name__


def _hash_into(digest: Any, value: Any, depth: int) -> None:
    """Feed what determines an estimator's answers: its arrays, numbers, strings and containers of these."""
    if depth > 6:
        return
    digest.update(type(value).__name__.encode())
    if isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, str | int | float | bool | None):
        digest.update(repr(value).encode())
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            digest.update(str(key).encode())
            _hash_into(digest, value[key], depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            _hash_into(digest, item, depth + 1)
    elif hasattr(value, "__dict__"):
        _hash_into(digest, vars(value), depth + 1)
