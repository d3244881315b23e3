"""PGD-K and PGD-K++: train on the texts moved K steps against the label, and on nothing else.

    d_K by K steps of `perturbation`;  loss = cross-entropy at x + d_K

PGD-K++ takes steps of half the length: it trains on the end of the ascent alone, FreeLB++ on the mean of all its steps,
which is half as far, and a BiLSTM learned nothing at the far end.

K + 1 passes a batch.  The first K are differentiated by the word vectors only; the parameters get the gradient of the
last pass alone.  Without projection (PGD-K++) the norm is bounded by start + K * size.

Reference: Madry et al. 2018, Towards Deep Learning Models Resistant to Adversarial Attacks; the Defender paper,
section 5.1 and table 4.
Deviations: the half length; one set of dropped features for all passes of a batch.  The radius of the Defender paper's
main table is not stated; 0.1 is the middle one of its table 4.  Its code clamps gradient norms at 1e-8, which stops the
ascent on texts that the network is sure of; here they are moved as far as the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from lexproof.defenses.perturbation import Perturbing, Within, at
from lexproof.training.learner import Batch


@dataclass(kw_only=True)
class PgdPlusPlus(Perturbing):
    """PGD-K++: no projection."""

    name: ClassVar[str] = "pgd++"

    steps: int = 10
    size: float = 0.015

    def backward(self, batch: Batch) -> float:
        """Gradients of the loss at d_K."""
        vectors = self.setting.learner.vectors(batch.ids)
        delta = self.first(batch)
        rewind = self.rewinding()
        for _ in range(self.steps):
            rewind()
            moved = at(vectors, delta)
            (gradient,) = torch.autograd.grad(self.loss_at(batch, moved), moved)
            delta = self.next(delta, gradient, batch.real)
        rewind()
        loss = self.loss_at(batch, vectors + delta)
        torch.autograd.backward(loss)
        return float(loss.detach())


@dataclass(kw_only=True)
class Pgd(Within, PgdPlusPlus):
    """PGD-K: within a ball of `radius`."""

    name: ClassVar[str] = "pgd"

    steps: int = 5
    size: float = 0.03
