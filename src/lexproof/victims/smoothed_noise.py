"""Randomisers: how a smoothing defense changes a text at random, for training, for prediction and for certificates.

    Masking     k of the n words stay, chosen uniformly; the others are masked (RanMASK)
    Swapping    every word is drawn uniformly from its set, which holds the word itself (SAFER)

Gaps and the premise of a pair stay as they are.  Every copy of a text is drawn independently of the others.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from lexproof.errors import InputError
from lexproof.points import MASKED, IntArray
from lexproof.space import MASK, Space
from lexproof.text import Input, Text
from lexproof.victims.base import Victim
from lexproof.victims.safer_sets import SynonymSets
from lexproof.victims.vocabulary import Vocabulary

_LEAST_KEPT = 2  # words that stay however large the rate, as in the authors' code


class Randomiser(ABC):
    """Draws randomised copies of a text."""

    mask: str = MASK

    @abstractmethod
    def draw(self, text: Text, count: int, rng: np.random.Generator) -> tuple[Space, IntArray]:
        """Copies as points (count, n) of a space around the text."""

    def copies(self, given: Input, count: int, rng: np.random.Generator) -> list[Input]:
        """Copies as a victim reads them."""
        text = parsed(given)
        space, points = self.draw(text, count, rng)
        surfaces = ["".join(space.pieces(point, self.mask)) for point in points]
        return list(surfaces) if text.premise is None else [(text.premise, surface) for surface in surfaces]


@dataclass(frozen=True, slots=True)
class Masking(Randomiser):
    """Masks a share `rate` of the words, rounded, and keeps at least two; `mask` is what is written instead."""

    rate: float
    mask: str = MASK

    def __post_init__(self) -> None:
        if not 0 < self.rate < 1:
            raise InputError(f"expected a mask rate in (0, 1), got {self.rate}")

    def kept(self, words: int) -> int:
        """k: how many of so many words stay."""
        return max(min(words, _LEAST_KEPT), words - round(self.rate * words))

    def draw(self, text: Text, count: int, rng: np.random.Generator) -> tuple[Space, IntArray]:
        """Uniform choices of k words that stay."""
        row = np.zeros(len(text), np.int32)
        row[self.kept(len(text)) :] = MASKED
        return Space(text, [()] * len(text)), rng.permuted(np.tile(row, (count, 1)), axis=1)


@dataclass(frozen=True, slots=True)
class Swapping(Randomiser):
    """Replaces each word by a uniform draw from its set."""

    sets: SynonymSets

    def draw(self, text: Text, count: int, rng: np.random.Generator) -> tuple[Space, IntArray]:
        """Uniform draws from the product of the sets."""
        space = Space(text, [self.sets(word)[1:] for word in text.words])
        return space, rng.integers(0, space.sizes + 1, (count, space.n), np.int32)


def parsed(given: Input) -> Text:
    """The words that a randomiser sees."""
    return Text.parse(given) if isinstance(given, str) else Text.parse(given[1], premise=given[0])


def generator(seed: int, purpose: str, given: Input) -> np.random.Generator:
    """A generator of a text's own: it depends on the seed, on what the draws are for, and on the text alone."""
    if seed < 0:
        raise InputError(f"expected seed >= 0, got {seed}")
    content = [purpose, given] if isinstance(given, str) else [purpose, *given]
    digest = hashlib.sha256("\0".join(content).encode("utf-8", "surrogatepass")).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest, np.uint32).tolist()])


def mask_of(victim: Victim) -> str:
    """What a victim reads as one masked word: a transformer's mask token, a word that a word model does not know."""
    encoder: Any = getattr(victim, "encoder", None)
    if isinstance(getattr(encoder, "mask", None), str):
        return str(encoder.mask)
    vocabulary = getattr(victim, "vocabulary", None)
    if not isinstance(vocabulary, Vocabulary):
        return MASK
    # the string MASK itself would be three tokens, two of them brackets
    return next(word for word in ("unk" + "x" * more for more in range(len(vocabulary) + 1)) if word not in vocabulary)
