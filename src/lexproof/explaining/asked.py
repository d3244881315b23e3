"""What a method of explanation is told about one text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lexproof.points import FloatArray, Points
from lexproof.space import Space
from lexproof.victims.base import Victim


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A text within the space of its substitutes, the label to explain, and the scores of the text as it is."""

    victim: Victim
    space: Space
    label: int
    scores: FloatArray  # (classes,)
    norm: float
    seed: int
    samples: int
    time_limit: float | None

    @property
    def score(self) -> float:
        """The label's score for the text as it is."""
        return float(self.scores[self.label])

    def scored(self, points: Points) -> FloatArray:
        """Scores of points or probes of the text: (B, classes)."""
        if not len(points):
            return np.empty((0, self.victim.classes))
        return self.victim.score([(self.victim.bind(self.space), points)])[0]
