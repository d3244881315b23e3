"""The training loop: any torch module, any batches.

Adam, gradients clipped, the best epoch on validation kept, early stop when it has not been beaten for a while.
A task brings the batches, their loss, and the validation accuracy; the loop knows neither texts nor victims.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from numbers import Real
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from lexproof.errors import InputError, ModelError
from lexproof.victims.word_rows import Index

_BUCKET = 50  # batches whose rows are sorted by length together: little padding, and still a random order


class Progress(Protocol):
    """Is told of each step of training, for instance to draw a bar."""

    def step(self, epoch: int, step: int, steps: int, loss: float) -> None:
        """Step `step` of `steps` (over all epochs) had this loss."""

    def epoch(self, epoch: int, loss: float, accuracy: float | None) -> None:
        """An epoch ended with this mean loss and this accuracy on the validation texts."""


class Task(Protocol):
    """What is learned."""

    @property
    def steps(self) -> int:
        """Batches an epoch."""

    def batches(self, rng: np.random.Generator) -> Iterator[Any]:
        """One epoch of batches."""

    def loss(self, batch: Any) -> Tensor:
        """Mean loss of a batch, the module in training mode."""

    def accuracy(self) -> float:
        """Share of validation texts that are classified correctly, the module in evaluation mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How to train: `patience` is the number of epochs without a better one after which training stops."""

    epochs: int = 10
    batch_size: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    patience: int = 3
    largest_norm: float = 5.0

    def __post_init__(self) -> None:
        check_numbers(self)
        for name in ("epochs", "batch_size", "learning_rate", "patience", "largest_norm"):
            if not getattr(self, name) > 0:
                raise InputError(f"expected {name} > 0, got {getattr(self, name)!r}")
        if not self.weight_decay >= 0:
            raise InputError(f"expected weight_decay >= 0, got {self.weight_decay!r}")


def check_numbers(recipe: Any) -> None:
    """InputError if a field of a dataclass that is declared as int or float holds anything else."""
    for field in fields(recipe):
        value = getattr(recipe, field.name)
        if field.type == "int" and type(value) is not int:
            raise InputError(f"expected {field.name} to be a whole number, got {value!r}")
        if field.type == "float" and (not isinstance(value, Real) or isinstance(value, bool) or math.isinf(value)):
            raise InputError(f"expected {field.name} to be a number, got {value!r}")


def fit(
    net: nn.Module,
    task: Task,
    recipe: Recipe,
    *,
    seed: int,
    progress: Progress | None = None,
    frozen: nn.Module | None = None,
) -> dict[str, Any]:
    """Train a module in place and leave it in evaluation mode with its best weights; returns what to record.

    `frozen` is a part of it that keeps the weights it has.
    """
    with torch.random.fork_rng(devices=[]):  # dropout draws from the global generator, which is then put back
        torch.manual_seed(seed)
        net.requires_grad_(True)
        if frozen is not None:
            frozen.requires_grad_(False)
        try:
            return _fit(net, task, recipe, np.random.default_rng(seed), progress)
        finally:
            net.eval().requires_grad_(False)


def _fit(
    net: nn.Module, task: Task, recipe: Recipe, rng: np.random.Generator, progress: Progress | None
) -> dict[str, Any]:
    trained = [weight for weight in net.parameters() if weight.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=recipe.learning_rate, weight_decay=recipe.weight_decay, fused=True)
    history: list[dict[str, float]] = []
    best, best_weights = 0, net.state_dict()
    for epoch in range(1, recipe.epochs + 1):
        losses = []
        net.train()
        for batch in task.batches(rng):
            losses.append(_update(net, task, batch, optimizer, recipe.largest_norm))
            if progress:
                done = (epoch - 1) * task.steps + len(losses)
                progress.step(epoch, done, recipe.epochs * task.steps, losses[-1])
        net.eval()
        loss, accuracy = float(np.mean(losses)), task.accuracy()
        history.append({"loss": round(loss, 6), "accuracy": round(accuracy, 6)})
        if progress:
            progress.epoch(epoch, loss, accuracy)
        if not best or accuracy > history[best - 1]["accuracy"]:
            best, best_weights = epoch, {name: tensor.clone() for name, tensor in net.state_dict().items()}
        elif epoch - best >= recipe.patience:
            break
    net.load_state_dict(best_weights)
    return {**asdict(recipe), "best_epoch": best, "history": history}


def _update(net: nn.Module, task: Task, batch: Any, optimizer: torch.optim.Optimizer, largest_norm: float) -> float:
    loss = task.loss(batch)
    value = float(loss.detach())
    if not math.isfinite(value):
        raise ModelError(f"training diverged: expected a finite loss, got {value}; lower learning_rate")
    optimizer.zero_grad(set_to_none=True)
    torch.autograd.backward(loss)
    nn.utils.clip_grad_norm_(net.parameters(), largest_norm)
    optimizer.step()
    return value


def bucketed(lengths: Index | Sequence[int], size: int, rng: np.random.Generator) -> Iterator[Index]:
    """Every row once in batches of `size`, in random order, rows of similar length together."""
    lengths = np.asarray(lengths)
    order = rng.permutation(len(lengths))
    batches: list[Index] = []
    for begin in range(0, len(order), size * _BUCKET):
        bucket = order[begin : begin + size * _BUCKET]
        bucket = bucket[np.argsort(lengths[bucket], kind="stable")]
        batches += [bucket[at : at + size] for at in range(0, len(bucket), size)]
    for b in rng.permutation(len(batches)).tolist():
        yield batches[b]
