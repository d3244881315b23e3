"""What the defenses share that train on word vectors moved against the label: start, ascent, projection.

    d_0 = start * u / sqrt(n d)            u uniform in (-1, 1), one number for each coordinate
    d_t = P(d_{t-1} + size * g / ||g||)    g the gradient of the loss by the vectors, || || over a whole text
    P(d) = d * min(1, radius / ||d||)      where a radius is set

Guarantee: a perturbation is 0 at padding, and after t steps ||d_t|| <= start + t * size, and <= radius if there is one.

The published sizes are for BERT, whose word vectors are about 1.4 long.  Other vectors are shorter or longer (GloVe's
about 5), so that the same numbers would mean another defense.  Sizes here are therefore multiplied by `scale`; if it is
0, by the mean length of the training texts' vectors before training, divided by 1.4, and for recurrent networks and
transformers by 2.8: they learned nothing against the whole of what BERT takes.  An mlp and a cnn learn, and FreeLB++
makes them hold better, with the whole than with half.

A network that has to learn the task and the defense at once may learn neither.  Sizes therefore grow from 0 along a
line over a share `warmup` of the training.  No epoch is kept before.

All passes over a batch drop the same features, as FreeLB's authors argue: otherwise each step ascends for another
network than the one before.  `same_dropout=0` draws them anew for each pass, as the Defender paper's code does.

Symbols: B texts of at most L tokens, n tokens of one text, vectors of d numbers.
Reference: Madry et al. 2018; Zhu et al. 2020, FreeLB, algorithm 1; the Defender paper, equations (4) to (6).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from lexproof.errors import InputError
from lexproof.training.defense import Defense, Setting
from lexproof.training.learner import Batch
from lexproof.training.recipe import check_numbers

_PUBLISHED_LENGTH = 1.4  # mean length of the word vectors that the published sizes were chosen for
_WHOLE = ("mlp", "cnn")  # kinds that take the published sizes, by the length of the vectors; others half of them
_SAMPLE = 256  # texts whose vectors are measured
LEAST = 1e-18  # of a gradient's norm: the squares of smaller ones are lost in float32


def lengths(delta: Tensor) -> Tensor:
    """The Frobenius norm of each text's perturbation: (B, 1, 1)."""
    found: Tensor = torch.linalg.vector_norm(delta, dim=(1, 2), keepdim=True)
    return found


def random_start(real: Tensor, dim: int, size: float) -> Tensor:
    """d_0 (B, L, d): its norm is below `size`, about 0.58 of it, whatever the length of a text."""
    tokens = real.sum(1).clamp(min=1)[:, None, None]
    uniform = torch.empty(*real.shape, dim).uniform_(-1, 1)
    return uniform * real[:, :, None] * (size / torch.sqrt(tokens * dim))


def ascended(delta: Tensor, gradient: Tensor, size: float) -> Tensor:
    """A step of this length up the gradient of each text; none where the gradient is 0."""
    return delta + gradient * (size / lengths(gradient).clamp(min=LEAST))


def projected(delta: Tensor, radius: float) -> Tensor:
    """The nearest point of the ball with this radius, text by text."""
    return delta * (radius / lengths(delta).clamp(min=radius)) if math.isfinite(radius) else delta


def mean_length(setting: Setting) -> float:
    """Mean norm of the vectors of the first training texts' tokens."""
    learner, inputs = setting.learner, list(setting.inputs[:_SAMPLE])
    numbers = np.arange(len(inputs))
    gold = np.asarray(setting.gold[:_SAMPLE], np.int64)
    batch = learner.batch(learner.encode(inputs), inputs, gold, numbers, None)
    with torch.no_grad():
        return float(learner.vectors(batch.ids)[batch.real].norm(dim=1).mean())


