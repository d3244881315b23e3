"""What a training shows on standard error, and what is left of one that is interrupted."""

from __future__ import annotations

import os
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

    def resumed(self, checkpoint: Path) -> None:
        """An interrupted training goes on."""
        self.say(f"resuming from {checkpoint}")

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
def resuming(out: Path, *, fresh: bool) -> Iterator[Path]:
    """The file, beside the folder `out` that is to be, that a training writes how far it has come to.

    It goes once what is done with it, the saving of the model included, is done; if that is interrupted, it stays, and
    the same command goes on from it unless it is to start `fresh`.
    """
    named = out.resolve() if out.name in ("", "..") else out  # the folder that the user is in has a name, too
    checkpoint = named.with_name(f"{named.name}.checkpoint")
    if checkpoint.is_dir():
        raise InputError(f"expected room for a checkpoint in {checkpoint}, got a folder of this name; move one of them")
    above = next(folder for folder in checkpoint.resolve().parents if folder.exists())
    if not os.access(above, os.W_OK | os.X_OK):
        raise InputError(f"expected to write the checkpoint {checkpoint} beside --out, got {above}, which is read-only")
    if fresh:
        checkpoint.unlink(missing_ok=True)
    try:
        yield checkpoint
    except KeyboardInterrupt as stop:
        kept = f"what was trained is in {checkpoint}: the same command goes on from there"
        raise KeyboardInterrupt(kept if checkpoint.is_file() else "nothing is kept: it was too short") from stop
    checkpoint.unlink(missing_ok=True)
