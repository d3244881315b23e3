"""What is attacked: a victim reads texts and returns scores; bound to a space it scores points.

A victim is pure: the same input has the same scores, up to `rounding`.  Scores are probabilities, or anything in which
a larger number means a likelier label, one row an input and one column a class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from lexproof.errors import InputError, ModelError
from lexproof.points import FirstOrder, FloatArray, Gradient, IntArray, Points, Sensitivity, WordGradient, dense
from lexproof.space import Space
from lexproof.text import Input


class Bound:
    """A space compiled for a victim, once, so that scoring a point never parses a text again.

    Guarantee: the scores of a point are those of its text, up to the victim's `rounding`.
    This base class compiles nothing and renders strings; it fits any victim.
    """

    def __init__(self, space: Space) -> None:
        self.space = space

    def rows(self, points: IntArray) -> Sequence[Any]:
        """The victim's own input for each of these dense points."""
        return self.space.render(points)

    def canonical(self, points: Points) -> Points:
        """For each point one that the victim cannot tell from it, the same one for all that it cannot tell apart.

        Words that a model does not know look alike to it: asking once saves queries, and gives equals equal scores
        to the last bit, so that no search depends on how rounding breaks a tie.
        """
        return points


Vectors = NDArray[np.floating]
Job = tuple[Bound, Points]
GradientJob = tuple[Bound, Gradient]


class Victim(ABC):
    """A classifier under test."""

    kind: ClassVar[str]
    labels: tuple[str, ...]
    name: str = ""
    rounding: float = 0.0
    """Bound on how far floating point may move a score margin between two evaluations of the same input."""

    has_gradients: ClassVar[bool] = False

    has_scores: bool = True
    """Whether scores say how sure the victim is; if not, they are 1.0 for the predicted label and 0.0 for others."""

    @abstractmethod
    def scores(self, inputs: Sequence[Input]) -> FloatArray:
        """Scores of texts: (B, classes), finite."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Hash of everything the scores depend on, as far as it can be known; recorded with each run."""

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.labels)

    def predict(self, inputs: Sequence[Input]) -> IntArray:
        """Predicted label of each text: the first largest score."""
        predicted: IntArray = self.scores(inputs).argmax(axis=1).astype(np.int32)
        return predicted

    def try_predict(self, inputs: Sequence[Input]) -> list[int | ModelError]:
        """Predicted label of each text, or the error of one that cannot be answered; raises if all of several fail."""
        try:
            return list(map(int, self.predict(inputs)))
        except ModelError as error:
            if len(inputs) == 1:
                return [error]
        return each_alone(inputs, lambda given: int(self.predict([given])[0]))

    def bind(self, space: Space) -> Bound:
        """Compile a space for this victim."""
        return Bound(space)

    def score(self, jobs: Sequence[Job]) -> list[FloatArray]:
        """Scores of points of many bound spaces, merged into as few model calls as possible."""
        rows: list[Any] = []
        ends = []
        for bound, points in jobs:
            rows.extend(bound.rows(dense(points)))
            ends.append(len(rows))
        return np.split(self.forward(rows), ends[:-1]) if jobs else []

    def forward(self, rows: Sequence[Any]) -> FloatArray:
        """Scores of rows made by `Bound.rows`."""
        return self.scores(rows)

    def sensitivity(self, bound: Bound, request: Sensitivity) -> FloatArray:
        """L1 norm of the gradient of a label's score by each word: (B, n).  Only with `has_gradients`."""
        raise self._without_gradients()

    def first_order(self, bound: Bound, request: FirstOrder) -> FloatArray:
        """First-order change of a label's score by each single swap: (B, S).  Only with `has_gradients`."""
        raise self._without_gradients()

    def word_gradient(self, bound: Bound, request: WordGradient) -> FloatArray:
        """Gradients of a label's score by single words: (B, dim + 2).  Only with `has_gradients`."""
        raise self._without_gradients()

    def word_vectors(self, words: Sequence[str]) -> Vectors:
        """The mean vector of the tokens of each word, as written inside a text: (V, dim).  Only with `has_gradients`.

        They are what `word_gradient` differentiates by; a word without tokens has the vector 0.
        """
        raise self._without_gradients()

    def gradients(self, jobs: Sequence[GradientJob]) -> list[FloatArray]:
        """What each job asks for; victims that can do many at once override it."""
        return [self._gradient(bound, request) for bound, request in jobs]

    def _gradient(self, bound: Bound, request: Gradient) -> FloatArray:
        if isinstance(request, WordGradient):
            return self.word_gradient(bound, request)
        return self.first_order(bound, request) if isinstance(request, FirstOrder) else self.sensitivity(bound, request)

    def _check_label(self, label: int) -> None:
        if not 0 <= label < self.classes:
            raise InputError(f"expected a label from 0 to {self.classes - 1}, got {label}")

    def _without_gradients(self) -> InputError:
        return InputError(f"expected a victim with gradients, got {self.kind!r}; use a method that needs scores only")


_TRIED = 8

Asked = TypeVar("Asked")
Got = TypeVar("Got")


def each_alone(asked: Sequence[Asked], ask: Callable[[Asked], Got]) -> list[Got | ModelError]:
    """What `ask` returns for each, or its ModelError: one bad text must not take the others with it.

    Raises the error if none of at least three could be answered: then the victim itself is broken.  So that a server
    which is down is not asked hundreds of times, the first ones asked lie far apart, and eight failures among them do.
    """
    found: list[Got | ModelError] = [ModelError("not asked")] * len(asked)
    step = max(1, len(asked) // _TRIED)
    failed = 0
    for done, at in enumerate(sorted(range(len(asked)), key=lambda at: at % step), 1):
        try:
            found[at] = ask(asked[at])
        except ModelError as error:
            found[at] = error
            failed += 1
            if failed == done and (failed == _TRIED or failed == len(asked) >= 3):
                raise
    return found


_LABELS = "; if it returns labels, pass scores=False, or --label-only on the command line"


def check_scores(scores: object, rows: int, classes: int | None, source: str) -> FloatArray:
    """The scores as a float64 array, or ModelError if shape or values cannot be used."""
    try:
        array = np.asarray(scores, np.float64)
    except (TypeError, ValueError) as error:
        named = isinstance(scores, Sequence) and all(isinstance(score, str) for score in scores)
        problem = f"expected {source} to return numbers, got {type(scores).__name__}: {error}"
        raise ModelError(problem + _LABELS if named else problem) from error
    wanted = f"({rows}, {'classes' if classes is None else classes})"
    if array.ndim != 2 or len(array) != rows or (classes is not None and array.shape[1] != classes):
        problem = f"expected {source} to return scores of shape {wanted}, got {array.shape}"
        raise ModelError(problem + _LABELS if array.ndim == 1 else problem)
    if array.shape[1] < 2:
        raise ModelError(f"expected {source} to score at least 2 classes, got {array.shape[1]}")
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise ModelError(f"expected {source} to return finite scores, got {array[row].tolist()} for input {row}")
    return array
