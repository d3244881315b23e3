"""The joint score of a changed text: how similar it stays to the original, and how fluently it reads.

With cos the cosine of the sentence vectors and ratio = PPL(x') / PPL(x), the cost of x' (lower is better) is

    weights=code     alpha * ratio + beta * (1 - cos)        what the authors' released code minimizes
    weights=paper    beta * ratio - alpha * cos              what the paper's equation (4) maximizes, negated

with alpha = 3 and beta = 20 in both: the paper's formula asks for fluency first, its code for similarity first.  A part
that is not given (no encoder, no model of fluency) adds nothing.

Reference: Xu et al. 2024, Single Word Change is All You Need, Section 4.  Deviations: any sentence encoder (MiniLM by
default) instead of the Universal Sentence Encoder, any model of fluency instead of BERT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal, get_args

import numpy as np

from lexproof.candidates.similarity import Encoder
from lexproof.errors import InputError
from lexproof.fluency.base import Fluency
from lexproof.goal import steady
from lexproof.points import FloatArray

Weights = Literal["code", "paper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """What changed texts cost; `encoder` and `fluency` are each used where they are given."""

    encoder: Encoder | None = None
    fluency: Fluency | None = None
    weights: Weights = "code"
    alpha: float = 3.0
    beta: float = 20.0

    def __post_init__(self) -> None:
        if self.weights not in get_args(Weights):
            raise InputError(f"expected weights out of {', '.join(get_args(Weights))}, got {self.weights!r}")
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not isfinite(value) or value < 0:
                raise InputError(f"expected {name} >= 0, got {value}")

    @property
    def is_blind(self) -> bool:
        """Whether all texts cost the same."""
        return self.encoder is None and self.fluency is None

    def costs(self, original: str, texts: Sequence[str]) -> FloatArray:
        """The cost of each text, lower is better; what differs by less than rounding of the models is equal."""
        of_cosine, of_ratio = (self.beta, self.alpha) if self.weights == "code" else (self.alpha, self.beta)
        costs = of_ratio * self.ratios(original, texts) - of_cosine * self.cosines(original, texts)
        return steady(costs + (self.beta if self.weights == "code" else 0.0))

    def cosines(self, original: str, texts: Sequence[str]) -> FloatArray:
        """The cosine of each text with the original; 1 without an encoder."""
        if self.encoder is None:
            return np.ones(len(texts))
        vectors = self.encoder.encode([original, *texts]).astype(np.float64)
        return np.asarray(vectors[1:] @ vectors[0], np.float64)

    def ratios(self, original: str, texts: Sequence[str]) -> FloatArray:
        """The perplexity of each text by that of the original; 1 without a model of fluency."""
        if self.fluency is None:
            return np.ones(len(texts))
        perplexity = self.fluency.perplexity([original, *texts])
        return np.asarray(perplexity[1:] / perplexity[0], np.float64)
