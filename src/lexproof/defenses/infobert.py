"""InfoBERT: FreeLB++, with features of tokens that say little of the token and much of the text.

    loss of a pass = cross-entropy + compression * U - agreement * N

U, an upper bound on the information between a token and its feature T_i (its moved word vector).  For features that are
Gaussian around T_i with variance 1 it is half the mean squared distance between any two tokens' features of the batch:

    U = 1/(2 M^2) * sum over i, j of ||T_i - T_j||^2  =  1/M * sum over i of ||T_i - mean||^2

N, InfoNCE, a lower bound on the information between the text's state Z and the features of its locally robust tokens.
These are the tokens whose gradient has a rank from `low` to `high` (shares of the text's tokens, the smallest gradient
first): neither without effect nor easily turned.  In a group of m such tokens, each with the state of its own text:

    N = mean over i of F(Z_i, T_i) - mean over i of log sum over j of exp F(Z_i, T_j) + log m  <=  log m

F is the critic: two layers, 300 units, trained with the network.

A pass forward and two back a step, since which tokens are robust is known only after the first: 3 and 6 a batch.

Reference: Wang et al. 2021, InfoBERT: Improving Robustness of Language Models from An Information Theoretic
Perspective.
Deviations: the authors draw one random partner for each token in U; here all pairs count, by the variance.  Their
feature of a token is the output of the embedding layer, behind positions and layer norm; here the word vector, which
every kind of network has.  U does not steer the ascent.  The Defender paper's code leaves the critic out of the
optimizer and always shuffles by the same seed; here the critic is trained, and groups are drawn by the training's seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from lexproof.defenses.freelb import FreeLbPlusPlus, Step
from lexproof.defenses.perturbation import gradient_of
from lexproof.errors import InputError
from lexproof.training.defense import Setting
from lexproof.training.learner import Batch

_WIDEST = 100_000  # units of the critic


def spread(features: Tensor) -> Tensor:
    """U of features (M, d)."""
    return (features - features.mean(0)).square().sum(1).mean()


def robust_tokens(gradient: Tensor, real: Tensor, low: float, high: float) -> Tensor:
    """Which tokens (B, L) have a gradient (B, L, d) of middling rank in their text."""
    norms = torch.linalg.vector_norm(gradient, dim=2).masked_fill(~real, torch.inf)  # padding comes last
    ranks = norms.argsort(stable=True, dim=1).argsort(1)
    tokens = real.sum(1, keepdim=True)
    found: Tensor = real & (ranks >= torch.ceil(tokens * low)) & (ranks < torch.ceil(tokens * high))
    return found


class Critic(nn.Module):
    """F: scores of each text's state with each token's feature."""

    def __init__(self, text: int, token: int, width: int) -> None:
        super().__init__()
        self.text, self.token = nn.Linear(text, width), nn.Linear(token, width, bias=False)
        self.last = nn.Linear(width, 1)

    def forward(self, texts: Tensor, tokens: Tensor) -> Tensor:
        """(m, m): texts (m, g) by tokens (m, d)."""
        hidden = torch.relu(self.text(texts)[:, None] + self.token(tokens))
        return nn.functional.softplus(self.last(hidden)[:, :, 0])


def info_nce(scores: Tensor) -> Tensor:
    """N of scores (m, m), those of a token with its own text on the diagonal."""
    return scores.diagonal().mean() - scores.logsumexp(1).mean() + math.log(len(scores))


@dataclass(kw_only=True)
class InfoBert(FreeLbPlusPlus):
    """InfoBERT; `group` is the largest number m of tokens that are told apart."""

    name: ClassVar[str] = "infobert"

    steps: int = 3
    size: float = 0.04
    start: float = 0.08
    compression: float = 5e-3
    agreement: float = 5e-3
    low: float = 0.5
    high: float = 0.9
    width: int = 300
    group: int = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("compression", "agreement"):
            if not getattr(self, name) >= 0:
                raise InputError(f"expected {name} >= 0, got {getattr(self, name)!r}")
        if not 0 <= self.low < self.high <= 1:
            raise InputError(f"expected 0 <= low < high <= 1, got low={self.low!r} and high={self.high!r}")
        if not 1 <= self.width <= _WIDEST or self.group < 2:
            raise InputError(f"expected width from 1 to {_WIDEST} and group >= 2, got {self.width} and {self.group}")

    def begin(self, setting: Setting) -> None:
        """Make the critic, as wide as the network's states ask for."""
        super().begin(setting)
        learner, inputs = setting.learner, list(setting.inputs[:1])
        batch = learner.batch(learner.encode(inputs), inputs, np.asarray(setting.gold[:1]), np.arange(1), None)
        with torch.no_grad():
            text = learner.states(batch).text.shape[1]
        self.critic = Critic(text, learner.dim, self.width)

    def parameters(self) -> list[nn.Parameter]:
        """The critic's."""
        return list(self.critic.parameters())

    def step(self, batch: Batch, moved: Tensor) -> Step:
        """Both bounds beside the cross-entropy."""
        states = self.setting.learner.states(batch, moved)
        features = moved.detach().requires_grad_()  # apart, so that the bounds do not enter the ascent
        loss = nn.functional.cross_entropy(states.logits, batch.gold)
        loss = (loss + self.compression * spread(features[batch.real])) / self.steps
        torch.autograd.backward(loss, retain_graph=True)
        ascent = gradient_of(moved).clone()
        agreed = self.agreed(batch, ascent, features, states.text)
        if agreed is not None:
            lower = agreed * (-self.agreement / self.steps)
            torch.autograd.backward(lower)
            loss = loss + lower
        return Step(float(loss.detach()), ascent, gradient_of(moved) + gradient_of(features))

    def agreed(self, batch: Batch, gradient: Tensor, features: Tensor, texts: Tensor) -> Tensor | None:
        """N, the mean over groups of nearly the same size; None if there are too few robust tokens for one."""
        where = robust_tokens(gradient, batch.real, self.low, self.high).nonzero()
        if len(where) < 2:
            return None
        where = where[torch.randperm(len(where))]
        groups = where.tensor_split(-(-len(where) // self.group))
        bounds = [info_nce(self.critic(texts[own[:, 0]], features[own[:, 0], own[:, 1]])) for own in groups]
        return torch.stack(bounds).mean()
