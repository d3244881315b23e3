"""Every text of a space with a given number of swaps, by itertools alone: no points, no ranks, no bound victim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice, product

import numpy as np

from lexproof.answers import Certificate, Step
from lexproof.errors import EvidenceError
from lexproof.points import FloatArray
from lexproof.space import Space
from lexproof.text import Input, Text
from lexproof.victims.base import Victim

Choices = Sequence[Sequence[str]]

_BATCH = 512


def count_texts(choices: Choices, first: int, last: int) -> int:
    """How many texts have `first … last` swaps: sums of products of numbers of substitutes."""
    counts = [1] + [0] * last
    for options in choices:
        for k in range(last, 0, -1):
            counts[k] += counts[k - 1] * len(options)
    return sum(counts[first:])


def texts(text: Text, choices: Choices, swaps: int) -> Iterator[Input]:
    """All texts with exactly so many swaps, as a victim reads them."""
    opened = [i for i, options in enumerate(choices) if options]
    for where in combinations(opened, swaps):
        for words in product(*(choices[i] for i in where)):
            yield text.swap(dict(zip(where, words, strict=True))).input


def margins(scores: FloatArray, label: int, target: int | None) -> FloatArray:
    """What is left before a flip: score of the label less the best other, or best other less score of the target."""
    own = label if target is None else target
    lead: FloatArray = scores[:, own] - np.delete(scores, own, axis=1).max(axis=1)
    return lead if target is None else -lead


def least_margins(
    space: Space, certificate: Certificate, victim: Victim, step: Step, enough: float
) -> tuple[float, float]:
    """Score every text of a step: the least margin of scores, and of logits over each rival.

    Raises EvidenceError at a margin of scores that does not exceed `enough`.  Logits are read from probabilities: their
    differences are differences of logarithms.
    """
    label, target = certificate.label, certificate.target
    rivals = [k for k in range(victim.classes) if k != label] if target is None else [target]
    least, least_logit = np.inf, np.inf
    for swaps in range(step.first, step.last + 1):
        every = texts(space.original, space.choices, swaps)
        while batch := list(islice(every, _BATCH)):
            scores = victim.scores(batch)
            found = margins(scores, label, target)
            if not found.min() > enough:
                bad = int(np.argmin(found))
                raise EvidenceError(f"{batch[bad]!r} has scores {np.round(scores[bad], 6).tolist()}")
            least = min(least, float(found.min()))
            with np.errstate(divide="ignore", invalid="ignore"):
                logits = np.log(scores)
                leads = (logits[:, [label]] - logits[:, rivals]).min(axis=1)
            least_logit = min(least_logit, float(np.fmin(leads.min(), np.inf)))
    return least, least_logit
