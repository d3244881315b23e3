"""A defense: how training is changed so that the classifier holds.  This one changes nothing, and is plain training.

The loop asks a defense, in this order:

    check      before anything is read or trained: can this kind of model take it?
    begin      once, when the learner and the training texts are there
    examples   at the start of each epoch: texts to train on beside the given ones
    texts      for each batch: the texts as they are trained on
    backward   for each batch: the gradients of a loss, left in the parameters
    merit      after each epoch: how good it is, if it may be kept
    finish     once: the victim that the training was for

Randomness: `texts` draws from the generator it is given; everything else from torch's global generator, which the loop
has seeded, or from `Setting.rng`.  What is remembered from step to step belongs into `state`, so that an interrupted
training resumes to the same weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from lexproof.space import Candidates
from lexproof.text import Input
from lexproof.training.learner import Batch, Learner
from lexproof.victims.base import Victim

Examples = tuple[list[Input], list[int]]
"""Texts and labels."""

EVERY_KIND = ("mlp", "cnn", "lstm", "bilstm", "transformer")


@dataclass(frozen=True, slots=True)
class Setting:
    """What a defense works with: the learner, the training texts and labels, how long it has, and its generator."""

    learner: Learner
    inputs: Sequence[Input]
    gold: Sequence[int]
    epochs: int
    seed: int
    rng: np.random.Generator
    synonyms: Candidates | None = None
    """The defender's substitutes; None if the defense asks for none."""
    valid: tuple[Sequence[Input], Sequence[int]] | None = None
    told: Callable[[str, int, int], None] = lambda what, done, total: None
    """Is told of work between steps: what it is, how many texts are done, of how many."""


class Defense:
    """Plain training, and what every defense is by default."""

    name: ClassVar[str] = "plain"
    family: ClassVar[str] = "none"
    kinds: ClassVar[tuple[str, ...]] = EVERY_KIND
    needs_synonyms: ClassVar[bool] = False

    @property
    def spec(self) -> dict[str, Any]:
        """Everything that it depends on, ready for JSON: recorded with the model."""
        return {"name": self.name, **(asdict(self) if is_dataclass(self) and not isinstance(self, type) else {})}

    def check(self, kind: str, settings: Mapping[str, Any]) -> None:
        """InputError or NoRule if a model of this kind, with these settings given, cannot be trained so."""

    def defaults(self, kind: str) -> dict[str, Any]:
        """Training options that suit it better than the usual ones, by name; what a user gives comes first."""
        return {}

    def begin(self, setting: Setting) -> None:
        """Training is about to start, or to resume."""
        self.setting = setting

    def examples(self, epoch: int) -> Examples | None:
        """Texts to train on from this epoch (1, 2, …) on beside the given ones; None leaves those of before."""
        return None

    def texts(self, inputs: Sequence[Input], gold: np.ndarray[Any, Any], rng: np.random.Generator) -> Sequence[Input]:
        """The texts of a batch as they are trained on; the very sequence if none is changed."""
        return inputs

    def loss(self, batch: Batch) -> Tensor:
        """Mean loss of a batch, the module in training mode."""
        return nn.functional.cross_entropy(self.setting.learner.logits(batch), batch.gold)

    def backward(self, batch: Batch) -> float:
        """Add the gradients of the loss to the parameters, which hold none yet; returns the loss."""
        loss = self.loss(batch)
        torch.autograd.backward(loss)
        return float(loss.detach())

    def parameters(self) -> list[nn.Parameter]:
        """What is trained beside the network, such as a critic; asked for after `begin`."""
        return []

    def merit(self, epoch: int, accuracy: float) -> float | None:
        """How good an epoch is, the larger the better; None if it may not be kept, because a schedule still moves."""
        return accuracy

    def measures(self) -> dict[str, float]:
        """Figures of the epoch that has ended, for its record."""
        return {}

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """What it remembers between steps beside its parameters: tensors, and anything that JSON can write."""
        return {}, {}

    def restore(self, tensors: Mapping[str, Tensor], rest: Mapping[str, Any]) -> None:
        """Take back a state."""

    def finish(self, victim: Victim) -> Victim:
        """The victim that the training was for: the trained one, or one around it."""
        return victim
