"""What a model of fluency is: something that says how surprised it is by a text.

Perplexity is counted a token: of a text of T tokens that the model gives the probability p, end of text included,

    PPL = p^(-1 / (T + 1))

A token is what `tokens` finds, a word or a punctuation mark, whatever units the model itself reads: so models with
different vocabularies count alike, and a word that one of them cuts into six pieces is still one word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lexproof.points import FloatArray
from lexproof.victims.vocabulary import tokens

__all__ = ["Fluency", "per_token", "tokens"]


class Fluency(Protocol):
    """Maps texts to perplexities; that of a text does not depend on the texts asked about with it, up to rounding."""

    @property
    def name(self) -> str:
        """What records call the model: its kind, and a hash of what it learned."""
        ...

    def perplexity(self, texts: Sequence[str]) -> FloatArray:
        """Perplexity a token, end of text included; positive and finite, lower is more fluent: (B,)."""
        ...


def per_token(log_probability: FloatArray, lengths: Sequence[int] | NDArray[np.int64]) -> FloatArray:
    """Perplexities of texts with these natural logarithms of probability and numbers of tokens."""
    surprise = -log_probability / (np.asarray(lengths, np.float64) + 1.0)
    perplexity: FloatArray = np.exp(np.minimum(surprise, _MOST))
    return perplexity


_MOST = 700.0  # the exponential of more would not be finite
