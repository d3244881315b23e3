"""Smoothed victims: SAFER and RanMASK, classifiers that read many randomised copies of a text and join the answers.

Guarantee: a smoothed victim is pure.  The copies of a text are drawn from a generator seeded by the seed and the text
itself, so that the same text has the same copies, whatever was asked before or beside it, and other texts have others.

Ensembles of the N copies' answers:

    logit   softmax of the mean of the copies' logits; the fair one to attack
    vote    the share of the copies that vote for each class; most single swaps change no vote, which blinds attacks
            that follow scores

Probabilities of the base stand for its logits: log p differs from them by a constant that the softmax takes out.

Three classifiers must be told apart: the base; this victim, which is the base on N fixed draws; and the smoothed
classifier g(x) = argmax_c P(base(randomised x) = c), of which a vote is an estimate.  Certificates
(`lexproof.certify.smoothing`) speak for g alone.

Reference: Ye et al. 2020, SAFER; Zeng et al. 2021, Certified Robustness to Text Adversarial Attacks by Randomized
[MASK]; Li et al. 2021, Searching for an Effective Defender, Section 5.2.  Deviations: the released code of the last
normalises each copy's logits to length 1 before averaging them, which is neither a mean of logits nor of probabilities;
here they are averaged as they are.  There every query draws anew; here the draws are fixed.
"""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from lexproof.errors import InputError, ModelError, check_whole
from lexproof.points import FloatArray
from lexproof.text import Input
from lexproof.victims.base import Victim, check_scores
from lexproof.victims.safer_sets import SynonymSets
from lexproof.victims.smoothed_noise import Masking, Randomiser, Swapping, generator, mask_of

Ensemble = Literal["logit", "vote"]
ENSEMBLES: tuple[str, ...] = get_args(Ensemble)

RATE = 0.7
SAMPLES = 100

_COPIES = 8192  # of many texts, that the base is asked about at once
_LEAST = 1e-300  # probability that still has a logarithm
_SUMS = 1e-3  # how far the sum of a row may be from 1 for it to hold probabilities


class Smoothed(Victim):
    """A base victim on randomised copies of each text."""

    randomiser: Randomiser

    def __init__(self, base: Victim, *, samples: int = SAMPLES, ensemble: Ensemble = "logit", seed: int = 0) -> None:
        check_whole(samples=samples)
        check_whole(0, seed=seed)
        if ensemble not in ENSEMBLES:
            raise InputError(f"expected ensemble {' or '.join(ENSEMBLES)}, got {ensemble!r}")
        if ensemble == "logit" and not base.has_scores:
            raise InputError("expected a base with scores for ensemble 'logit', got labels only; use 'vote'")
        self.base, self.samples, self.seed = base, samples, seed
        self.ensemble: Ensemble = ensemble
        self.labels = base.labels
        self.name = base.name
        self.training: dict[str, Any] = dict(getattr(base, "training", {}))

    @property
    @abstractmethod
    def config(self) -> dict[str, Any]:
        """The settings, ready for JSON."""

    @cached_property
    def rounding(self) -> float:  # type: ignore[override]
        """Of logits that of the base, as a mean is no less exact; of votes one that goes from one class to another.

        A copy whose own scores tie within rounding may vote either way; more than one of a text is not reckoned with.
        """
        return self.base.rounding if self.ensemble == "logit" else 2 / self.samples

    def scores(self, inputs: Sequence[Input]) -> FloatArray:
        """What the ensemble says of each text: (B, classes)."""
        found = np.empty((len(inputs), self.classes))
        step = max(1, _COPIES // self.samples)
        for start in range(0, len(inputs), step):
            block = inputs[start : start + step]
            drawn = [self.copies(given, self.samples, generator(self.seed, "predict", given)) for given in block]
            scores = self.base_scores([copy for copies in drawn for copy in copies])
            found[start : start + step] = self._joined(scores.reshape(len(block), self.samples, self.classes))
        return check_scores(found, len(inputs), self.classes, f"the {self.kind} victim {self.name!r}")

    def copies(self, given: Input, count: int, rng: np.random.Generator) -> list[Input]:
        """Randomised copies of a text."""
        return self.randomiser.copies(given, count, rng)

    def base_scores(self, copies: Sequence[Input]) -> FloatArray:
        """The base's scores of copies, each distinct one asked for once."""
        places = {copy: place for place, copy in enumerate(dict.fromkeys(copies))}
        return self.base.scores(list(places))[[places[copy] for copy in copies]]

    def _joined(self, scores: FloatArray) -> FloatArray:
        """The ensemble of scores (B, N, classes): (B, classes)."""
        if self.ensemble == "vote":
            votes = scores.argmax(axis=2)[:, :, None] == np.arange(self.classes)
            return np.asarray(votes.sum(axis=1) / self.samples, np.float64)
        if scores.size and (scores.min() < 0 or np.abs(scores.sum(axis=2) - 1).max() > _SUMS):
            raise ModelError("expected a base that gives probabilities for ensemble 'logit', got others; use 'vote'")
        logits = np.log(np.maximum(scores, _LEAST)).mean(axis=1)
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True), np.float64)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the base, the settings and what the copies are drawn from."""
        content = [self.kind, self.base.fingerprint, self.labels, self.config, *self._drawn_from()]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]

    def _drawn_from(self) -> list[str]:
        return []

    @property
    def caveats(self) -> tuple[str, ...]:
        """What a report about this victim must say beside its figures."""
        said = (
            f"answers are about {self.samples} copies of each text whose draws are fixed by the seed and the text, "
            "which an attacker may search through; they are not about the smoothed classifier",
            "certificates by smoothing speak for the smoothed classifier that votes over all its copies, neither for "
            "the base model nor for this victim",
        )
        if self.ensemble == "logit":
            return said
        return (
            *said,
            "votes seldom change with one word, which blinds attacks that follow scores: compare with ensemble=logit",
        )

    def save(self, folder: Path | str) -> None:
        """Write the victim and its base to a folder that `lexproof.load` reads; whole or not at all."""
        from lexproof.victims.smoothed_folder import save_smoothed

        save_smoothed(self, folder)


class RanMask(Smoothed):
    """Copies with a share `rate` of the words masked, as the base reads a mask."""

    kind: ClassVar[str] = "ranmask"

    def __init__(
        self,
        base: Victim,
        *,
        rate: float = RATE,
        samples: int = SAMPLES,
        ensemble: Ensemble = "logit",
        seed: int = 0,
    ) -> None:
        super().__init__(base, samples=samples, ensemble=ensemble, seed=seed)
        self.randomiser: Masking = Masking(rate, mask_of(base))

    @property
    def config(self) -> dict[str, Any]:
        """The rate, and how copies are drawn and joined."""
        return {
            "rate": self.randomiser.rate,
            "samples": self.samples,
            "ensemble": self.ensemble,
            "seed": self.seed,
        }


class Safer(Smoothed):
    """Copies with every word drawn from its set of synonyms."""

    kind: ClassVar[str] = "safer"

    def __init__(
        self,
        base: Victim,
        sets: SynonymSets,
        *,
        samples: int = SAMPLES,
        ensemble: Ensemble = "logit",
        seed: int = 0,
    ) -> None:
        super().__init__(base, samples=samples, ensemble=ensemble, seed=seed)
        self.sets = sets
        self.randomiser: Swapping = Swapping(sets)

    @property
    def config(self) -> dict[str, Any]:
        """How copies are drawn and joined."""
        return {"samples": self.samples, "ensemble": self.ensemble, "seed": self.seed}

    def _drawn_from(self) -> list[str]:
        return [self.sets.fingerprint]
