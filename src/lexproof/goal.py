"""Goal: what counts as fooling the classifier, stated once for attacks, provers and counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lexproof.errors import InputError
from lexproof.points import BoolArray, FloatArray

_LOST = 52 - 15  # the leading digit is not written, so 15 of the 52 written ones make 16
_HALF, _KEPT = np.int64(1 << (_LOST - 1)), np.int64(-(1 << _LOST))


@dataclass(frozen=True, slots=True)
class Goal:
    """Flip the prediction away from `label`, or exactly to `target` if one is given.

    `slack` is the victim's rounding: a search counts as a flip only what floating point cannot undo.
    """

    label: int
    target: int | None = None
    slack: float = 0.0

    @property
    def strict(self) -> Goal:
        """The goal without slack, as the victim decides it on the text itself."""
        return Goal(self.label, self.target)

    def check(self, classes: int) -> None:
        """Raise InputError unless both labels are among the classes."""
        for name, value in (("label", self.label), ("target", self.target)):
            if value is not None and not 0 <= value < classes:
                raise InputError(f"expected a {name} from 0 to {classes - 1}, got {value}")
        if self.target == self.label:
            raise InputError(f"expected a target other than the label, got {self.target} for both")

    def reached(self, scores: FloatArray) -> BoolArray:
        """Which rows are flips by more than the slack, ties decided as the victim does (first largest score)."""
        predicted = scores.argmax(axis=1)
        reached: BoolArray = predicted != self.label if self.target is None else predicted == self.target
        if self.slack and np.count_nonzero(reached):  # a margin below 0 implies the prediction: no flip is missed
            reached = self.margin(scores) <= -self.slack
        return reached

    def margin(self, scores: FloatArray) -> FloatArray:
        """Score to spare before the goal could be reached: a tie has margin 0, a flip is never positive."""
        one = self.label if self.target is None else self.target
        others = scores.copy()
        others[:, one] = -np.inf
        lead: FloatArray = scores[:, one] - others.max(axis=1, initial=-np.inf)
        return lead if self.target is None else -lead

    def progress(self, scores: FloatArray) -> FloatArray:
        """How near each row is to the goal, larger is nearer: 1 - score of the label, or score of the target.

        Rounded by `steady`, so that a search chooses the same way every time.
        """
        return steady(1.0 - scores[:, self.label] if self.target is None else scores[:, self.target])


def steady(values: FloatArray) -> FloatArray:
    """Values to 16 binary digits: what differs by less is noise of the batch it was scored in, and counts as equal."""
    # on the bits themselves, a carry out of the mantissa counts up the exponent, which is what rounding up means
    bits = values.view(np.int64) + _HALF
    bits &= _KEPT
    return bits.view(np.float64)
