"""Asking a question about one space or about many at once: searches are driven together, flips checked together.

for answered in answer_all(Find(attack="pdp"), victim, items): ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from lexproof.answers import Cost
from lexproof.engine import Engine, Outcome, Task
from lexproof.errors import ModelError
from lexproof.evidence import Claimed, check_flips
from lexproof.goal import Goal
from lexproof.questions import Question
from lexproof.space import Space
from lexproof.victims.base import Victim

A = TypeVar("A", covariant=True)

_NO_GOAL = Goal(-1)  # of a text that the victim cannot read


@dataclass(frozen=True, slots=True)
class Item:
    """A space to ask about; without a label, about leaving what the victim predicts."""

    key: int
    space: Space
    label: int | None = None
    target: int | None = None


@dataclass(frozen=True, slots=True)
class Answered(Generic[A]):
    """An item with its goal and answer, or with the error that kept it from being answered."""

    item: Item
    goal: Goal
    answer: A | None
    outcome: Outcome

    @property
    def error(self) -> ModelError | None:
        """Why there is no answer."""
        return self.outcome.error


def answer_all(
    question: Question[A], victim: Victim, items: Iterable[Item], engine: Engine | None = None
) -> Iterator[Answered[A]]:
    """Ask one question about many spaces at once; answers come as they are finished, `item.key` tells whose."""
    waiting: dict[int, tuple[Item, Goal]] = {}
    unread: list[Answered[A]] = []

    def tasks() -> Iterator[Task]:
        for item in items:
            try:
                goal = goal_for(victim, item)
            except ModelError as error:  # no label was given, and the victim has none to offer
                outcome = Outcome(item.key, _NO_GOAL, None, None, "error", Cost(), error)
                unread.append(Answered(item, _NO_GOAL, None, outcome))
                continue
            waiting[item.key] = item, goal
            yield Task(item.key, item.space, goal, question.search(victim, item.space, goal), question.limits)

    for outcomes in (engine or Engine(victim)).rounds(tasks()):
        yield from _checked(question, victim, [(*waiting.pop(outcome.key), outcome) for outcome in outcomes])
        yield from unread
        unread.clear()
    yield from unread


def _checked(
    question: Question[A], victim: Victim, ended: Sequence[tuple[Item, Goal, Outcome]]
) -> Iterator[Answered[A]]:
    """The answers to searches that ended together, their flips checked in one call."""
    claims: list[Claimed | None] = []
    for item, goal, outcome in ended:
        point = None if outcome.error is not None else question.flip(outcome)
        claims.append(None if point is None else (item.space, goal, point))
    for (item, goal, outcome), witness in zip(ended, check_flips(victim, claims), strict=True):
        failed = outcome.error is not None
        yield Answered(item, goal, None if failed else question.answer(victim, item.space, outcome, witness), outcome)


def answer_one(
    question: Question[A], victim: Victim, space: Space, label: int | None = None, target: int | None = None
) -> A:
    """Ask one question about one space."""
    answered = next(answer_all(question, victim, [Item(0, space, label, target)]))
    if answered.error is not None:
        raise answered.error
    assert answered.answer is not None
    return answered.answer


def goal_for(victim: Victim, item: Item) -> Goal:
    """The goal against this victim."""
    label = item.label
    if label is None:
        label = int(victim.predict([item.space.original.input])[0])
    goal = Goal(label, item.target, victim.rounding)
    goal.check(victim.classes)
    return goal
