"""Fluency: how natural does a text read?  Perplexity by a trigram model of words or by a causal language model.

    from_spec("ngram:models/mr.ngram").perplexity(["a fine film", "a fine the"])

It ranks what an attack found and reports on it; it never decides what belongs to a space.
"""

from __future__ import annotations

from lexproof.fluency.base import Fluency
from lexproof.fluency.ngram import Ngram
from lexproof.fluency.specs import from_spec

__all__ = ["Fluency", "Ngram", "from_spec"]
