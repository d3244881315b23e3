"""ASCC: find the point of the convex hulls of words and synonyms where the answer changes most, and forbid the change.

For each text the logits w of the weights start at random and take `steps` steps of Adam that maximise

    KL(p(x) || p(x_w))  -  sparsity / n  sum_i H(weights of token i)

x_w being the text at that point of its hulls, n its number of tokens, H the entropy, which draws the weights to single
words.  The network is then trained on

    cross-entropy(p(x), y)  +  weight  KL(p(x) || p(x_w))

Guarantee: the text itself is trained on as in plain training, beside the point found; texts of a batch do not influence
each other's points.

Reference: Dong, Luu, Ji, Liu 2021, Towards Robustness Against Natural Language Word Substitutions.
Deviations: the finished classifier is the plain network; the benchmark of Li et al. 2021 repeats the inner steps at
each query and throws their result away.  The released code averages the entropy over all texts of a batch but adds
their KL, so that larger batches make it weaker; here both are those of one text.  No weight decay (2e-5) of w.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from lexproof.defenses.hull import Hull, Hulls, vectors_of
from lexproof.errors import InputError
from lexproof.training.defense import Defense, Setting
from lexproof.training.learner import Batch

_START = 0.1  # spread of the first logits: nearly equal weights, so that KL and not chance says where to go


@dataclass(kw_only=True)
class ASCC(Defense):
    """Adversarial sparse convex combinations.  `rate` is the learning rate of the inner steps."""

    steps: int = 5
    rate: float = 1.0
    sparsity: float = 10.0
    weight: float = 4.0
    name: ClassVar[str] = "ascc"
    family: ClassVar[str] = "hull"
    needs_synonyms: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise InputError(f"expected steps >= 0, got {self.steps!r}")
        if not 0 < self.rate < math.inf:
            raise InputError(f"expected rate > 0, got {self.rate!r}")
        for name, value in (("sparsity", self.sparsity), ("weight", self.weight)):
            if not 0 <= value < math.inf:
                raise InputError(f"expected {name} >= 0, got {value!r}")

    def begin(self, setting: Setting) -> None:
        """Look up the hulls of all training texts."""
        super().begin(setting)
        self.hulls = Hulls(setting)

    def loss(self, batch: Batch) -> Tensor:
        """Cross-entropy of the texts, and how far the worst point found moves the answer."""
        learner, hull = self.setting.learner, self.hulls.of(batch)
        weights = hull.weights(self.worst(batch, hull))
        clean = learner.logits(batch)
        moved = learner.logits(batch, hull.mixed(*vectors_of(learner, batch, hull), weights))
        return nn.functional.cross_entropy(clean, batch.gold) + self.weight * divergence(clean, moved).mean()

    def worst(self, batch: Batch, hull: Hull) -> Tensor:
        """Logits (P, K) of the weights after the inner steps, without dropout; no gradient reaches the network."""
        learner = self.setting.learner
        logits = (_START * torch.randn(hull.ids.shape)).requires_grad_()
        optimizer = torch.optim.Adam([logits], lr=self.rate, maximize=True)
        with still(learner.module):
            with torch.no_grad():
                base, corners = vectors_of(learner, batch, hull)
                # by vectors: some networks answer ids out of tables that they would build anew after each update
                clean = learner.logits(batch, base)
            for _ in range(self.steps):
                weights = hull.weights(logits)
                moved = learner.logits(batch, hull.mixed(base, corners, weights))
                gain = divergence(clean, moved).sum() - self.sparsity * mean_entropy(batch, hull, weights).sum()
                (logits.grad,) = torch.autograd.grad(gain, [logits])
                optimizer.step()
        return logits.detach()


def divergence(clean: Tensor, moved: Tensor) -> Tensor:
    """KL(clean || moved) of each text (B,), from logits."""
    log_clean, log_moved = clean.log_softmax(dim=-1), moved.log_softmax(dim=-1)
    return (log_clean.exp() * (log_clean - log_moved)).sum(dim=-1)


def mean_entropy(batch: Batch, hull: Hull, weights: Tensor) -> Tensor:
    """The entropy of the weights of a token, averaged over all tokens of each text (B,)."""
    entropy = torch.special.entr(weights.clamp_min(torch.finfo(weights.dtype).tiny)).sum(dim=-1)  # (P,)
    texts = hull.at // batch.ids.shape[1]
    totals: Tensor = entropy.new_zeros(len(batch.ids)).index_add(0, texts, entropy)
    return totals / batch.real.sum(dim=1)


@contextmanager
def still(module: nn.Module) -> Iterator[None]:
    """Within, dropout is off."""
    was_training = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(was_training)
