"""One search in progress: its pending request, what it remembers, its budget, and the best flip it has seen.

The engine (`lexproof.engine`) drives many of them over one victim.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lexproof.answers import Cost
from lexproof.attacks.base import first_accepted
from lexproof.errors import InputError, ModelError
from lexproof.goal import Goal
from lexproof.points import (
    AsText,
    Charge,
    FloatArray,
    Fresh,
    Gradient,
    IntArray,
    Points,
    Swaps,
    TimeLeft,
    WordGradient,
    dense,
    keys,
)
from lexproof.search import Search, Spent
from lexproof.space import Space
from lexproof.victims.base import Bound, GradientJob, Job, Victim


@dataclass(frozen=True, slots=True)
class Limits:
    """Budget of one search: unique model inputs, and seconds charged to it."""

    max_queries: int | None = None
    time_limit: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("max_queries", self.max_queries), ("time_limit", self.time_limit)):
            if value is not None and not value >= 0:
                raise InputError(f"expected {name} >= 0, got {value}")


@dataclass(frozen=True, slots=True)
class Task:
    """One search about one space."""

    key: int
    space: Space
    goal: Goal
    search: Search[Any]
    limits: Limits = Limits()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a search ended: its claim (None if it was cut short), the best flip seen, why it stopped, what it cost."""

    key: int
    goal: Goal
    claim: Any
    best: IntArray | None
    stopped: str
    cost: Cost
    error: ModelError | None = None


class Memory:
    """Scores of the points a search has asked for: a place for each key, in an array that doubles when it is full."""

    def __init__(self, classes: int) -> None:
        self._index: dict[bytes, int] = {}
        self._scores: FloatArray = np.empty((64, classes))
        self._filled = 0

    def places(self, asked: Sequence[bytes]) -> tuple[list[int], list[int] | None]:
        """The place of each key, and which rows have to be scored (None: all of them, in this order)."""
        index = self._index
        start = len(index)
        if index.keys().isdisjoint(asked):
            places = list(range(start, start + len(asked)))
            index.update(zip(asked, places, strict=True))
            if len(index) == start + len(asked):
                return places, None
            for key in asked:  # some are asked twice in one request: start over
                index.pop(key, None)
        places, new = [], []
        for row, key in enumerate(asked):
            place = index.get(key)
            if place is None:
                place = index[key] = len(index)
                new.append(row)
            places.append(place)
        return places, new

    def fill(self, scores: FloatArray) -> None:
        """Put scores into the next places."""
        end = self._filled + len(scores)
        if end > len(self._scores):
            grown = np.empty((max(end, 2 * len(self._scores)), self._scores.shape[1]))
            grown[: self._filled] = self._scores[: self._filled]
            self._scores = grown
        self._scores[self._filled : end] = scores
        self._filled = end

    def __getitem__(self, places: list[int]) -> FloatArray:
        return self._scores[places]


