"""The whole vocabulary: every word of a list may stand at every position, as the flip words of a classifier ask."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lexproof.candidates.base import Options, Spec, WordSource
from lexproof.candidates.files import check_unicode, read_text, sha256_of_json
from lexproof.errors import InputError


class Vocabulary(WordSource):
    """All words of a list, in its order, for every word of a text."""

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__()
        self.words = tuple(dict.fromkeys(words))
        if not self.words:
            raise InputError("expected a list of at least one word, got none")
        if not all(self.words):
            raise InputError("expected words that are not empty, got an empty one")
        check_unicode(self.words, "a vocabulary")
        self._lowered = frozenset(word.lower() for word in self.words)
        self._sha256 = sha256_of_json(self.words)

    @classmethod
    def load(cls, path: str | Path) -> Vocabulary:
        """Read a text file with one word a line."""
        lines = read_text(path, "a text file with one word a line").splitlines()
        return cls([line.strip() for line in lines if line.strip()])

    @property
    def spec(self) -> Spec:
        """The number of words and their hash."""
        return {"name": "vocabulary", "words": len(self.words), "sha256": self._sha256}

    def substitutes(self, word: str) -> Options:
        """The whole list without the word itself."""
        return self.lookup([word])[0]

    def lookup(self, words: Sequence[str]) -> list[Options]:
        """The whole list for each word, without the word itself; one tuple is shared by all words not in the list."""
        return [
            tuple(option for option in self.words if option.lower() != word) if word in self._lowered else self.words
            for word in words
        ]
