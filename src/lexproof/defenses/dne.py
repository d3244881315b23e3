"""DNE: train on random and on adversarial points of the convex hulls of words, their synonyms, and synonyms of those.

For each batch the weights of every open token are drawn from a Dirichlet distribution and the loss there is
differentiated, by the network and by the logits of the weights alike.  Then `steps` times the logits of each token move
by `size` along their normalised gradient, uphill, and the loss is differentiated again.  The network is updated once,
by the mean of all `steps` + 1 gradients.

Guarantee: each training text is read only at points of its hulls; weights are drawn from exactly Dirichlet(a_1 … a_K),
a_k = `alpha` for the word and its synonyms, `alpha` x `decay` for their synonyms, except that no corner is given less
than a weight of 10^-6, from which the steps could not lift it.

Reference: Zhou, Zheng, Hsieh, Chang, Huang 2021, Defense against Synonym Substitution-based Adversarial Attacks via
Dirichlet Neighborhood Ensemble.
Deviations: the finished classifier reads the words themselves, in one pass; the original averages 12 random points of
the hulls, so that asking twice gives two answers and each query costs 12 passes.  Therefore `alpha` and `decay` are
those of the Defender paper's code for IMDB, which draw points near single words; for AG News it has 1 and 0.5.  The
gradients are averaged where the released code adds them, so that learning rate and clipping mean what they mean in
plain training.  Weights are drawn afresh for each token; the released code takes them from a cache whose key does not
tell 4 corners, 1 of them of first order, from 2 corners, both of first order, and so gives weight to corners that do
not exist.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from lexproof.defenses.hull import Hull, Hulls, vectors_of
from lexproof.errors import InputError
from lexproof.training.defense import Defense, Setting
from lexproof.training.learner import Batch

_LEAST = 1e-6  # weight of a corner: the gradient by its logit is proportional to it


@dataclass(kw_only=True)
class DNE(Defense):
    """Dirichlet neighborhoods.

    `alpha`: the larger, the nearer to the middle of the hull; the smaller, the nearer to single words.  `decay` 0
    leaves the synonyms of synonyms out.  `most`: substitutes of a token that are kept, synonyms first.
    """

    alpha: float = 0.1
    decay: float = 0.1
    steps: int = 3
    size: float = 10.0
    most: int = 50
    name: ClassVar[str] = "dne"
    family: ClassVar[str] = "hull"
    needs_synonyms: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.alpha < math.inf:
            raise InputError(f"expected alpha > 0, got {self.alpha!r}")
        if not 0 <= self.decay <= 1:
            raise InputError(f"expected decay in [0, 1], got {self.decay!r}")
        if not 0 < self.size < math.inf:
            raise InputError(f"expected size > 0, got {self.size!r}")
        for name, value, least in (("steps", self.steps, 0), ("most", self.most, 1)):
            if value < least:
                raise InputError(f"expected {name} >= {least}, got {value!r}")

    def begin(self, setting: Setting) -> None:
        """Look up the hulls of all training texts."""
        super().begin(setting)
        self.hulls = Hulls(setting, with_second=self.decay > 0, most=self.most)

    def backward(self, batch: Batch) -> float:
        """The mean of the losses at a random point of the hulls and at those of the steps uphill from it.

        Vectors are looked up once, and their gradients go to the table once, since a table of many words is dear.
        """
        hull = self.hulls.of(batch)
        looked_up = vectors_of(self.setting.learner, batch, hull)
        base, corners = (vectors.detach().requires_grad_(vectors.requires_grad) for vectors in looked_up)
        logits, total = drawn(hull, self.alpha, self.decay), 0.0
        for _ in range(self.steps + 1):
            logits.requires_grad_()
            vectors = hull.mixed(base, corners, hull.weights(logits))
            loss = self.loss_of(batch, vectors) / (self.steps + 1)
            torch.autograd.backward(loss)
            total += float(loss.detach())
            logits = uphill(logits, self.size)
        if base.requires_grad:
            torch.autograd.backward(looked_up, [base.grad, corners.grad])
        return total

    def loss_of(self, batch: Batch, vectors: Tensor) -> Tensor:
        """Mean loss of the texts with these word vectors."""
        return nn.functional.cross_entropy(self.setting.learner.logits(batch, vectors), batch.gold)


def drawn(hull: Hull, alpha: float, decay: float) -> Tensor:
    """Logits (P, K) of weights from the Dirichlet distribution, by torch's global generator.

    Weights are independent gamma variables divided by their sum.  Their logarithms are drawn, log Gamma(a) being
    distributed as log Gamma(a + 1) - Exp(1) / a: for a small `alpha` the variables themselves may all be 0 in floats.
    """
    shape = torch.full(hull.ids.shape, alpha)
    shape[hull.order == 2] *= decay
    shape[~hull.is_real] = 1.0  # anything: they are masked
    logs = (
        torch.distributions.Gamma(shape + 1, torch.ones(())).sample().log()
        - torch.empty_like(shape).exponential_() / shape
    )
    logs = logs.masked_fill(~hull.is_real, -torch.inf).log_softmax(dim=-1)
    return logs.clamp_min(math.log(_LEAST))


def uphill(logits: Tensor, size: float) -> Tensor:
    """The logits of each token moved by `size` along their gradient; where that is 0 they stay."""
    gradient = logits.grad
    assert gradient is not None
    # of a text that the network is sure of it may be so small that its norm, computed as it is, would be 0
    largest = gradient.abs().amax(dim=-1, keepdim=True)
    return logits.detach() + size * nn.functional.normalize(gradient / largest.where(largest > 0, 1.0), dim=-1)
