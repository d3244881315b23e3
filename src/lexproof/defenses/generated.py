"""Training texts made by attacks: what the defenses that train on them share.

A snapshot of the network is asked about training texts, many at a time, and what its attacker wrote is trained on with
the true label.

Guarantee: every generated text lies in the space that the defender's substitutes span around its training text, and
differs from it; one that is called a flip was scored again as text and fools the snapshot.  The texts depend on the
snapshot and on the setting's generator alone, not on how the questions were batched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from lexproof.asking import Item, answer_all
from lexproof.attacks.base import first_accepted
from lexproof.attacks.greedy import check_share
from lexproof.engine import Limits, Outcome
from lexproof.errors import InputError
from lexproof.evidence import Witness
from lexproof.goal import Goal
from lexproof.points import AsText, FloatArray, Fresh, IntArray, Request, Swaps, dense
from lexproof.questions import Find, Question, fewest
from lexproof.search import Search, Spent
from lexproof.space import Space
from lexproof.text import Input, Text
from lexproof.training.defense import Defense, Examples, Setting
from lexproof.victims.base import Victim

_BLOCK = 512  # texts asked about together; between blocks it is seen whether there are enough


@dataclass(frozen=True, slots=True)
class Made:
    """A text that an attack wrote (of a pair: the hypothesis), with its number of swaps."""

    text: str
    swaps: int
    is_flip: bool


@dataclass(frozen=True, slots=True)
class Generated:
    """Training text `number`, perturbed."""

    number: int
    given: Input
    made: Made


# ---------------------------------------------------------------------- what an attack leaves behind


@dataclass(frozen=True, slots=True)
class Hunted:
    """How an attack ended: its flip, and the text nearest to the goal that it scored on the way."""

    flip: IntArray | None
    nearest: IntArray | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Perturb:
    """What does an attack make of a text?  Its flip; if it finds none, the most harmful text that it tried.

    Without `keep_failed` an attack that fails makes nothing.  A text that is misclassified as it stands is not
    attacked.
    """

    find: Find
    keep_failed: bool = True

    @property
    def limits(self) -> Limits:
        """Budget of one search."""
        return self.find.limits

    def search(self, victim: Victim, space: Space, goal: Goal) -> Search[Hunted]:
        """The attack, watched: its requests pass through here with their scores."""
        hunt = self.find.search(victim, space, goal)
        flip = nearest = None
        try:
            request = next(hunt)  # the text itself
            scores = yield request
            reached = float(goal.progress(scores)[0])
            while True:
                request = hunt.send(scores)
                scores = yield request
                point = nearer(space, goal, request, scores, reached)
                if point is not None:
                    nearest, reached = point
        except StopIteration as end:
            flip = end.value
        except Spent:
            hunt.close()
        return Hunted(flip, nearest)

    def flip(self, outcome: Outcome) -> IntArray | None:
        """The attack's flip, or a better one seen on the way."""
        return fewest(outcome.claim.flip, outcome.best)

    def answer(self, victim: Victim, space: Space, outcome: Outcome, witness: Witness | None) -> Made | None:
        """The text, if it differs from the original."""
        del victim
        if witness is not None:
            return made_of(witness)
        nearest = outcome.claim.nearest
        if nearest is None or not self.keep_failed:
            return None
        return Made(space.text(nearest), int(np.count_nonzero(nearest)), is_flip=False)


def made_of(witness: Witness | None) -> Made | None:
    """The text of a checked flip; None if there is none, or if it is the original."""
    if witness is None or not witness.changed:
        return None
    return Made(witness.text, len(witness.changed), is_flip=True)


def nearer(
    space: Space, goal: Goal, request: Request, scores: FloatArray, reached: float
) -> tuple[IntArray, float] | None:
    """Of the texts of the space in a request the one nearest to the goal, with its progress, if that beats `reached`.

    Probes, gradients and texts with more swaps than the space allows do not count, nor does the original.
    """
    if isinstance(request, Fresh | AsText):
        request = request.points
    if not isinstance(request, np.ndarray | Swaps):
        return None
    progress = goal.progress(scores)
    order = np.flatnonzero(progress > reached)
    if not len(order):
        return None
    order = order[np.argsort(-progress[order], kind="stable")]
    written = dense(request[order])
    swaps = np.count_nonzero(written, axis=1)
    inside = (written >= 0).all(axis=1) & (swaps >= 1) & (swaps <= space.max_swaps)
    row = first_accepted(space, written, np.flatnonzero(inside))
    return None if row is None else (written[row].copy(), float(progress[order[row]]))


# ---------------------------------------------------------------------- many texts at once


