"""The training loop: any torch module, any batches, any defense.

The gradients that a task leaves are clipped and stepped along; the best epoch on validation is kept; training stops
early when it has not been beaten for a while.  A task brings the batches, their gradients and the validation accuracy;
the loop knows neither texts nor victims.

Guarantee: a training that was interrupted and resumes from its checkpoint ends with the weights that it would have had
without the interruption (same machine, same number of threads).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NoReturn, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from lexproof.errors import ModelError
from lexproof.training.checkpoint import Checkpoint, Saved, named, optimizer_state
from lexproof.training.recipe import Recipe
from lexproof.victims.word_rows import Index

_BUCKET = 50  # batches whose rows are sorted by length together: little padding, and still a random order


class Progress(Protocol):
    """Is told of each step of training, for instance to draw a bar."""

    def step(self, epoch: int, step: int, steps: int, loss: float) -> None:
        """Step `step` of `steps` (over all epochs) had this loss."""

    def epoch(self, epoch: int, loss: float, accuracy: float | None) -> None:
        """An epoch ended with this mean loss and this accuracy on the validation texts."""


@runtime_checkable
class Busy(Protocol):
    """Is told, too, of work between steps, such as the attacks of a defense."""

    def busy(self, what: str, done: int, total: int) -> None:
        """So many texts of all are done."""


@runtime_checkable
class Resumed(Protocol):
    """Is told, too, that a training goes on from a checkpoint."""

    def resumed(self, checkpoint: Path) -> None:
        """It was read from this file."""


class Task(Protocol):
    """What is learned."""

    @property
    def module(self) -> nn.Module:
        """The network whose best weights are kept."""

    @property
    def steps(self) -> int:
        """Batches an epoch."""

    def start(self) -> None:
        """Training is about to start or to resume, torch's generator seeded."""

    def optimizer(self) -> torch.optim.Optimizer:
        """An optimizer of everything that is trained."""

    def begin(self, epoch: int) -> None:
        """An epoch is about to start, the module in evaluation mode."""

    def batches(self, rng: np.random.Generator) -> Iterator[Any]:
        """One epoch of batches; whatever is random about them comes from the generator."""

    def backward(self, batch: Any) -> float:
        """Add a batch's gradients to the parameters, the module in training mode; returns the loss."""

    def accuracy(self) -> float | None:
        """Share of validation texts that are classified correctly, the module in evaluation mode; None without any."""

    def merit(self, epoch: int, accuracy: float | None) -> float | None:
        """How good an epoch is, the larger the better; None if it may not be kept."""

    def measures(self) -> dict[str, float]:
        """Further figures of the epoch that has ended."""

    def state(self) -> Saved:
        """What it remembers from step to step."""

    def restore(self, saved: Saved) -> None:
        """Take back a state."""


def fit(
    task: Task,
    recipe: Recipe,
    *,
    seed: int,
    progress: Progress | None = None,
    frozen: nn.Module | None = None,
    checkpoint: Checkpoint | None = None,
) -> dict[str, Any]:
    """Train a task's module in place and leave it in evaluation mode with its best weights; returns what to record.

    `frozen` is a part of it that keeps the weights it has.  With a `checkpoint`, training resumes from it if it holds
    anything, and writes to it from time to time.
    """
    module = task.module
    with torch.random.fork_rng(devices=[]):  # dropout draws from the global generator, which is then put back
        torch.manual_seed(seed)
        module.requires_grad_(True)
        if frozen is not None:
            frozen.requires_grad_(False)
        try:
            return _Fit(task, recipe, seed, progress, checkpoint).run()
        finally:
            module.eval().requires_grad_(False)


@dataclass(slots=True)
class _Course:
    """How far a training has come."""

    epoch: int = 1
    step: int = 0  # batches of this epoch that are done
    losses: list[float] = field(default_factory=list)  # of this epoch
    history: list[dict[str, Any]] = field(default_factory=list)
    best: int = 0
    merit: float = -math.inf
    seconds: float = 0.0


