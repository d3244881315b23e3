"""Certificates by smoothing: which texts around a text the smoothed classifier gives the same class.

    g(x) = argmax_c P(base(randomised x) = c)

Guarantee: with probability at least `confidence` over the draws, g gives `label` to every text of the space with at
most `radius` swaps (the radius itself included), strictly ahead of every other class.

Why.  Let p_low <= P(base says A) and p_up >= P(base says B) for every other class B, on copies of x.  On copies of a
text with at most r swaps each of them differs by at most delta_r (see `smoothing_shift`), so A stays ahead if

    p_low - delta_r > p_up + delta_r

Since the others have at most 1 - p_low together, p_up is never taken larger than that; with two classes the inequality
then reads p_low - delta_r > 1/2.  It cannot be weakened to p_low - delta_r > p_up: the copies that A loses may be those
that B gains.

The class is chosen on `selection` copies, and bounded on `samples` others: a class chosen and bounded on the same draws
looks likelier than it is.  Bounds are Clopper and Pearson's: with two classes one of them, at the full 1 - confidence;
with C classes one from below and C - 1 from above, each at (1 - confidence) / C.  A copy whose scores tie within the
base's rounding counts for no class from below and for each of the tied from above.  If A is not certainly ahead on x
itself, the certificate abstains.

Symbols: A the class, r swaps, delta_r the shift.

Reference: Ye et al. 2020, SAFER; Zeng et al. 2021, RanMASK; Cohen et al. 2019, Certified Adversarial Robustness via
Randomized Smoothing, for the two samples.  Deviations: SAFER's released code takes a constant 0.01 for the error of its
estimate, and RanMASK's reports the first radius that fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexproof.certify.smoothing_shift import Shifts, shifts
from lexproof.errors import InputError, check_whole
from lexproof.space import Space
from lexproof.statistics.intervals import clopper_pearson
from lexproof.text import Input
from lexproof.victims.base import Victim
from lexproof.victims.smoothed import RanMask, Smoothed
from lexproof.victims.smoothed_noise import generator

Counts = NDArray[np.int64]

_BLOCK = 4096  # copies that are scored at once
_ROOM = 1e-9  # what the bounds of a probability give away to rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothedCertificate:
    """What is certain about the smoothed classifier around a text; see the module for what exactly."""

    space: Space
    label: int
    """The class that is certified, or was tried."""
    radius: int | None
    """The most swaps, inclusive, that the class withstands; None if not even the text itself has it for certain."""
    p_low: float
    p_up: float
    confidence: float
    samples: int
    selection: int
    seed: int
    kind: str
    any_word: bool
    """Whether it holds for any words in place of the swapped ones, not only for those of the space."""

    @property
    def abstained(self) -> bool:
        """Whether nothing is claimed."""
        return self.radius is None

    @property
    def is_whole(self) -> bool:
        """Whether it holds for the whole space."""
        return self.radius is not None and self.radius >= self.space.max_swaps

    @property
    def statement(self) -> str:
        """What is claimed, and of what."""
        of = "It speaks for the smoothed classifier, neither for its base nor for its finite number of copies."
        if self.radius is None:
            return f"Nothing is claimed: class {self.label} is not certain for the text itself. {of}"
        words = "any single words" if self.any_word else "substitutes of the space"
        swapped = f" and to every text made from it by swapping at most {self.radius} of its words for {words}"
        return (
            f"With confidence {self.confidence:g} over the draws, the smoothed classifier ({self.kind}) gives class "
            f"{self.label} to the text{swapped if self.radius else ', and no swap is certified'}. {of}"
        )

    def to_json(self) -> dict[str, Any]:
        """The certificate as a JSON object."""
        premise = self.space.original.premise
        return {
            "text": str(self.space.original),
            **({} if premise is None else {"premise": premise}),
            "answer": "smoothed",
            "label": self.label,
            "radius": self.radius,
            "abstained": self.abstained,
            "max_swaps": self.space.max_swaps,
            "whole": self.is_whole,
            "p_low": self.p_low,
            "p_up": self.p_up,
            "confidence": self.confidence,
            "samples": self.samples,
            "selection": self.selection,
            "seed": self.seed,
            "statement": self.statement,
        }


def certify_smoothed(
    victim: Victim,
    space: Space,
    label: int | None = None,
    *,
    samples: int = 1000,
    selection: int = 100,
    confidence: float = 0.99,
    seed: int = 0,
) -> SmoothedCertificate:
    """How many swaps the class of a text withstands in the smoothed classifier of a SAFER or RanMASK victim.

    With `label` that class is tried, and no copies are spent on choosing one.  The draws are others than those that the
    victim predicts with, also for the same seed.
    """
    if not isinstance(victim, Smoothed):
        raise InputError(f"expected a victim of kind safer or ranmask, got {victim.kind!r}; use prove for any other")
    check_whole(samples=samples, selection=selection)
    check_whole(0, seed=seed)
    if label is not None and (not isinstance(label, Integral) or isinstance(label, bool)):
        raise InputError(f"expected a label as a whole number, got {label!r}")
    given = space.original.input
    if label is None:
        votes, _ = _votes(victim, given, selection, generator(seed, "select", given))
        label = int(votes.argmax())
    elif not 0 <= label < victim.classes:
        raise InputError(f"expected a label from 0 to {victim.classes - 1}, got {label}")
    else:
        selection = 0
    surely, possibly = _votes(victim, given, samples, generator(seed, "bound", given))
    p_low, p_up = bounds(surely, possibly, label, samples, confidence)
    return SmoothedCertificate(
        space=space,
        label=label,
        radius=certified_radius(p_low, p_up, shifts(victim, space)),
        p_low=p_low,
        p_up=p_up,
        confidence=confidence,
        samples=samples,
        selection=selection,
        seed=seed,
        kind=victim.kind,
        any_word=isinstance(victim, RanMask),
    )


def _votes(victim: Smoothed, given: Input, count: int, rng: np.random.Generator) -> tuple[Counts, Counts]:
    """Of so many copies, how many are surely and how many possibly given each class by the base."""
    surely, possibly = np.zeros((2, victim.classes), np.int64)
    for start in range(0, count, _BLOCK):
        scores = victim.base_scores(victim.copies(given, min(_BLOCK, count - start), rng))
        near = scores >= scores.max(axis=1, keepdims=True) - victim.base.rounding
        possibly += near.sum(axis=0)
        surely += near[near.sum(axis=1) == 1].sum(axis=0)
    return surely, possibly


def bounds(surely: Counts, possibly: Counts, label: int, samples: int, confidence: float) -> tuple[float, float]:
    """p_low of the label and p_up of the likeliest other class, which hold together with this confidence."""
    if not 0.5 < confidence < 1:
        raise InputError(f"expected a confidence in (0.5, 1), got {confidence}")
    classes = len(surely)
    tail = (1 - confidence) / (1 if classes == 2 else classes)
    p_low = max(0.0, clopper_pearson(int(surely[label]), samples, 1 - 2 * tail)[0] - _ROOM)
    p_up = 1 - p_low
    if classes > 2:
        most = int(np.delete(possibly, label).max())  # the upper bound grows with the count
        p_up = min(p_up, clopper_pearson(most, samples, 1 - 2 * tail)[1] + _ROOM)
    return p_low, p_up


def certified_radius(p_low: float, p_up: float, moved: Shifts) -> int | None:
    """The largest r with p_low - delta_r > p_up + delta_r; None if there is none."""
    held = [r for r, delta in enumerate(moved) if p_low - p_up > 2 * delta]
    return max(held, default=None)
