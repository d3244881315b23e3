"""Runs a search by hand: what it asks as texts, scored by a formula that fits on a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from lexproof.attacks.base import Attack
from lexproof.goal import Goal
from lexproof.points import FloatArray, Fresh, IntArray, Sensitivity, dense
from lexproof.search import Seed
from lexproof.space import Space

POSITIVE = Goal(1)
Scorer = Callable[[str], Sequence[float]]


@dataclass
class Hunted:
    """The claimed text, and the texts of each request."""

    found: str | None
    point: IntArray | None
    asked: list[list[str]] = field(default_factory=list)

    @property
    def steps(self) -> list[list[str]]:
        """What was asked after the text itself and the ranking."""
        return self.asked[2:]


def adding(weights: Mapping[str, float]) -> Scorer:
    """Binary scores: the sum of word weights, squashed; words not named weigh nothing."""

    def score(text: str) -> Sequence[float]:
        positive = 1 / (1 + np.exp(-sum(weights.get(word, 0.0) for word in text.split())))
        return [1 - positive, positive]

    return score


def listed(scores: Mapping[str, Sequence[float]]) -> Scorer:
    """The scores written down for each text; a text that is not listed must not be asked for."""
    return scores.__getitem__


def hunt(
    attack: Attack, space: Space, score: Scorer, goal: Goal = POSITIVE, gradient: Sequence[float] | None = None
) -> Hunted:
    """Drive the attack to its end."""
    search = attack(space, goal, Seed(0))
    hunted = Hunted(None, None)
    classes = len(score(str(space.original)))
    answer: FloatArray | None = None
    try:
        while True:
            request = next(search) if answer is None else search.send(answer)
            if isinstance(request, Sensitivity):
                assert request.label == (goal.label if goal.target is None else goal.target)
                answer = np.array([gradient], float)
                continue
            points = dense(request.points if isinstance(request, Fresh) else request)  # type: ignore[arg-type]
            texts = [" ".join(space.text(point).split()) for point in points]  # deleting words may leave spaces
            hunted.asked.append(texts)
            answer = np.array([score(text) for text in texts], float).reshape(len(texts), classes)
    except StopIteration as end:
        hunted.point = end.value
    if hunted.point is not None:
        hunted.found = space.text(hunted.point)
    return hunted
