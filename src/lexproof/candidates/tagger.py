"""Part of speech in context: a tagger says what the word is here, the lexicon whether a substitute can be that.

Stronger than the word filters, since "claims" in "weak claims" is a noun only, and cheap: a text is tagged once.
Uses any spaCy pipeline that tags, such as en_core_web_sm, or any function from words to universal tags.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lexproof.candidates.base import Choices, Options, Spec, TextFilter
from lexproof.candidates.lexicon import Lexicon, embedded
from lexproof.errors import InputError, require
from lexproof.text import Text

Tagger = Callable[[Sequence[str]], Sequence[str]]
"""Universal tags (NOUN, VERB, ADJ, ADV ...) of the words of a text."""

_PARTS = {"NOUN": "n", "VERB": "v", "AUX": "v", "ADJ": "a", "ADV": "r"}


class SameTag(TextFilter):
    """A substitute can be what the word is here: the part of speech that the tagger says, in the form of the word.

    Words with another tag, and words that the lexicon does not know as what the tagger says, keep their substitutes.
    """

    def __init__(self, tagger: Tagger, *, name: str, lexicon: Lexicon | None = None) -> None:
        self._tagger, self._name = tagger, name
        self._lexicon = lexicon or embedded()

    @property
    def spec(self) -> Spec:
        """The name of the tagger and the hash of the lexicon."""
        return {"name": "same-tag", "tagger": self._name, "lexicon": self._lexicon.sha256}

    def keep(self, text: Text, choices: Choices) -> Choices:
        """Those that can be tagged alike."""
        if not any(choices):
            return choices
        tags = self._tagger(text.words)
        return tuple(
            self._keep(word.lower(), _PARTS.get(tag), options)
            for word, tag, options in zip(text.words, tags, choices, strict=True)
        )

    def _keep(self, word: str, pos: str | None, options: Options) -> Options:
        forms = {reading.form for reading in self._lexicon.analyze(word) if reading.pos == pos}
        return tuple(
            option
            for option in options
            if not forms or any(r.pos == pos and r.form in forms for r in self._lexicon.analyze(option.lower()))
        )


def spacy_tagger(model: str) -> SameTag:
    """The filter with a spaCy pipeline, by name or folder."""
    spacy = require("spacy", "spacy", "tagging parts of speech")
    try:
        pipeline: Any = spacy.load(model, exclude=["ner", "lemmatizer"])
    except OSError as error:
        raise InputError(
            f"expected the name or folder of a spaCy pipeline, got {model!r}; run: python -m spacy download {model}"
        ) from error

    def tag(words: Sequence[str]) -> list[str]:
        return [token.pos_ for token in pipeline(spacy.tokens.Doc(pipeline.vocab, words=list(words)))]

    version = pipeline.meta.get("version", "")
    return SameTag(tag, name=f"spacy:{pipeline.meta.get('lang', '')}_{pipeline.meta.get('name', '')}-{version}")