class Running:
    """A search in progress: its pending request, memory, budget and best flip."""

    def __init__(self, task: Task, victim: Victim) -> None:
        self.space, self.goal, self.search, self.limits = task.space, task.goal, task.search, task.limits
        self.key = task.key
        self.victim = victim
        self.outcome: Outcome | None = None
        self.best: IntArray | None = None
        self.queries = self.cached = 0
        self.seconds = 0.0
        self._memory = Memory(victim.classes)
        self._begun = time.perf_counter()  # since when its clock runs
        self._compiled: Bound | None = None
        self._todo: Points  # the part of the pending request that must be scored
        self._places: list[int] | None  # memory index of each asked point, None for requests not remembered
        self._done = 0
        self._parts: list[FloatArray] = []
        self._as_text = False
        self.gradient: GradientJob | None = None  # asked for instead of scores
        self._advance(None)
        self._charge()

    @property
    def _bound(self) -> Bound:
        """The space compiled for the victim: when it is first needed, since texts and their gradients do without."""
        if self._compiled is None:
            self._compiled = self.victim.bind(self.space)
        return self._compiled

    # ------------------------------------------------------------------ asking

    def next_job(self, room: int) -> Job | None:
        """The next slice of the pending request, or None if the search ended while looking."""
        stop = self._spent()
        if stop:
            self._begun = time.perf_counter()
            self._throw(stop)
            return None
        if self.limits.max_queries is not None:
            room = min(room, self.limits.max_queries - self.queries)
        points = self._todo
        if self._done or len(points) > room:
            points = points[self._done : self._done + room]
        bound = Bound(self.space) if self._as_text else self._bound
        return bound, points

    def receive(self, points: Points, scores: FloatArray | ModelError, seconds: float) -> None:
        """Take the scores of the slice; when the request is complete, let the search go on."""
        self._begun = time.perf_counter()
        self.seconds += seconds
        self.queries += len(points)
        if isinstance(scores, ModelError):
            self._finish(None, "error", scores)
        else:
            self._watch(points, scores)
            self._parts.append(scores)
            self._done += len(points)
            if self._done == len(self._todo):
                self._advance(self._answer())
        self._charge()

    def _charge(self) -> None:
        """Charge the time since the clock was last read."""
        now = time.perf_counter()
        self.seconds += now - self._begun
        self._begun = now

    def receive_gradient(self, gradient: FloatArray | ModelError, seconds: float) -> None:
        """Take the gradient asked for, and let the search go on."""
        self._begun = time.perf_counter()
        self.seconds += seconds
        assert self.gradient is not None
        self.queries += len(self.gradient[1].points)
        self.gradient = None
        if isinstance(gradient, ModelError):
            self._finish(None, "error", gradient)
        else:
            self._advance(gradient)
        self._charge()

    def _spent(self, wanted: int = 1) -> str:
        """Why so many more inputs cannot be asked; the first one always may, however long binding took."""
        limits = self.limits
        if limits.max_queries is not None and self.queries + wanted > limits.max_queries:
            return f"budget of {limits.max_queries} queries used up"
        if limits.time_limit is not None and self.seconds >= limits.time_limit and self.queries:
            return f"time limit of {limits.time_limit:g} s reached"
        return ""

    def _time_left(self) -> FloatArray:
        self._charge()
        limit = self.limits.time_limit
        return np.full((1, 1), np.inf if limit is None else max(0.0, limit - self.seconds))

    # ------------------------------------------------------------------ the search's side

    def _advance(self, scores: FloatArray | None) -> None:
        """Send scores and take requests until one needs the victim, or the search ends."""
        try:
            while True:
                request = next(self.search) if scores is None else self.search.send(scores)
                if isinstance(request, TimeLeft | Charge):
                    scores = self._time_left()
                    stop = self._spent(request.inputs) if isinstance(request, Charge) else ""
                    if stop:
                        return self._throw(stop)
                    self.queries += request.inputs if isinstance(request, Charge) else 0
                    continue
                if isinstance(request, Gradient):
                    stop = self._spent(len(request.points))
                    if stop:
                        return self._throw(stop)
                    bound = Bound(self.space) if isinstance(request, WordGradient) else self._bound
                    self.gradient = bound, request
                    return
                self._take(request)
                if len(self._todo):
                    return
                scores = self._answer()
        except StopIteration as end:
            self._finish(end.value, "")
        except Spent as spent:
            self._finish(None, spent.reason)
        except ModelError as error:
            self._finish(None, "error", error)

    def _take(self, request: Points | Fresh | AsText) -> None:
        self._done, self._parts, self._places = 0, [], None
        self._as_text = isinstance(request, AsText)
        if isinstance(request, AsText):
            self._todo = request.points
            return
        bound = self._bound  # a space that cannot be compiled ends the search here
        if isinstance(request, Fresh):
            self._todo = request.points
            return
        request = bound.canonical(request)
        self._places, new = self._memory.places(keys(request))
        self._todo = request if new is None else request[np.array(new, np.int64)]
        self.cached += len(self._places) - len(self._todo)

    def _answer(self) -> FloatArray:
        if self._places is None:
            return np.concatenate(self._parts) if self._parts else np.empty((0, self.victim.classes))
        for part in self._parts:
            self._memory.fill(part)
        if len(self._parts) == 1 and len(self._parts[0]) == len(self._places):
            return self._parts[0]  # nothing was asked twice
        return self._memory[self._places]

    def _throw(self, reason: str) -> None:
        try:
            self.search.throw(Spent(reason))
        except StopIteration as end:
            self._finish(end.value, reason)
        except Spent:
            self._finish(None, reason)
        else:
            raise RuntimeError("expected the search to end when its budget was spent, but it asked again")

    def _finish(self, claim: Any, stopped: str, error: ModelError | None = None) -> None:
        self.search.close()
        self._charge()
        cost = Cost(queries=self.queries, cached=self.cached, seconds=self.seconds)
        self.outcome = Outcome(self.key, self.goal, claim, self.best, stopped, cost, error)

    def _watch(self, points: Points, scores: FloatArray) -> None:
        """Remember the flip with the fewest swaps; the first one scored among equals."""
        flips = self.goal.reached(scores).nonzero()[0]
        if isinstance(points, Swaps) and len(flips):
            flips = flips[points.choices[flips] >= 0]
        if not len(flips):
            return
        flipped = points[flips].dense() if isinstance(points, Swaps) else dense(points)[flips]
        swaps = (flipped != 0).sum(axis=1)
        swaps[(flipped < 0).any(axis=1)] = self.space.n + 1  # probes are not texts of the space
        limit = self.space.max_swaps if self.best is None else int(np.count_nonzero(self.best)) - 1
        order = np.argsort(swaps, kind="stable")
        place = first_accepted(self.space, flipped, order[swaps[order] <= limit])
        if place is not None:
            self.best = flipped[place].copy()
