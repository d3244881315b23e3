"""Part of speech in context: a substitute must be tagged as the word was, in its place in the text.

Uses any spaCy pipeline that tags, such as en_core_web_sm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lexproof.candidates.base import Choices, Spec, TextFilter
from lexproof.errors import InputError, require
from lexproof.text import Text

Tagger = Callable[[Sequence[Sequence[str]]], list[list[str]]]
"""Tags of each word of several texts, given as words."""


class SameTag(TextFilter):
    """A substitute has the same tag as the word that it replaces, all other words unchanged."""

    def __init__(self, tagger: Tagger, *, name: str) -> None:
        self._tagger, self._name = tagger, name

    @property
    def spec(self) -> Spec:
        """The name of the tagger."""
        return {"name": "same-tag", "tagger": self._name}

    def keep(self, text: Text, choices: Choices) -> Choices:
        """Those that are tagged alike; the text is tagged once for each substitute."""
        swaps = [(at, option) for at, options in enumerate(choices) for option in options]
        if not swaps:
            return choices
        variants = [list(text.swap({at: option}).words) for at, option in swaps]
        own, *others = self._tagger([list(text.words), *variants])
        passed = {swap for swap, tags in zip(swaps, others, strict=True) if tags[swap[0]] == own[swap[0]]}
        return tuple(tuple(o for o in options if (at, o) in passed) for at, options in enumerate(choices))


def spacy_tagger(model: str) -> SameTag:
    """The filter with a spaCy pipeline, by name or folder; tags are universal (NOUN, VERB, ADJ ...)."""
    spacy = require("spacy", "spacy", "tagging parts of speech")
    try:
        pipeline: Any = spacy.load(model, exclude=["ner", "lemmatizer"])
    except OSError as error:
        raise InputError(
            f"expected the name or folder of a spaCy pipeline, got {model!r}; run: python -m spacy download {model}"
        ) from error

    def tag(texts: Sequence[Sequence[str]]) -> list[list[str]]:
        docs = (spacy.tokens.Doc(pipeline.vocab, words=list(words)) for words in texts)
        return [[token.pos_ for token in doc] for doc in pipeline.pipe(docs)]

    version = pipeline.meta.get("version", "")
    return SameTag(tag, name=f"spacy:{pipeline.meta.get('lang', '')}_{pipeline.meta.get('name', '')}-{version}")