def generate(
    question: Question[Made | None],
    victim: Victim,
    setting: Setting,
    numbers: Sequence[int],
    max_share: float,
    told: Callable[[int], None] = lambda done: None,
) -> list[Generated]:
    """What the question makes of these training texts, in their order; texts that it makes nothing of are left out.

    `told` is told how many are done.
    """
    assert setting.synonyms is not None, "the loop gives substitutes to a defense that needs them"
    candidates = setting.synonyms

    def items() -> Iterator[Item]:
        for key, number in enumerate(numbers):
            given = setting.inputs[number]
            text = Text.parse(given) if isinstance(given, str) else Text.parse(given[1], premise=given[0])
            yield Item(key, Space.around(text, candidates, max_share=max_share), int(setting.gold[number]))

    found: dict[int, Generated] = {}
    for done, answered in enumerate(answer_all(question, victim, items()), start=1):
        told(done)
        if answered.error is not None:
            raise answered.error
        made, premise = answered.answer, answered.item.space.original.premise
        if made is not None:
            given: Input = made.text if premise is None else (premise, made.text)
            found[answered.item.key] = Generated(numbers[answered.item.key], given, made)
    return [found[key] for key in sorted(found)]


@dataclass(kw_only=True)
class Generating(Defense):
    """Plain training for a while, then training with generated texts beside the given ones.

    `warmup`: share of the epochs that are plain, rounded up; none of them is kept as the best.  0 is for a model that
    is trained already.  `max_share`: of a text's words may be swapped.  `limit`: so many texts are attacked at a time
    at most, 0 for all.
    """

    family: ClassVar[str] = "adversarial data"
    needs_synonyms: ClassVar[bool] = True
    warmup: float = 0.25
    max_share: float = 0.25
    limit: int = 2000

    def __post_init__(self) -> None:
        check_share("max_share", self.max_share)
        if not 0 <= self.warmup < 1:
            raise InputError(f"expected warmup in [0, 1), got {self.warmup}")
        if self.limit < 0:
            raise InputError(f"expected limit >= 0, got {self.limit}")

    def begin(self, setting: Setting) -> None:
        """InputError if the plain epochs leave none to train on generated texts."""
        super().begin(setting)
        self.plain = math.ceil(self.warmup * setting.epochs - 1e-9)
        if self.plain >= setting.epochs:
            raise InputError(
                f"expected more epochs than the {self.plain} plain one(s) that {self.name} begins with, "
                f"got {setting.epochs}; raise epochs, or for a trained model give {self.name}?warmup=0"
            )
        self.epoch = 0
        self._figures: dict[str, float] = {}

    def examples(self, epoch: int) -> Examples | None:
        """The generated texts with their true labels, in the epochs in which there are new ones."""
        self.epoch, self._figures = epoch, {}
        if not self.is_due(epoch):
            return None
        found = self.generated()
        return [own.given for own in found], [int(self.setting.gold[own.number]) for own in found]

    def is_due(self, epoch: int) -> bool:
        """Whether new texts are generated before this epoch: by default before each that is not plain."""
        return epoch > self.plain

    def generated(self) -> list[Generated]:
        """The texts made of a snapshot of the network as it is now."""
        raise NotImplementedError

    def asked(self, question: Question[Made | None], wanted: int | None = None) -> list[Generated]:
        """Ask about training texts in random order, until `wanted` were made of them or `limit` were asked about."""
        setting = self.setting
        victim = setting.learner.snapshot()
        numbers = setting.rng.permutation(len(setting.inputs))[: self.limit or None].tolist()
        found: list[Generated] = []
        asked, total = 0, len(numbers)
        setting.told("attacked", 0, total)
        while asked < len(numbers) and (wanted is None or len(found) < wanted):
            block = numbers[asked : asked + _BLOCK]
            found += generate(question, victim, setting, block, self.max_share, partial(self._tell, asked, total))
            asked += len(block)
        found = found[:wanted]
        flips = [own.made.swaps for own in found if own.made.is_flip]
        self._figures = {"attacked": asked, "added": len(found), "flips": len(flips)}
        if flips:
            self._figures["swaps"] = float(np.mean(flips))
        return found

    def _tell(self, before: int, total: int, done: int) -> None:
        self.setting.told("attacked", before + done, total)

    def draw_seed(self) -> int:
        """A seed for an attack, another one each time."""
        return int(self.setting.rng.integers(2**31))

    def merit(self, epoch: int, accuracy: float) -> float | None:
        """Accuracy; plain epochs may not be kept."""
        return accuracy if epoch > self.plain else None

    def measures(self) -> dict[str, float]:
        """Texts attacked before this epoch, texts added, flips among them and their mean number of swaps."""
        return self._figures

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The epoch and its figures."""
        return {}, {"epoch": self.epoch, "figures": self._figures}

    def restore(self, tensors: Mapping[str, Tensor], rest: Mapping[str, Any]) -> None:
        """Take back both."""
        self.epoch, self._figures = rest["epoch"], dict(rest["figures"])
