"""Rand: in every step one random word of each text is replaced by a random word.

It answers how much of the robustness against single words is had without looking at the model.  No extra pass.

Symbols: V the words of letters of the training texts that stand in them at least `least` times.

Reference: the baseline of this name in Xu et al. 2024, section 6.1.  There it tunes a trained classifier further;
here the classifier is trained with it from the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lexproof.defenses.special_words import training_words, word_counts
from lexproof.edits import as_text
from lexproof.errors import InputError, check_whole
from lexproof.text import Input
from lexproof.training.defense import Defense, Setting


@dataclass(kw_only=True)
class Rand(Defense):
    """Training on texts with one random word; `share` of the texts of a batch are changed."""

    name: ClassVar[str] = "rand"
    family: ClassVar[str] = "single word"

    share: float = 1.0
    least: int = 1

    def __post_init__(self) -> None:
        check_shares(share=self.share)
        check_whole(least=self.least)

    def begin(self, setting: Setting) -> None:
        """Collect V."""
        super().begin(setting)
        counts = word_counts(setting.inputs, setting.gold, setting.learner.classes)
        self.words = training_words(counts, self.least)

    def texts(self, inputs: Sequence[Input], gold: np.ndarray[Any, Any], rng: np.random.Generator) -> Sequence[Input]:
        """The texts with one random word each."""
        if not self.share:
            return inputs
        changed = rng.random(len(inputs)) < self.share
        return [with_word(given, self.words, rng) if changed[b] else given for b, given in enumerate(inputs)]


def with_word(given: Input, words: Sequence[str], rng: np.random.Generator) -> Input:
    """The text with another of these words at a random position; as it is if it has no word, or there is no other."""
    text = as_text(given)
    if not len(text) or not words:
        return given
    position = int(rng.integers(len(text)))
    old = text.words[position].lower()
    word = words[int(rng.integers(len(words)))]
    while word == old:
        if len(words) == 1:
            return given
        word = words[int(rng.integers(len(words)))]
    return text.swap({position: word}).input


def check_shares(**shares: float) -> None:
    """InputError unless these are shares of a whole that leave nothing below 0."""
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise InputError(f"expected {name} in [0, 1], got {share!r}")
    if sum(shares.values()) > 1 + 1e-9:  # thirds and sixths do not add up to 1 exactly
        raise InputError(f"expected {' + '.join(shares)} of at most 1, got {sum(shares.values()):g}")
