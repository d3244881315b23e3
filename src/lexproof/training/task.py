"""Classification under a defense: what the loop trains on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from lexproof.text import Input
from lexproof.training.checkpoint import Saved, named
from lexproof.training.defense import Defense, Setting
from lexproof.training.learner import Batch
from lexproof.training.loop import bucketed
from lexproof.training.recipe import Recipe


class Classify:
    """Texts with labels, those that the defense adds, and the validation texts."""

    def __init__(self, setting: Setting, defense: Defense, recipe: Recipe) -> None:
        self._setting, self._defense, self._recipe = setting, defense, recipe
        self._learner = setting.learner
        self.module: nn.Module = setting.learner.module
        self._added: tuple[list[Input], list[int]] = [], []
        self._gather()
        if setting.valid is None:
            self._valid = None
        else:
            self._valid = self._learner.encode(setting.valid[0]), np.asarray(setting.valid[1], np.int64)

    def _gather(self) -> None:
        """All texts, the given ones first."""
        self._inputs: list[Input] = [*self._setting.inputs, *self._added[0]]
        self._gold = np.asarray([*self._setting.gold, *self._added[1]], np.int64)
        self._rows: Sequence[Any] = self._learner.encode(self._inputs)
        self._rows = list(self._rows)
        self._lengths = np.array([self._learner.length(row) for row in self._rows], np.int64)

    @property
    def steps(self) -> int:
        """Batches an epoch."""
        return -(-len(self._inputs) // self._recipe.batch_size)

    def start(self) -> None:
        """Let the defense prepare itself."""
        self._defense.begin(self._setting)

    def optimizer(self) -> torch.optim.Optimizer:
        """Of the network and what the defense trains beside it."""
        return self._learner.optimizer(self._recipe, self._defense.parameters())

    def begin(self, epoch: int) -> None:
        """Take in the texts that the defense adds."""
        added = self._defense.examples(epoch)
        if added is not None:
            self._added = list(added[0]), list(added[1])
            self._gather()

    def batches(self, rng: np.random.Generator) -> Iterator[Batch]:
        """Texts of similar length together, as the defense changes them."""
        for chosen in bucketed(self._lengths, self._recipe.batch_size, rng):
            given = [self._inputs[b] for b in chosen]
            texts = self._defense.texts(given, self._gold[chosen], rng)
            rows = [self._rows[b] for b in chosen] if texts is given else list(self._learner.encode(texts))
            yield self._learner.batch(rows, texts, self._gold[chosen], chosen, rng)

    def backward(self, batch: Batch) -> float:
        """The defense's loss."""
        return self._defense.backward(batch)

    def accuracy(self) -> float | None:
        """Share of validation texts that are classified correctly."""
        return None if self._valid is None else self._learner.accuracy(*self._valid)

    def merit(self, epoch: int, accuracy: float | None) -> float | None:
        """What the defense says; without validation texts the last epoch is the best."""
        return float(epoch) if accuracy is None else self._defense.merit(epoch, accuracy)

    def measures(self) -> dict[str, float]:
        """The defense's figures."""
        return self._defense.measures()

    def state(self) -> Saved:
        """The texts that were added, the defense's memory and generator, and what is trained beside the network."""
        tensors, rest = self._defense.state()
        beside = {str(k): weight.detach() for k, weight in enumerate(self._defense.parameters())}
        return Saved(
            {**named("defense", tensors), **named("beside", beside)},
            {"added": self._added, "defense": rest, "rng": self._setting.rng.bit_generator.state},
        )

    def restore(self, saved: Saved) -> None:
        """Take all of it back."""
        texts, gold = saved.rest["added"]
        # JSON knows no tuples: a pair of premise and hypothesis comes back as a list
        self._added = [text if isinstance(text, str) else (text[0], text[1]) for text in texts], list(gold)
        self._gather()
        self._defense.restore(saved.part("defense"), saved.rest["defense"])
        self._setting.rng.bit_generator.state = saved.rest["rng"]
        beside = saved.part("beside")
        with torch.no_grad():
            for k, weight in enumerate(self._defense.parameters()):
                weight.copy_(beside[str(k)])
