"""Runs searches over edits for many texts at once, in model calls that hold several texts.

Guarantees: a text is scored once a search; no search asks for more texts than its budget, and the last affordable ones
are scored; a search cut short has the flip with the fewest edits that was scored, if there is one; one text that the
victim cannot read fails alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from lexproof.answers import Cost
from lexproof.edits.actions import Draft
from lexproof.edits.search import Edits, Hunt
from lexproof.edits.similar import Similar
from lexproof.errors import ModelError
from lexproof.goal import Goal
from lexproof.points import FloatArray
from lexproof.text import Input
from lexproof.victims.base import Victim, each_alone

_WIDTH = 32  # texts at a time
_ROWS = 4096  # inputs in a call


@dataclass(slots=True)
class Running:
    """A search in progress about one text: what it asks, what it knows, what it found."""

    key: int
    draft: Draft
    goal: Goal
    search: Hunt
    max_queries: int | None = None
    similar: Similar | None = None
    claim: Edits | None = None
    stopped: str = ""
    error: ModelError | None = None
    ended: bool = False
    queries: int = 0
    cached: int = 0
    seconds: float = 0.0
    _known: dict[Input, FloatArray] = field(default_factory=dict)
    _asked: list[Edits] = field(default_factory=list)
    _inputs: list[Input] = field(default_factory=list)
    _flips: list[Edits] = field(default_factory=list)

    @property
    def predicted(self) -> int | None:
        """What the victim reads the text as it is as; None if it was not asked."""
        scores = self._known.get(self.draft.input(()))
        return None if scores is None else int(scores.argmax())

    @property
    def cost(self) -> Cost:
        """What it cost so far."""
        return Cost(queries=self.queries, cached=self.cached, seconds=self.seconds)

    def begin(self) -> None:
        """Take the first request."""
        self._advance(None)

    def wanted(self, room: int) -> list[Input]:
        """The next inputs to score, at most `room` and as many as the budget allows; none ends the search."""
        new = [given for given in dict.fromkeys(self._inputs) if given not in self._known][:room]
        if self.max_queries is not None:
            new = new[: self.max_queries - self.queries]
        if not new:
            self.search.close()
            self.ended, self.stopped = True, f"budget of {self.max_queries} queries used up"
            self.claim = next(filter(self._is_similar, sorted(self._flips, key=len)), None)
        return new

    def receive(self, inputs: Sequence[Input], scores: FloatArray | ModelError, seconds: float) -> None:
        """Take scores; when the request is complete, let the search go on."""
        begun = time.perf_counter()
        self.queries += len(inputs)
        if isinstance(scores, ModelError):
            self.search.close()
            self.ended, self.error = True, scores
            return
        self._known |= dict(zip(inputs, scores, strict=True))
        self._watch(set(inputs))
        if all(given in self._known for given in self._inputs):
            self._advance(np.array([self._known[given] for given in self._inputs]))
        self.seconds += seconds + time.perf_counter() - begun

    def _advance(self, scores: FloatArray | None) -> None:
        try:
            while True:
                self._asked = list(next(self.search) if scores is None else self.search.send(scores))
                self._inputs = [self.draft.input(edits) for edits in self._asked]
                new = len({given for given in self._inputs if given not in self._known})
                self.cached += len(self._inputs) - new
                if new:
                    return
                scores = np.array([self._known[given] for given in self._inputs])
        except StopIteration as end:
            self.ended = True
            self.claim = end.value

    def _watch(self, new: set[Input]) -> None:
        """Remember flips, for a search that is cut short."""
        rows = [row for row, given in enumerate(self._inputs) if given in new]
        reached = self.goal.reached(np.array([self._known[self._inputs[row]] for row in rows]))
        self._flips += [self._asked[rows[place]] for place in np.flatnonzero(reached).tolist()]

    def _is_similar(self, edits: Edits) -> bool:
        return self.similar is None or all(self.similar(self.draft, edits))


def run(victim: Victim, searches: Iterable[Running]) -> Iterator[Running]:
    """The searches, each when it has ended."""
    source = iter(searches)
    active: list[Running] = []
    exhausted = False
    while active or not exhausted:
        while not exhausted and len(active) < _WIDTH:
            one = next(source, None)
            if one is None:
                exhausted = True
            else:
                begun = time.perf_counter()
                one.begin()
                one.seconds += time.perf_counter() - begun
                active.append(one)
        _score(victim, _jobs(active))
        yield from (one for one in active if one.ended)
        active = [one for one in active if not one.ended]


def _jobs(active: Sequence[Running]) -> list[tuple[Running, list[Input]]]:
    """What the searches ask next, as far as it fits into a call; a search that cannot ask any more ends."""
    jobs, room = [], _ROWS
    for one in active:
        if room and not one.ended:
            inputs = one.wanted(room)
            room -= len(inputs)
            if inputs:
                jobs.append((one, inputs))
    return jobs


def _score(victim: Victim, jobs: Sequence[tuple[Running, list[Input]]]) -> None:
    if not jobs:
        return
    begun = time.perf_counter()
    answers = _answers(victim, [inputs for _, inputs in jobs])
    spent = (time.perf_counter() - begun) / sum(len(inputs) for _, inputs in jobs)
    for (one, inputs), scores in zip(jobs, answers, strict=True):
        one.receive(inputs, scores, spent * len(inputs))


def _answers(victim: Victim, asked: Sequence[list[Input]]) -> Sequence[FloatArray | ModelError]:
    try:
        scores = victim.scores([given for inputs in asked for given in inputs])
        return np.split(scores, np.cumsum([len(inputs) for inputs in asked])[:-1])
    except ModelError as error:
        if len(asked) == 1:
            return [error]
    return each_alone(asked, victim.scores)
