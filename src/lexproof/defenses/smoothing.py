"""Training for smoothing: every text of a batch is read as one randomised copy, drawn anew each time.

The base of a smoothed victim never reads a text as it is, so it is trained on copies, and the epoch that is kept is the
one that is best on copies of the validation texts, the same ones after every epoch.  The trained model is the base of
the victim that comes out.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lexproof.errors import InputError, check_whole
from lexproof.text import Input
from lexproof.training.defense import Defense, Setting
from lexproof.victims.smoothed import ENSEMBLES, SAMPLES, Ensemble
from lexproof.victims.smoothed_noise import Randomiser, generator

_CHECKED = 4  # copies of each validation text


@dataclass(kw_only=True)
class Smoothing(Defense):
    """Training on randomised copies; `samples` and `ensemble` are those of the victim."""

    family: ClassVar[str] = "smoothing"

    samples: int = SAMPLES
    ensemble: Ensemble = "logit"

    def __post_init__(self) -> None:
        check_whole(samples=self.samples)
        if self.ensemble not in ENSEMBLES:
            raise InputError(f"expected ensemble {' or '.join(ENSEMBLES)}, got {self.ensemble!r}")

    @abstractmethod
    def drawing(self, setting: Setting) -> Randomiser:
        """How the copies are drawn."""

    def begin(self, setting: Setting) -> None:
        """Prepare the draws, and draw the copies that epochs are compared on."""
        super().begin(setting)
        self.randomiser = self.drawing(setting)
        self._accuracy: float | None = None
        self._checked: tuple[Sequence[Any], np.ndarray[Any, Any]] | None = None
        if setting.valid is not None:
            inputs, gold = setting.valid
            drawn = [
                copy
                for given in inputs
                for copy in self.randomiser.copies(given, _CHECKED, generator(setting.seed, "validate", given))
            ]
            self._checked = setting.learner.encode(drawn), np.repeat(np.asarray(gold, np.int64), _CHECKED)

    def texts(self, inputs: Sequence[Input], gold: np.ndarray[Any, Any], rng: np.random.Generator) -> Sequence[Input]:
        """A copy of each text."""
        return [self.randomiser.copies(given, 1, rng)[0] for given in inputs]

    def merit(self, epoch: int, accuracy: float) -> float | None:
        """The accuracy on copies of the validation texts."""
        if self._checked is None:
            return accuracy
        self._accuracy = self.setting.learner.accuracy(*self._checked)
        return self._accuracy

    def measures(self) -> dict[str, float]:
        """The accuracy on copies, by which the epoch is judged."""
        return {} if self._accuracy is None else {"accuracy_on_copies": self._accuracy}
