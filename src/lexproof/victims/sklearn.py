"""Sklearn: a fitted scikit-learn pipeline that reads texts."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any, ClassVar

import numpy as np

from lexproof.errors import ModelError
from lexproof.points import FloatArray
from lexproof.text import Input
from lexproof.victims.base import Victim, check_scores
from lexproof.victims.labels import scores_of_labels


class Sklearn(Victim):
    """A pipeline with `predict_proba`, or else `decision_function`, or else `predict`; labels are its `classes_`.

    A binary decision value d becomes the scores (-d, d).  The predicted label is the largest score; estimators whose
    `predict` does something else (SVC with probability=True) are judged by their scores.  With `scores=False`, or if it
    has nothing else, `predict` is asked and the victim gives labels only.
    """

    kind: ClassVar[str] = "sklearn"

    def __init__(
        self,
        pipeline: Any,
        labels: Sequence[str] | None = None,
        *,
        name: str | None = None,
        rounding: float = 1e-9,
        scores: bool = True,
    ) -> None:
        self.method = _method_of(pipeline, scores)
        self.has_scores = self.method != "predict"
        classes = getattr(pipeline, "classes_", None)
        if classes is None:
            raise ModelError(
                f"expected a fitted pipeline, got {type(pipeline).__name__} without classes_; call fit first"
            )
        if any(np.ndim(value) for value in classes):
            raise ModelError("expected a pipeline with one output, got several; wrap the one to be tested")
        self.labels = tuple(map(str, classes)) if labels is None else tuple(labels)
        if len(self.labels) != len(classes):
            raise ModelError(f"expected {len(classes)} labels, one a class, got {len(self.labels)}")
        self.pipeline = pipeline
        self.name = name or _name_of(pipeline)
        self.rounding = rounding

    def scores(self, inputs: Sequence[Input]) -> FloatArray:
        """Probabilities or decision values of texts, or 1.0 for the predicted label: (B, classes)."""
        if not len(inputs):
            return np.empty((0, self.classes))
        try:
            found = np.asarray(getattr(self.pipeline, self.method)(list(inputs)))
        except Exception as error:  # an estimator is foreign code and may raise anything
            raise ModelError(f"{self.name}.{self.method} raised {type(error).__name__}: {error}") from error
        source = f"{self.name}.{self.method}"
        if not self.has_scores:
            answers = self._numbers(found) if found.ndim == 1 else found
            return scores_of_labels(answers, len(inputs), self.labels, source)
        if found.ndim == 1 and self.classes == 2:
            found = np.stack([-found, found], axis=1)
        return check_scores(found, len(inputs), self.classes, source)

    def _numbers(self, found: Any) -> list[Any]:
        """The place of each predicted class; what is none of them as it is."""
        numbers = {value: number for number, value in enumerate(np.asarray(self.pipeline.classes_).tolist())}
        return [numbers.get(value, repr(value)) for value in found.tolist()]

    @property
    def fingerprint(self) -> str:
        """Hash of the labels and of every array and setting of the steps, as far as they can be seen."""
        digest = hashlib.sha256(json.dumps([self.kind, self.labels, self.method]).encode())
        _Hasher(digest).feed(self.pipeline)
        return digest.hexdigest()[:16]


def _method_of(pipeline: Any, scores: bool) -> str:
    if scores and hasattr(pipeline, "predict_proba"):
        return "predict_proba"
    if not (scores and hasattr(pipeline, "decision_function")):
        if hasattr(pipeline, "predict"):
            return "predict"
        raise ModelError(
            "expected a pipeline with predict_proba, decision_function or predict, "
            f"got {type(pipeline).__name__} with none of them"
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


class _Hasher:
    """Feeds what determines an estimator's answers: its settings, arrays, numbers, strings and containers of these.

    Equal in any process: neither addresses nor the order of sets go in.
    """

    def __init__(self, digest: Any) -> None:
        self._digest = digest
        self._inside: list[int] = []  # ids of the objects that hold the one being fed

    def feed(self, value: Any) -> None:
        """Add a value and all that it holds."""
        self._say(f"{type(value).__module__}.{type(value).__qualname__}")
        if value is None or isinstance(value, str | bytes | int | float | complex | np.generic):
            self._say(repr(value))
        elif id(value) in self._inside:  # an object that holds itself
            self._say(f"up {len(self._inside) - self._inside.index(id(value))}")
        else:
            self._inside.append(id(value))
            self._feed_parts(value)
            self._inside.pop()

    def _say(self, text: str) -> None:
        written = text.encode("utf-8", "surrogatepass")
        self._digest.update(b"%d:" % len(written) + written)

    def _feed_parts(self, value: Any) -> None:
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            self._say(f"{value.dtype.descr} {value.shape}")
            self._digest.update(np.ascontiguousarray(value).tobytes())
        elif type(value) is dict:
            self._feed_all(sorted(value.items(), key=lambda item: repr(item[0])))
        elif isinstance(value, set | frozenset):
            self._feed_all(sorted(value, key=repr))
        elif isinstance(value, np.ndarray):
            self._feed_all(value.tolist())
        elif type(value) in (list, tuple):
            self._feed_all(value)
        elif inspect.isroutine(value) or inspect.isclass(value):
            self._feed_function(value)
        else:
            self._feed_all(_state(value))

    def _feed_all(self, items: Sequence[Any]) -> None:
        self._say(str(len(items)))
        for item in items:
            self.feed(item)

    def _feed_function(self, value: Any) -> None:
        """By its name, and by its code if there is any: a tokenizer, for instance, may be given to a vectorizer."""
        self._say(f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}")
        if not inspect.ismodule(owner := getattr(value, "__self__", None)):
            self.feed(owner)
        if isinstance(code := getattr(value, "__code__", None), CodeType):
            self._feed_code(code)
            self._feed_all([value.__defaults__, value.__kwdefaults__])
            self._feed_all([cell.cell_contents for cell in value.__closure__ or ()])

    def _feed_code(self, code: CodeType) -> None:
        self._feed_all([code.co_code, code.co_names])
        for item in code.co_consts:
            if isinstance(item, CodeType):
                self._feed_code(item)
            else:
                self.feed(item)


def _state(value: Any) -> list[Any]:
    """What an object, be it one without attributes such as a tree, says of itself to be copied."""
    try:
        reduced = value.__reduce_ex__(2)
    except TypeError:  # cannot be copied, like a lock
        return []
    if isinstance(reduced, str):
        return [reduced]
    parts = [list(part) if isinstance(part, Iterator) else part for part in reduced]
    return [_without_addresses(part) if type(part) is dict else part for part in parts]


def _without_addresses(attributes: dict[Any, Any]) -> dict[Any, Any]:
    """Without what scikit-learn remembers by address, such as `_stop_words_id`, and its own version."""
    return {
        name: part
        for name, part in attributes.items()
        if not (str(name).startswith("_") and str(name).endswith("_id")) and name != "_sklearn_version"
    }
