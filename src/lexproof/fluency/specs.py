"""Models of fluency from one line of text, as settings take them: ngram:FILE or causal:FOLDER."""

from __future__ import annotations

from functools import lru_cache

from lexproof.errors import InputError, UnknownName
from lexproof.fluency.base import Fluency

KINDS = {"ngram": "a file that scripts/train_ngram.py wrote", "causal": "a Hugging Face causal language model"}
"""What each name is followed by."""


@lru_cache(maxsize=8)
def from_spec(spec: str) -> Fluency:
    """The model that a line describes; the same object for the same line, since loading takes its time."""
    kind, colon, file = spec.partition(":")
    if kind not in KINDS:
        raise UnknownName("model of fluency", kind, KINDS)
    if not colon or not file:
        raise InputError(f"expected {kind}:{'FILE' if kind == 'ngram' else 'FOLDER'}, {KINDS[kind]}, got {spec!r}")
    if kind == "ngram":
        from lexproof.fluency.ngram import Ngram

        return Ngram.load(file)
    from lexproof.fluency.causal import Causal

    return Causal(file)
