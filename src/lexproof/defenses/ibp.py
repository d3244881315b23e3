"""Certified training by interval bound propagation: the loss holds for every swap at once.

    loss = kappa * cross-entropy of the least margins over all swaps + (1 - kappa) * cross-entropy of the text
    least margins: lower bounds of z_y - z_k by intervals from the words to the last layer, see `word_intervals`

The cross-entropy is a falling function of the margins, so that of their lower bounds is at least the loss of the worst
swapped text.  Boxes are shrunk towards the text by eps.  Batch by batch, eps goes from 0 to 1 and kappa from 0 to its
full value, in step and along a line, over a share `ramp` of the training; then both stay.  No epoch is kept before.

`budget` trains for a limited attacker: at most so many swaps (2), or a share of a text's tokens (0.1).  The first layer
has its exact range under the budget, the layers above it intervals; in a recurrent network the budget changes nothing.

Cost: about 3 plain epochs an epoch for the convolutional network, where the pass of the text itself is shared; about 6
for a recurrent one.

Reference: Jia, Raghunathan, Göksel and Liang 2019, Certified Robustness to Adversarial Word Substitutions.
Deviations: the authors' networks have a ReLU layer for each word before the box is taken; ours have none, so that the
word vectors themselves, frozen there, learn to bring substitutes together.  Their code bounds one logit of two classes
and takes the larger of the batch's mean losses at the lower and at the upper ends, which may be less than the worst
case; here each text has its own, over every other class.  They keep the epoch of the best certified accuracy; here it
is weighed with clean accuracy as in the loss.  The Defender paper's code never moves the schedule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from lexproof.errors import InputError, NoRule
from lexproof.space import Space, allowed_swaps
from lexproof.text import Input, Text
from lexproof.training.defense import Defense, Setting
from lexproof.training.learner import Batch
from lexproof.training.word_learner import WordLearner
from lexproof.victims.folder import WORD_KINDS
from lexproof.victims.swap_sets import SwapSets, TextSwaps, text_swaps
from lexproof.victims.word_intervals import Features, Swapping, features
from lexproof.victims.word_net import WordNet

_TEXTS = 64  # validation texts that are bounded together


class _Bounded(NamedTuple):
    """Validation texts with their swaps, and which of them have no others."""

    batch: Batch
    sets: SwapSets
    is_whole: Tensor  # (B,)


@dataclass(kw_only=True)
class Ibp(Defense):
    """Certified training by intervals."""

    name: ClassVar[str] = "ibp"
    family: ClassVar[str] = "certified"
    kinds: ClassVar[tuple[str, ...]] = WORD_KINDS
    needs_synonyms: ClassVar[bool] = True

    kappa: float = 0.8
    eps: float = 1.0
    ramp: float = 2 / 3
    budget: float | None = None

    def __post_init__(self) -> None:
        for name in ("kappa", "eps", "ramp"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise InputError(f"expected {name} in [0, 1], got {value!r}")
        if self.budget is not None and not (0 < self.budget < 1 or (self.budget >= 1 and self.budget % 1 == 0)):
            raise InputError(
                f"expected budget to be a whole number of swaps or a share of tokens in (0, 1), got {self.budget!r}"
            )

    def check(self, kind: str, settings: Mapping[str, Any]) -> None:
        """NoRule for a transformer."""
        if kind not in self.kinds:
            raise NoRule(
                f"no interval rule for a {kind} to be trained with: the defense 'ibp' takes {', '.join(self.kinds)}"
            )

    def begin(self, setting: Setting) -> None:
        """Nothing has been trained on yet."""
        super().begin(setting)
        net = setting.learner.module
        assert isinstance(net, WordNet), "check has refused other kinds"
        self._net = net
        self._seen = 0  # texts, over all epochs
        self._swaps: dict[int, TextSwaps] = {}  # of training texts by number, looked up in the first epoch
        self._valid = None if setting.valid is None else list(self._bounded(*setting.valid))
        self._certified: float | None = None

    @property
    def progress(self) -> float:
        """How much of the ramp is over: from 0 to 1."""
        whole = self.ramp * self.setting.epochs * len(self.setting.inputs)
        return min(1.0, self._seen / whole) if whole else 1.0

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """How many texts have been trained on."""
        return {}, {"seen": self._seen}

    def restore(self, tensors: Mapping[str, Tensor], rest: Mapping[str, Any]) -> None:
        """Go on from there."""
        self._seen = int(rest["seen"])

    def loss(self, batch: Batch) -> Tensor:
        """Both cross-entropies at this point of the schedule."""
        kappa, eps = self.kappa * self.progress, self.eps * self.progress
        if kappa == 0:
            return super().loss(batch)
        found = features(self._net, Swapping(self._sets(batch), eps, self._budget(batch))).dropped(self._net.dropout)
        worst = nn.functional.cross_entropy(-found.margins(batch.gold), batch.gold)
        clean = nn.functional.cross_entropy(self._logits(batch, found), batch.gold)
        return kappa * worst + (1 - kappa) * clean

    def defaults(self, kind: str) -> dict[str, Any]:
        """Room for the schedule: the last third of the epochs is where a certified model is made."""
        return {"epochs": 20, "patience": 7}

    def backward(self, batch: Batch) -> float:
        """Gradients of the loss, then one batch on in the schedule."""
        loss = super().backward(batch)
        self._seen += len(batch.gold)
        return loss

    def _logits(self, batch: Batch, found: Features) -> Tensor:
        """The logits of plain training, from the same pass where it has them."""
        if found.text is None:
            return self.setting.learner.logits(batch)
        return nn.functional.linear(found.text, found.weight, found.bias)

    def _sets(self, batch: Batch) -> SwapSets:
        """The swaps of training texts; a token that is hidden in this batch has none."""
        for number, given in zip(batch.numbers.tolist(), batch.inputs, strict=True):
            if number not in self._swaps:
                self._swaps[number] = self._look_up(given)
        own = [self._swaps[number] for number in batch.numbers.tolist()]
        return SwapSets.of_texts(batch.ids, batch.given["lengths"], own)

    def _look_up(self, given: Input) -> TextSwaps:
        """All swaps of a text, and whether these are all that its synonyms allow."""
        learner, synonyms = self.setting.learner, self.setting.synonyms
        assert isinstance(learner, WordLearner), "check has refused other kinds"
        if synonyms is None:
            raise InputError("expected synonyms to certify against, got none; give `synonyms`")
        text = Text.parse(given) if isinstance(given, str) else Text.parse(given[1], premise=given[0])
        return text_swaps(learner.victim.bind(Space.around(text, synonyms, 1)))

    def _budget(self, batch: Batch) -> Tensor | None:
        """Swaps that each text allows."""
        if self.budget is None:
            return None
        if self.budget >= 1:
            return torch.full((len(batch.gold),), int(self.budget))
        return torch.tensor([allowed_swaps(length, self.budget) for length in batch.real.sum(1).tolist()])

    def _bounded(self, inputs: Sequence[Input], gold: Sequence[int]) -> Iterator[_Bounded]:
        """Validation texts in batches with their swaps."""
        learner = self.setting.learner
        rows, labels = list(learner.encode(inputs)), np.asarray(gold, np.int64)
        order = np.argsort([learner.length(row) for row in rows], kind="stable")
        for begin in range(0, len(order), _TEXTS):
            self.setting.told("validation texts looked up", begin, len(order))
            chosen = order[begin : begin + _TEXTS]
            texts = [inputs[b] for b in chosen]
            batch = learner.batch([rows[b] for b in chosen], texts, labels[chosen], chosen, None)
            own = [self._look_up(given) for given in batch.inputs]
            sets = SwapSets.of_texts(batch.ids, batch.given["lengths"], own)
            yield _Bounded(batch, sets, torch.tensor([swaps.is_whole for swaps in own]))
        self.setting.told("validation texts looked up", len(order), len(order))

    def certified(self) -> float:
        """The share of validation texts that intervals prove correct under all swaps, as far as float32 tells.

        A text with a swap that is not one token in place of one token is not proven.
        """
        assert self._valid is not None
        held = 0
        with torch.no_grad():
            for batch, sets, is_whole in self._valid:
                margins = features(self._net, Swapping(sets, 1.0, self._budget(batch))).margins(batch.gold)
                held += int((((margins > 0).sum(1) == margins.shape[1] - 1) & is_whole).sum())
        return held / sum(len(part.batch.gold) for part in self._valid)

    def merit(self, epoch: int, accuracy: float) -> float | None:
        """Certified and clean accuracy, weighed as in the loss; None while the schedule moves."""
        self._certified = self.certified()
        if self.progress < 1:
            return None
        return self.kappa * self._certified + (1 - self.kappa) * accuracy

    def measures(self) -> dict[str, float]:
        """Where the schedule stands, and the share of validation texts that is certified."""
        certified = {} if self._certified is None else {"certified": self._certified}
        return {"eps": self.eps * self.progress, "kappa": self.kappa * self.progress, **certified}
