"""What a method of explanation is told about one text, and how it tells how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lexproof.points import FloatArray, Points
from lexproof.space import Space
from lexproof.victims.base import Victim

Progress = Callable[[float], None]
"""Called with the share of the work that is done, at most 1."""


def untold(share: float) -> None:
    """Nobody asks how far the work is."""


_TOGETHER = 1024  # points scored at once, so that the progress of many can be told


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A text within the space of its substitutes, the label to explain, and the scores of the text as it is.

    A method that takes long tells by `tell` what share of its work is done.
    """

    victim: Victim
    space: Space
    label: int
    scores: FloatArray  # (classes,)
    norm: float
    seed: int
    samples: int
    time_limit: float | None
    tell: Progress

    @property
    def score(self) -> float:
        """The label's score for the text as it is."""
        return float(self.scores[self.label])

    def scored(self, points: Points) -> FloatArray:
        """Scores of points or probes of the text: (B, classes)."""
        if not len(points):
            return np.empty((0, self.victim.classes))
        bound, found = self.victim.bind(self.space), []
        for start in range(0, len(points), _TOGETHER):
            found.append(self.victim.score([(bound, points[start : start + _TOGETHER])])[0])
            self.tell(min(1.0, (start + _TOGETHER) / len(points)))
        return np.concatenate(found)
