"""MixADA: adversarial data augmentation, and beside it mixtures of two texts with mixtures of their labels.

    loss = CE(f(x), y) + weight * KL( lambda y + (1 - lambda) y'  ||  f(lambda h + (1 - lambda) h') ),
    lambda ~ Beta(a, a)

x, y and x', y' are two examples of a batch, given or generated; h and h' are the states of their tokens at one depth:
of a transformer, behind a layer drawn for each batch, of a word model its word vectors.

Symbols: a = `concentration`; B texts of L tokens.
Reference: Si et al. 2021, Better Robustness by More Coverage: Adversarial and Mixup Data Augmentation for Robust
Finetuning.  Mixed word vectors are wordMixup of Guo, Mao and Zhang 2019, Augmenting Data with Mixup for Sentence
Classification.
Deviations: the layers 7, 9 and 12 of BERT's 12 become those at 7/12, 9/12 and all of the depth of the model at hand.
A mixture is as long as its first text: tokens of the other one past its end are left out, and where the other one has
ended the first keeps its states, unmixed; texts of a batch are of similar length.  Texts are generated once, as in ADA,
not anew in each epoch.  While the base model is trained nothing is mixed.
Not repeated: a weight of 0 by default (TextDefender), which leaves ADA.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from lexproof.defenses.ada import Ada
from lexproof.errors import InputError
from lexproof.training.learner import Batch

_DEPTHS = (7, 9, 12)  # of 12 layers
_LEAST = 1e-6  # concentration: there a mixture is one text or the other, and far below float32 knows no number


@dataclass(frozen=True, slots=True)
class Mixture:
    """Each text of a batch with another one: `partner` (B,), the share of the first, and where both have a token."""

    partner: Tensor
    first: Tensor
    both: Tensor

    @classmethod
    def drawn(cls, batch: Batch, concentration: float) -> Mixture:
        """One share for the batch, and a random order of it to be mixed with."""
        first = torch.distributions.Beta(concentration, concentration).sample()
        partner = torch.randperm(len(batch.gold))
        return cls(partner, first, batch.real & batch.real[partner])

    def states(self, states: Tensor) -> Tensor:
        """States (B, L, d) mixed with their partners'."""
        return torch.where(self.both[:, :, None], self._mixed(states), states)

    def labels(self, gold: Tensor, classes: int) -> Tensor:
        """Labels as mixed distributions (B, C)."""
        return self._mixed(nn.functional.one_hot(gold, classes).float())

    def _mixed(self, values: Tensor) -> Tensor:
        return self.first * values + (1 - self.first) * values[self.partner]


@dataclass(kw_only=True)
class MixAda(Ada):
    """ADA with mixup.

    `weight`: of the mixup loss beside the cross-entropy.  `concentration`: of the Beta distribution, large for even
    mixtures.
    """

    name: ClassVar[str] = "mixada"
    weight: float = 1.0
    concentration: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.weight < math.inf:
            raise InputError(f"expected weight > 0, got {self.weight}")
        if not _LEAST <= self.concentration <= 1 / _LEAST:
            raise InputError(f"expected concentration from {_LEAST:g} to {1 / _LEAST:g}, got {self.concentration}")

    def loss(self, batch: Batch) -> Tensor:
        """Cross-entropy, and once the base model is trained that of a mixture."""
        plain = super().loss(batch)
        if self.epoch <= self.plain:
            return plain
        mixture = Mixture.drawn(batch, self.concentration)
        return plain + self.weight * self.mixed_loss(batch, mixture)

    def mixed_loss(self, batch: Batch, mixture: Mixture) -> Tensor:
        """Mean of KL(mixed label || prediction of the mixed states)."""
        target = mixture.labels(batch.gold, self.setting.learner.classes)
        predicted = self.mixed_logits(batch, mixture).log_softmax(dim=1)
        return nn.functional.kl_div(predicted, target, reduction="batchmean")

    def mixed_logits(self, batch: Batch, mixture: Mixture, layer: nn.Module | None = None) -> Tensor:
        """Logits (B, C) of the mixture, of a transformer behind this layer (by default one that is drawn)."""
        learner = self.setting.learner
        if learner.kind != "transformer":
            return learner.logits(batch, mixture.states(learner.vectors(batch.ids)))
        if layer is None:
            layers = mixing_layers(learner.module)
            layer = layers[int(torch.randint(len(layers), ()))]
        with mixed_behind(layer, mixture):
            return learner.logits(batch)


def mixing_layers(model: Any) -> list[nn.Module]:
    """The layers behind which states are mixed: at 7/12, 9/12 and the whole of the model's depth."""
    depth = model.config.num_hidden_layers
    for part in model.modules():
        if isinstance(part, nn.ModuleList) and len(part) == depth:
            chosen = sorted({math.ceil(depth * share / 12) for share in _DEPTHS})
            return [part[number - 1] for number in chosen]
    raise InputError(f"expected a transformer with a list of its {depth} layers, got {type(model).__name__}")


@contextmanager
def mixed_behind(layer: nn.Module, mixture: Mixture) -> Iterator[None]:
    """Within, what the layer puts out is mixed."""

    def mix(module: object, inputs: object, output: Any) -> Any:
        # some models hand on a tuple, its first part being the states
        return (mixture.states(output[0]), *output[1:]) if isinstance(output, tuple) else mixture.states(output)

    hook = layer.register_forward_hook(mix)
    try:
        yield
    finally:
        hook.remove()
