"""What a training shows on standard error, and what is left of one that is interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from lexproof.cli.streams import screen
from lexproof.errors import InputError


class TrainingBar:
    """Draws each step of training on standard error."""

    def __init__(self) -> None:
        named = TextColumn("{task.description}", markup=False)
        columns = (named, BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, TextColumn("ETA"), TimeRemainingColumn(), console=screen)
        self._task = self._bar.add_task("train", total=None)
        self._between: TaskID | None = None
        self._begun = False

    def __enter__(self) -> TrainingBar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not self._begun:  # refused: no bar of work that was never begun
            self._bar.update(self._task, visible=False)
        self._bar.stop()

    def say(self, line: str) -> None:
        """A line above the bar."""
        self._bar.console.print(line, markup=False)

    def step(self, epoch: int, step: int, steps: int, loss: float) -> None:
        """One step of all."""
        self._begun = True
        if self._between is not None:  # an attack may have found enough before the last text
            self._bar.update(self._between, visible=False)
        self._bar.update(self._task, description=f"epoch {epoch} loss {loss:.3f}", completed=step, total=steps)

    def busy(self, what: str, done: int, total: int) -> None:
        """Work before or between steps, in a bar of its own below that of training, with its own ETA."""
        self._begun = True
        if self._between is None:
            self._between = self._bar.add_task(what)
        if done == 0:
            self._bar.reset(self._between)  # the speed of the work before says nothing about this one
        said = f"{what} {done} of {total}"
        self._bar.update(self._between, description=said, completed=done, total=total, visible=done < total)

    def epoch(self, epoch: int, loss: float, accuracy: float | None) -> None:
        """One epoch is over."""
        seen = "" if accuracy is None else f", validation accuracy {accuracy:.4f}"
        self._bar.console.print(f"epoch {epoch}: loss {loss:.4f}{seen}")


@contextmanager
def resuming(out: Path, bar: TrainingBar, *, fresh: bool) -> Iterator[Path]:
    """The file, beside the folder `out` that is to be, that a training writes how far it has come to.

    It goes once what is done with it, the saving of the model included, is done; if that is interrupted, it stays, and
    the same command goes on from it unless it is to start `fresh`.
    """
    checkpoint = out.with_name(f"{out.name}.checkpoint")
    if checkpoint.is_dir():
        raise InputError(f"expected room for a checkpoint in {checkpoint}, got a folder of this name; move one of them")
    if fresh:
        checkpoint.unlink(missing_ok=True)
    if checkpoint.is_file():
        bar.say(f"resuming from {checkpoint}")
    try:
        yield checkpoint
    except KeyboardInterrupt:
        kept = f"what was trained is in {checkpoint}: the same command goes on from there"
        bar.say(kept if checkpoint.is_file() else "nothing of this training is kept yet: it was too short")
        raise
    checkpoint.unlink(missing_ok=True)