@dataclass(kw_only=True)
class Perturbing(Defense):
    """Training on moved word vectors: `steps` steps of `size` from a random start; see the module."""

    family: ClassVar[str] = "gradient"

    steps: int = 5
    size: float = 0.03
    start: float = 0.05
    scale: float = 0.0
    same_dropout: bool = True
    warmup: float = 1 / 3

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.steps < 1:
            raise InputError(f"expected steps of at least 1, got {self.steps}")
        for name in ("size", "start", "scale"):
            if not getattr(self, name) >= 0:
                raise InputError(f"expected {name} >= 0, got {getattr(self, name)!r}")
        if not 0 <= self.warmup <= 1:
            raise InputError(f"expected warmup in [0, 1], got {self.warmup!r}")

    def begin(self, setting: Setting) -> None:
        """Measure the vectors that the sizes are to suit."""
        super().begin(setting)
        share = 1.0 if setting.learner.kind in _WHOLE else 0.5
        self.full = self.scale or share * mean_length(setting) / _PUBLISHED_LENGTH
        self._ramp = self.warmup * setting.epochs * len(setting.inputs)  # texts
        self._seen = 0

    @property
    def unit(self) -> float:
        """What sizes are multiplied by in this batch."""
        return self.full * min(1.0, self._seen / self._ramp) if self._ramp else self.full

    def limit(self) -> float:
        """The radius before it is scaled; without projection infinite."""
        return math.inf

    def first(self, batch: Batch) -> Tensor:
        """d_0; the warm-up is one batch further."""
        self._seen += len(batch.gold)
        dim = self.setting.learner.dim
        return projected(random_start(batch.real, dim, self.start * self.unit), self.limit() * self.unit)

    def next(self, delta: Tensor, gradient: Tensor, real: Tensor) -> Tensor:
        """d_t from d_{t-1}; what padding would gain is left out, since a convolution reads across a text's end."""
        step = ascended(delta, gradient * real[:, :, None], self.size * self.unit)
        return projected(step, self.limit() * self.unit)

    def rewinding(self) -> Callable[[], None]:
        """To be called before each pass: it then drops the features that the first one drops."""
        state = torch.get_rng_state()

        def rewind() -> None:
            if self.same_dropout:
                torch.set_rng_state(state)

        return rewind

    def loss_at(self, batch: Batch, vectors: Tensor) -> Tensor:
        """Mean cross-entropy of the batch with these word vectors."""
        return nn.functional.cross_entropy(self.setting.learner.logits(batch, vectors), batch.gold)

    def merit(self, epoch: int, accuracy: float) -> float | None:
        """The accuracy; None while the sizes grow."""
        return accuracy if self._seen >= self._ramp else None

    def measures(self) -> dict[str, float]:
        """What the sizes are multiplied by."""
        return {"scale": self.unit}

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The scale, which is that of the vectors before training, and how many texts have been trained on."""
        return {}, {"full": self.full, "seen": self._seen}

    def restore(self, tensors: Mapping[str, Tensor], rest: Mapping[str, Any]) -> None:
        """Take back both."""
        self.full, self._seen = float(rest["full"]), int(rest["seen"])


@dataclass(kw_only=True)
class Within(Perturbing):
    """Perturbations within a ball of `radius`."""

    radius: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.radius > 0:
            raise InputError(
                f"expected radius > 0, got {self.radius!r}; the variant without projection is the one with ++"
            )

    def limit(self) -> float:
        """The radius."""
        return self.radius


def at(vectors: Tensor, delta: Tensor) -> Tensor:
    """Moved vectors to differentiate by: the gradient is that of the perturbation and of the vectors alike."""
    return (vectors.detach() + delta).requires_grad_()


def gradient_of(leaf: Tensor) -> Tensor:
    """What a backward pass left."""
    assert leaf.grad is not None, "the loss was to depend on it"
    return leaf.grad


def pass_down(vectors: Tensor, gradient: Tensor) -> None:
    """The gradient by the vectors on to the network's table, if that is trained."""
    if vectors.requires_grad:
        torch.autograd.backward(vectors, gradient)
