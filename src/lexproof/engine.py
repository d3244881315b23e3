"""The engine drives many searches at once over one victim.

A search is a generator: it yields requests (points.Request), receives scores, and returns a claim.  It knows nothing
of victims, batches, budgets, clocks or caches.  The engine

- merges the requests of many texts into large model calls, in slices that keep memory flat;
- answers repeated questions of a search from memory, and counts unique and cached queries apart;
- keeps budgets exactly: the last affordable points are scored, then the search is told with `Spent`;
- remembers the flip with the fewest swaps that was ever scored, so a search cut short still has its best witness;
- lets one text that the victim cannot answer fail alone.

Claims are not believed here: `lexproof.questions` checks them.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from lexproof.errors import ModelError
from lexproof.points import FloatArray
from lexproof.running import Limits, Outcome, Running, Task
from lexproof.victims.base import Job, Victim, each_alone

__all__ = ["Clock", "Engine", "Limits", "Outcome", "Task"]


_GRADIENT_CELLS = 1 << 14  # words whose gradients are held at once: a vector each, 100 MB at 768 numbers


@dataclass(slots=True)
class Clock:
    """Where the time went: in the model, and everywhere else."""

    model: float = 0.0
    python: float = 0.0


class Engine:
    """Drives searches over one victim, `width` texts at a time and at most `max_rows` points a model call."""

    def __init__(self, victim: Victim, *, width: int = 256, max_rows: int = 16_384, max_cells: int = 8_000_000) -> None:
        self.victim = victim
        self.width = width
        self.max_rows = max_rows
        self.max_cells = max_cells
        self.clock = Clock()
        self._cells = max_cells // 64  # what a call may hold now: grows while calls are quick

    def run(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Outcomes in the order in which searches end; tasks are taken from the iterable as room becomes free."""
        for outcomes in self.rounds(tasks):
            yield from outcomes

    def rounds(self, tasks: Iterable[Task]) -> Iterator[list[Outcome]]:
        """The outcomes of searches that end in the same round, together."""
        source = iter(tasks)
        active: deque[Running] = deque()
        started = time.perf_counter()
        exhausted = False
        while active or not exhausted:
            while not exhausted and len(active) < self.width:
                task = next(source, None)
                if task is None:
                    exhausted = True
                else:
                    active.append(Running(task, self.victim))
            self._round(active)
            ended = [running.outcome for running in active if running.outcome is not None]
            if ended:
                self.clock.python = time.perf_counter() - started - self.clock.model
                yield ended
                active = deque(running for running in active if running.outcome is None)
            active.rotate(-1)  # everyone gets to be first, so a search with huge requests starves nobody

    def _round(self, active: Iterable[Running]) -> None:
        """One model call for what the active searches ask next; gradients first, which are asked for seldom."""
        while pending := [running for running in active if running.gradient is not None]:
            self._differentiate(pending)
        asked: list[tuple[Running, Job]] = []
        rows = cells = 0
        for running in active:
            if running.outcome is not None or rows >= self.max_rows or (rows and cells >= self._cells):
                continue
            room = min(self.max_rows - rows, (self._cells - cells) // max(1, running.space.n))
            job = running.next_job(max(1, room))
            if job is not None:
                asked.append((running, job))
                rows += len(job[1])
                cells += len(job[1]) * max(1, running.space.n)
        if not asked:
            return
        begun = time.perf_counter()
        answers = _or_alone([job for _, job in asked], self.victim.score)
        spent = time.perf_counter() - begun
        self.clock.model += spent
        self._pace(cells, spent)
        for (running, job), scores in zip(asked, answers, strict=True):
            running.receive(job[1], scores, spent * len(job[1]) / rows)

    def _differentiate(self, pending: Sequence[Running]) -> None:
        """One call for the gradients that the first of these ask for, as many as memory should hold."""
        cells = np.cumsum([running.gradient[1].points.size for running in pending if running.gradient is not None])
        pending = pending[: max(1, int(np.searchsorted(cells, _GRADIENT_CELLS, "right")))]
        jobs = [running.gradient for running in pending if running.gradient is not None]
        begun = time.perf_counter()
        answers = _or_alone(jobs, self.victim.gradients)
        spent = time.perf_counter() - begun
        self.clock.model += spent
        rows = sum(len(request.points) for _, request in jobs)
        for running, (_, request), answer in zip(pending, jobs, answers, strict=True):
            running.receive_gradient(answer, spent * len(request.points) / max(1, rows))

    def _pace(self, cells: int, seconds: float) -> None:
        """Keep calls between a quarter and one second, so that clocks are kept and an interrupt is felt."""
        if seconds > 1.0:
            self._cells = max(1, cells // 2)
        elif seconds < 0.25 and cells >= self._cells // 2:
            self._cells = min(self.max_cells, 2 * self._cells)


J = TypeVar("J")


def _or_alone(jobs: Sequence[J], ask: Callable[[Sequence[J]], list[FloatArray]]) -> Sequence[FloatArray | ModelError]:
    """The answers to all jobs at once; if that fails each is asked alone, so that one bad text fails alone."""
    try:
        return ask(jobs)
    except ModelError as error:
        if len(jobs) == 1:
            return [error]
    return each_alone(jobs, lambda job: ask([job])[0])
