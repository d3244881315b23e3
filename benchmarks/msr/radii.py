"""Certified radii of index sets of many texts: what three of the studies are made of, kept in OUT/radii.jsonl.

Where a study asks for them, too, the distances of the nearest flips that descent finds, in OUT/flips.jsonl.
"""

import math
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from records import Log, Progress, Record, Source, milestones

from lexproof.safe_radius.descent import nearest_flip
from lexproof.safe_radius.index_sets import IndexSet, index_sets
from lexproof.safe_radius.lower import certified_radii
from lexproof.safe_radius.whole import movable
from lexproof.text import Text
from lexproof.victims.balls import Item, opened
from lexproof.victims.base import Victim
from lexproof.victims.open_tokens import word_model_tokens

How = Callable[[Victim, Text, int, str, Sequence[IndexSet]], Record]
NORMS = {"1": 1.0, "2": 2.0, "inf": math.inf}
NAMES = ("model", "fingerprint", "text", "norm", "spec", "longest", "seed")


@dataclass(frozen=True, slots=True)
class Task:
    """Index sets of a network's texts (`spec` as in `index_sets`, of the words that it reads) in one norm."""

    model: str
    norm: str
    spec: str
    longest: int | None = None  # tokens of a text


def log_of(out: Path) -> Log:
    return Log(out / "radii.jsonl", NAMES)


def read_words(victim: Victim, text: Text) -> Text:
    """The text up to the last word that the victim reads."""
    count = bisect_left(
        range(len(text)), True, key=lambda word: not len(word_model_tokens(victim, text, [word]).places)
    )
    return Text(text.words[:count], text.gaps[: count + 1], text.premise)


def measure(victim: Victim, text: Text, label: int, norm: str, sets: Sequence[IndexSet]) -> Record:
    """The certified radius of each set; the diameter, and its number in `whole`, where all of the box is proven."""
    wall, processor = time.perf_counter(), time.process_time()
    found = opened(victim, [Item(text, words) for words in sets])
    radii = torch.full((len(sets),), math.inf, dtype=torch.float64)
    for items, network in found.groups:
        labels = torch.full((len(items),), label)
        radii[items] = certified_radii(network, labels, NORMS[norm], theta=2.0 * victim.rounding)
    diameters = [found.scale.diameter(len(tokens.places), NORMS[norm]) for tokens in found.tokens]
    return {
        "sets": [list(words) for words in sets],
        "places": [tokens.places.tolist() for tokens in found.tokens],
        "radii": [min(r, d) for r, d in zip(radii.tolist(), diameters, strict=True)],
        "whole": radii.isinf().nonzero()[:, 0].tolist(),
        "diameters": diameters,
        "seconds": round(time.perf_counter() - wall, 4),
        "processor": round(time.process_time() - processor, 4),
    }


def flips_log(out: Path) -> Log:
    return Log(out / "flips.jsonl", NAMES)


def descend(victim: Victim, text: Text, label: int, norm: str, sets: Sequence[IndexSet]) -> Record:
    """The distance of the nearest flip that descent finds for each set, None where it finds none."""
    found = opened(victim, [Item(text, words) for words in sets])
    near: list[float | None] = [None] * len(sets)
    for numbers, rows in movable(victim, found):
        labels = torch.full((len(numbers),), label)
        flips = nearest_flip(rows, labels, NORMS[norm], theta=2.0 * victim.rounding)
        for number, distance in zip(numbers, flips.distance.tolist(), strict=True):
            near[number] = distance if distance < math.inf else None
    return {"places": [tokens.places.tolist() for tokens in found.tokens], "flips": near}


def run(tasks: Sequence[Task], source: Source, log: Log, count: int, how: How = measure) -> None:
    """All tasks with so many texts each, a few texts of every network first."""
    waiting = []
    for target in milestones(count):
        for task in tasks:
            waiting += [(task, n) for n in source.chosen(task.model, target, task.longest)]
    waiting = [pair for pair in dict.fromkeys(waiting) if _key(*pair, source) not in log]
    progress = Progress(len(waiting))
    for task, number in waiting:
        victim = source.victim(task.model)
        text, label = source.text(task.model, number)
        sets = index_sets(read_words(victim, text), task.spec, source.seed)
        head = dict(zip(NAMES, _key(task, number, source), strict=True))
        log.add({**head, "label": label, **how(victim, text, label, task.norm, sets)})
        progress.step(f"{task.model} L{task.norm} {task.spec}")


def _key(task: Task, number: int, source: Source) -> tuple[object, ...]:
    fingerprint = source.victim(task.model).fingerprint
    return task.model, fingerprint, number, task.norm, task.spec, task.longest, source.seed
