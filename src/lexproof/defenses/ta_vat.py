"""TA-VAT: a perturbation of the text, and one of each token that is remembered for the token's next text.

    e_0 = V[tokens]                                       V: a table, one row for each token, over all of training
    e_t = P(c * (e_{t-1} + size * g_i / ||g_i||))         g_i the gradient of one token
    c_i = ||e_i|| / max over the tokens j of the text ||e_j||
    d_t as in `perturbation`;  P scales both so that ||d + e|| <= radius
    loss = 1/K * sum over t < K of the cross-entropy at x + d_t + e_t;  then V[tokens] = e_K

So a step is as long for a token that matters little as for one that matters much, and c then lets those with small
perturbations shrink.  d and e are added to the same vectors and have one gradient: K passes a batch, forward and back.

Reference: Li and Qiu 2021, Token-Aware Virtual Adversarial Training in Natural Language Understanding, algorithm 1
(from general knowledge; the paper was not at hand), and the authors' code.
Deviations: V takes the new perturbation, as in the algorithm; a token that a batch holds several times takes the mean.
The authors' code adds it to the old one, so that rows grow with a token's frequency without bound, and needs to divide
by the norm over the whole batch when it reads them, which makes a text's perturbation depend on its neighbors.  It
ascends K - 1 times; the gradient of the last pass is there anyway, and e_K is what is stored.  It perturbs padding.
`size` 0.05, `start` 0.2, `radius` 0.5 and K = 2 are those of the Defender paper's code, which does not divide by K.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from lexproof.defenses.perturbation import (
    LEAST,
    Within,
    ascended,
    at,
    gradient_of,
    lengths,
    pass_down,
)
from lexproof.training.defense import Setting
from lexproof.training.learner import Batch


def token_lengths(delta: Tensor) -> Tensor:
    """The norm of each token's perturbation: (B, L, 1)."""
    found: Tensor = torch.linalg.vector_norm(delta, dim=2, keepdim=True)
    return found


def token_ascended(delta: Tensor, gradient: Tensor, size: float) -> Tensor:
    """A step of this length for each token, then each scaled by its share of the text's longest."""
    step = delta + gradient * (size / token_lengths(gradient).clamp(min=LEAST))
    norms = token_lengths(step)
    return step * (norms / norms.amax(1, keepdim=True).clamp(min=LEAST))


def written(table: Tensor, ids: Tensor, rows: Tensor) -> Tensor:
    """The table with these rows (N, d) at these ids (N,); the mean of them where an id comes several times."""
    new = torch.zeros_like(table).index_add_(0, ids, rows)
    counts = torch.bincount(ids, minlength=len(table))[:, None]
    return torch.where(counts > 0, new / counts.clamp(min=1), table)


@dataclass(kw_only=True)
class TaVat(Within):
    """TA-VAT."""

    name: ClassVar[str] = "ta-vat"

    steps: int = 2
    size: float = 0.05
    start: float = 0.2
    radius: float = 0.5

    def begin(self, setting: Setting) -> None:
        """No token has a row yet."""
        super().begin(setting)
        self.table = torch.empty(0, setting.learner.dim)

    def remembered(self, batch: Batch) -> Tensor:
        """e_0 (B, L, d): 0 at padding."""
        missing = int(batch.ids.max()) + 1 - len(self.table)
        if missing > 0:
            dim = self.setting.learner.dim
            fresh = torch.empty(missing, dim).uniform_(-1, 1) * (self.start * self.unit / dim**0.5)
            self.table = torch.cat([self.table, fresh])
        return self.table[batch.ids] * batch.real[:, :, None]

    def within(self, text: Tensor, token: Tensor) -> tuple[Tensor, Tensor]:
        """Both perturbations, scaled alike, so that their sum lies within the radius."""
        radius = self.radius * self.unit
        share = radius / lengths(text + token).clamp(min=radius)
        return text * share, token * share

    def backward(self, batch: Batch) -> float:
        """Gradients of the mean loss over the ascent; the table is brought up to date."""
        vectors = self.setting.learner.vectors(batch.ids)
        delta, eta = self.within(self.first(batch), self.remembered(batch))
        rewind = self.rewinding()
        total, mean, size = torch.zeros_like(vectors), 0.0, self.size * self.unit
        for _ in range(self.steps):
            rewind()
            moved = at(vectors, delta + eta)
            loss = self.loss_at(batch, moved) / self.steps
            torch.autograd.backward(loss)
            gradient = gradient_of(moved)
            total += gradient
            mean += float(loss.detach())
            gradient = gradient * batch.real[:, :, None]
            delta, eta = self.within(ascended(delta, gradient, size), token_ascended(eta, gradient, size))
        pass_down(vectors, total)
        self.table = written(self.table, batch.ids[batch.real].long(), eta[batch.real])
        return mean

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The table, and the scale."""
        tensors, rest = super().state()
        return {**tensors, "table": self.table}, rest

    def restore(self, tensors: Mapping[str, Tensor], rest: Mapping[str, Any]) -> None:
        """Take back both."""
        super().restore(tensors, rest)
        self.table = tensors["table"]
