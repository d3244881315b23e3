"""FreeLB and FreeLB++: train on every step of the ascent, not only on its end.

    loss = 1/K * sum over t < K of the cross-entropy at x + d_t     d_t by `perturbation`

One pass forward and one back a step: the gradient by the moved vectors is that of d_t, which the next step ascends, and
that of the vectors themselves, which is added up and passed on to their table once a batch.  K passes a batch.

FreeLB projects to a ball; FreeLB++ does not, so its region grows with the number of steps: 10 by default, as the
Defender paper has it for IMDB, 30 (`freelb++?steps=30`) for AG News.  The paper calls this number the step size.

Reference: Zhu et al. 2020, FreeLB: Enhanced Adversarial Training for Natural Language Understanding; the Defender
paper, sections 4 and 5.1.
Deviations: the radius of the Defender paper's main table is not stated; 0.1 is the middle one of its table 4, and the
random start lies within it, too.  Its code draws dropout anew for each step; here as in the FreeLB paper once a batch.
It clamps gradient norms at 1e-8, which stops the ascent on texts that the network is sure of; here they move as others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from lexproof.defenses.perturbation import Perturbing, Within, at, gradient_of, pass_down
from lexproof.training.learner import Batch


class Step(NamedTuple):
    """One pass: its share of the loss, the gradient to ascend, and the one for the table of vectors, (B, L, d)."""

    loss: float
    ascent: Tensor
    vectors: Tensor


@dataclass(kw_only=True)
class FreeLbPlusPlus(Perturbing):
    """FreeLB++: no projection."""

    name: ClassVar[str] = "freelb++"

    steps: int = 10

    def step(self, batch: Batch, moved: Tensor) -> Step:
        """Add the gradients of this pass, divided by K, to the parameters above the vectors."""
        loss = self.loss_at(batch, moved) / self.steps
        torch.autograd.backward(loss)
        gradient = gradient_of(moved)
        return Step(float(loss.detach()), gradient, gradient)

    def backward(self, batch: Batch) -> float:
        """Gradients of the mean loss over the ascent."""
        vectors = self.setting.learner.vectors(batch.ids)
        delta = self.first(batch)
        rewind = self.rewinding()
        total, loss = torch.zeros_like(vectors), 0.0
        for _ in range(self.steps):
            rewind()
            step = self.step(batch, at(vectors, delta))
            total += step.vectors
            loss += step.loss
            delta = self.next(delta, step.ascent, batch.real)
        pass_down(vectors, total)
        return loss


@dataclass(kw_only=True)
class FreeLb(Within, FreeLbPlusPlus):
    """FreeLB: within a ball of `radius`."""

    name: ClassVar[str] = "freelb"

    steps: int = 5