class _Fit:
    """One training, fresh or resumed."""

    def __init__(
        self, task: Task, recipe: Recipe, seed: int, progress: Progress | None, checkpoint: Checkpoint | None
    ) -> None:
        self._task, self._recipe, self._progress, self._checkpoint = task, recipe, progress, checkpoint
        self._rng = np.random.default_rng(seed)
        task.start()
        self._optimizer = task.optimizer()
        self._trained = [weight for group in self._optimizer.param_groups for weight in group["params"]]
        self._course, self._best = _Course(), {}  # type: tuple[_Course, dict[str, Tensor]]
        self._before = self._rng.bit_generator.state  # of the generator when the epoch began
        self._clock = time.perf_counter()
        self._torch: Tensor | None = None  # state of torch's generator to go on from
        saved = checkpoint.read() if checkpoint is not None else None
        if checkpoint is not None and saved is not None:
            self._restore(saved)
            if isinstance(progress, Resumed):
                progress.resumed(checkpoint.path)

    def run(self) -> dict[str, Any]:
        """All epochs, or until patience is at an end."""
        course, recipe = self._course, self._recipe
        while course.epoch <= recipe.epochs and not self._is_stale():
            self._pass()
            self._validate()
            course.epoch, course.step, course.losses = course.epoch + 1, 0, []
            self._before = self._rng.bit_generator.state
            self._save(due=True)
        if not course.best:  # no epoch could be kept by merit: the last one is
            course.best, self._best = len(course.history), _copied(self._task.module)
        self._task.module.load_state_dict(self._best)
        seconds = round(course.seconds + time.perf_counter() - self._clock, 1)
        return {**asdict(recipe), "best_epoch": course.best, "seconds": seconds, "history": course.history}

    def _is_stale(self) -> bool:
        return bool(self._course.best) and self._course.epoch - 1 - self._course.best >= self._recipe.patience

    def _pass(self) -> None:
        """One pass over the training texts, from where it stands."""
        task, course = self._task, self._course
        task.module.eval()
        if not course.step:
            task.begin(course.epoch)
        task.module.train()
        self._rng.bit_generator.state = self._before
        for number, batch in enumerate(task.batches(self._rng)):
            if number < course.step:  # done before an interruption; drawn again so that the generator moves on
                continue
            self._rewind_torch()
            course.losses.append(self._update(batch))
            course.step += 1
            if self._progress:
                done = (course.epoch - 1) * task.steps + course.step
                self._progress.step(course.epoch, done, self._recipe.epochs * task.steps, course.losses[-1])
            self._save(due=False)
        self._rewind_torch()  # every step of this epoch may have been done before the interruption

    def _update(self, batch: Any) -> float:
        course, steps = self._course, self._task.steps
        pace = self._recipe.pace((course.epoch - 1) * steps + course.step, self._recipe.epochs * steps)
        for group in self._optimizer.param_groups:
            group["lr"] = self._recipe.learning_rate * pace
        self._optimizer.zero_grad(set_to_none=True)
        loss = self._task.backward(batch)
        if not math.isfinite(loss):
            self._diverged(f"a finite loss, got {loss}")
        nn.utils.clip_grad_norm_(self._trained, self._recipe.largest_norm)
        self._optimizer.step()
        return loss

    def _validate(self) -> None:
        """Record an epoch, and keep its weights if it is the best so far."""
        task, course = self._task, self._course
        task.module.eval()
        if not all(bool(weight.isfinite().all()) for weight in self._trained):  # by the last step: no loss has seen it
            self._diverged(f"finite weights, got others after epoch {course.epoch}")
        loss, accuracy = float(np.mean(course.losses)), task.accuracy()
        row = {"loss": round(loss, 6), "accuracy": None if accuracy is None else round(accuracy, 6)}
        merit = task.merit(course.epoch, accuracy)
        course.history.append(row | {name: round(value, 6) for name, value in task.measures().items()})
        if self._progress:
            self._progress.epoch(course.epoch, loss, accuracy)
        if merit is not None and merit > course.merit:
            course.best, course.merit, self._best = course.epoch, merit, _copied(task.module)

    def _diverged(self, expected: str) -> NoReturn:
        """The same training would diverge again, so that nothing is left to go on from."""
        if self._checkpoint is not None:
            self._checkpoint.path.unlink(missing_ok=True)
        raise ModelError(f"training diverged: expected {expected}; lower learning_rate, or the defense's sizes if set")

    # ------------------------------------------------------------------ interruption

    def _save(self, *, due: bool) -> None:
        checkpoint, course = self._checkpoint, self._course
        if checkpoint is None or not (due or checkpoint.is_due()):
            return
        now = time.perf_counter()
        course.seconds, self._clock = course.seconds + now - self._clock, now
        own = self._task.state()
        tensors = {
            **named("weights", self._task.module.state_dict()),
            **named("best", self._best),
            **named("optimizer", optimizer_state(self._optimizer)),
            **named("task", own.tensors),
            "torch": torch.get_rng_state(),
        }
        checkpoint.write(Saved(tensors, {"course": asdict(course), "rng": self._before, "task": own.rest}))

    def _restore(self, saved: Saved) -> None:
        self._course = _Course(**saved.rest["course"])
        self._before = saved.rest["rng"]
        self._task.module.load_state_dict(saved.part("weights"))
        self._best = saved.part("best")
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in saved.part("optimizer").items():
            number, _, key = name.partition(".")
            state.setdefault(int(number), {})[key] = tensor
        groups = self._optimizer.state_dict()["param_groups"]
        self._optimizer.load_state_dict({"state": state, "param_groups": groups})
        self._task.restore(Saved(saved.part("task"), saved.rest["task"]))
        self._torch = saved.tensors["torch"]
        if not self._course.step:
            self._rewind_torch()

    def _rewind_torch(self) -> None:
        """Let torch's generator go on from where it was, once, after a training has resumed."""
        if self._torch is not None:
            torch.set_rng_state(self._torch)
            self._torch = None


def _copied(module: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in module.state_dict().items()}


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
