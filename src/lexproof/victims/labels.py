"""Victims that give labels only: a predicted label becomes a row of scores, 1.0 for it and 0.0 for the others.

So everything that reads scores works: a flip, a proof by enumeration and a count need no more than the label.  What is
guided by scores does not, and is refused (`Victim.has_scores`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from lexproof.errors import ModelError
from lexproof.points import FloatArray
from lexproof.space import Space
from lexproof.text import Input
from lexproof.victims.base import Bound, Job, Victim


class LabelOnly(Victim):
    """Any victim with its scores hidden, as seen by somebody who is told the predicted label and nothing else.

    Where other labels come within `rounding` of the best one, the evaluation decides which is predicted: all of them
    have 1.0, a tie, so that nothing is claimed that another evaluation would deny.
    """

    kind: ClassVar[str] = "label-only"
    has_scores = False
    rounding = 0.5  # scores are 0 or 1, and a margin is 1, 0 or -1

    def __init__(self, victim: Victim) -> None:
        self.victim = victim
        self.labels = victim.labels
        self.name = victim.name

    def scores(self, inputs: Sequence[Input]) -> FloatArray:
        """1.0 for the predicted label: (B, classes)."""
        return self._hidden(self.victim.scores(inputs))

    def bind(self, space: Space) -> Bound:
        """As the victim does."""
        return self.victim.bind(space)

    def score(self, jobs: Sequence[Job]) -> list[FloatArray]:
        """As the victim does, with the scores hidden."""
        return [self._hidden(scores) for scores in self.victim.score(jobs)]

    def _hidden(self, scores: FloatArray) -> FloatArray:
        best = scores.max(axis=1, keepdims=True, initial=-np.inf)
        return np.asarray(scores >= best - self.victim.rounding, np.float64)

    @property
    def training(self) -> dict[str, Any]:
        """What the victim's training recorded."""
        return dict(getattr(self.victim, "training", {}))

    @property
    def caveats(self) -> tuple[str, ...]:
        """What a report must say of the victim."""
        return tuple(getattr(self.victim, "caveats", ()))

    @property
    def fingerprint(self) -> str:
        """Hash of the victim and of what is hidden."""
        return hashlib.sha256(json.dumps([self.kind, self.victim.fingerprint]).encode()).hexdigest()[:16]


def scores_of_labels(found: Any, rows: int, labels: Sequence[str], source: str) -> FloatArray:
    """1.0 for each predicted label, given by number or by name: (rows, labels); ModelError if one cannot be used."""
    answers = found.tolist() if isinstance(found, np.ndarray) else found
    if not isinstance(answers, Sequence) or isinstance(answers, str) or len(answers) != rows:
        got = f"{len(answers)} answers" if isinstance(answers, Sequence) else type(found).__name__
        raise ModelError(f"expected {source} to return {rows} labels, one a text, got {got}")
    numbers = {label: number for number, label in enumerate(labels)}
    scores = np.zeros((rows, len(labels)))
    for row, answer in enumerate(answers):
        scores[row, _number(answer, row, numbers, source)] = 1.0
    return scores


def _number(answer: Any, row: int, numbers: dict[str, int], source: str) -> int:
    if isinstance(answer, str) and answer in numbers:
        return numbers[answer]
    if isinstance(answer, int | np.integer) and 0 <= answer < len(numbers):
        return int(answer)
    if isinstance(answer, Sequence | np.ndarray) and not isinstance(answer, str):
        raise ModelError(
            f"expected {source} to return one label a text, got {answer} for input {row}; if it returns "
            "scores, do not call it label-only"
        )
    names = ", ".join(numbers)
    raise ModelError(
        f"expected {source} to return labels from 0 to {len(numbers) - 1} or their names ({names}), "
        f"got {answer!r} for input {row}"
    )
