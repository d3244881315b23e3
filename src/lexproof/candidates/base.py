"""What candidates are: S_1 … S_n for the words of a text, built from a source and any number of filters.

Guarantee of every source here: one tuple a word; distinct substitutes, best first, never the word itself in any
spelling of case; a function of the text and of `spec` alone, so blind to any model under test, and equal specs give
equal substitutes.  (A masked language model is a source like any other: its `spec` names it.)
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from lexproof.errors import InputError
from lexproof.text import Text

Options = tuple[str, ...]
"""The substitutes of one word."""

Choices = tuple[Options, ...]
"""The substitutes of each word of a text."""

Spec = Mapping[str, object]
"""Everything that substitutes depend on, ready for JSON: a name, the settings, the hash of each file."""

_MEMO_LIMIT = 200_000  # distinct words remembered by a source before it starts afresh


class WordFilter(ABC):
    """Keeps some of the substitutes of a word, whatever the text around it; words are lower-case."""

    @property
    @abstractmethod
    def spec(self) -> Spec:
        """What this filter depends on."""

    @abstractmethod
    def keep(self, word: str, options: Options) -> Options:
        """Those of the substitutes that pass, in the same order."""


class TextFilter(ABC):
    """Keeps some of the substitutes of each word of a text, seen as a whole."""

    @property
    @abstractmethod
    def spec(self) -> Spec:
        """What this filter depends on."""

    @abstractmethod
    def keep(self, text: Text, choices: Choices) -> Choices:
        """Those of the substitutes that pass, in the same order."""


class Source(ABC):
    """Maps a text to the substitutes of its words."""

    @property
    @abstractmethod
    def spec(self) -> Spec:
        """Everything that the substitutes depend on."""

    @abstractmethod
    def __call__(self, text: Text) -> Choices:
        """The substitutes of each word."""

    @property
    def name(self) -> str:
        """The registered name of the source."""
        return str(self.spec["name"])

    @property
    def fingerprint(self) -> str:
        """Hash of the spec."""
        return hashlib.sha256(json.dumps(self.spec, sort_keys=True).encode()).hexdigest()[:16]

    def filtered(self, *filters: WordFilter | TextFilter) -> Source:
        """This source with filters applied in order."""
        return Filtered(self, filters) if filters else self

    def __or__(self, other: Source) -> Source:
        return Union(self, other)


class WordSource(Source):
    """A source whose substitutes of a word do not depend on its neighbors: computed once per distinct word."""

    def __init__(self) -> None:
        self._memo: dict[str, Options] = {}

    @abstractmethod
    def substitutes(self, word: str) -> Iterable[str]:
        """Substitutes of a lower-case word, best first."""

    def lookup(self, words: Sequence[str]) -> list[Options]:
        """Substitutes of several lower-case words; a source that is faster on many overrides it."""
        return [
            tuple(option for option in dict.fromkeys(self.substitutes(word)) if option.lower() != word)
            for word in words
        ]

    def __call__(self, text: Text) -> Choices:
        """The substitutes of each word, in its case."""
        known = {word: self._memo.get(word) for word in text.words}
        new = [word for word, options in known.items() if options is None]
        if new:
            lowered = list(dict.fromkeys(word.lower() for word in new))
            found = dict(zip(lowered, self.lookup(lowered), strict=True))
            computed = {word: match_case(word, found[word.lower()]) for word in new}
            known.update(computed)
            if len(self._memo) + len(new) > _MEMO_LIMIT:
                self._memo = {}
            self._memo.update(computed)
        return tuple(known[word] or () for word in text.words)

    def filtered(self, *filters: WordFilter | TextFilter) -> Source:
        """This source with filters applied in order; still one lookup a word as far as they are word filters."""
        early: list[WordFilter] = []
        for rule in filters:
            if not isinstance(rule, WordFilter):
                break
            early.append(rule)
        source = FilteredWords(self, tuple(early)) if early else self
        rest = filters[len(early) :]
        return Filtered(source, rest) if rest else source


class FilteredWords(WordSource):
    """A word source behind word filters."""

    def __init__(self, source: WordSource, filters: Sequence[WordFilter]) -> None:
        super().__init__()
        self.source, self.filters = source, tuple(filters)

    @property
    def spec(self) -> Spec:
        """The source's spec with the filters added."""
        return _with_filters(self.source.spec, self.filters)

    def substitutes(self, word: str) -> Options:
        """What the filters leave of the source's substitutes."""
        return self.lookup([word])[0]

    def lookup(self, words: Sequence[str]) -> list[Options]:
        """What the filters leave of the source's substitutes."""
        found = []
        for word, options in zip(words, self.source.lookup(words), strict=True):
            for rule in self.filters:
                options = rule.keep(word, options)
            found.append(options)
        return found


class Filtered(Source):
    """Any source behind any filters."""

    def __init__(self, source: Source, filters: Sequence[WordFilter | TextFilter]) -> None:
        self.source, self.filters = source, tuple(filters)

    @property
    def spec(self) -> Spec:
        """The source's spec with the filters added."""
        return _with_filters(self.source.spec, self.filters)

    def __call__(self, text: Text) -> Choices:
        """What the filters leave."""
        choices = self.source(text)
        for rule in self.filters:
            if isinstance(rule, TextFilter):
                choices = rule.keep(text, choices)
            else:
                pairs = zip(text.words, choices, strict=True)
                choices = tuple(_keep_cased(rule, word, options) for word, options in pairs)
        return choices


class Union(Source):
    """The substitutes of the first source, then those of the others that are new."""

    def __init__(self, *sources: Source) -> None:
        if not sources:
            raise InputError("expected at least one source, got none")
        self.sources = sources

    @property
    def spec(self) -> Spec:
        """The specs of the sources, in order."""
        return {"name": "union", "sources": [source.spec for source in self.sources]}

    def __call__(self, text: Text) -> Choices:
        """The substitutes of all sources."""
        columns = zip(*(source(text) for source in self.sources), strict=True)
        return tuple(tuple(dict.fromkeys(option for options in column for option in options)) for column in columns)


def match_case(word: str, options: Iterable[str]) -> Options:
    """The substitutes written as the word is (Title, UPPER), distinct, and without the word itself.

    If that changes nothing the given tuple itself is returned, so that long lists are held once.
    """
    given = options
    letters = [character for character in word if character.isalpha()]
    if len(letters) > 1 and all(character.isupper() for character in letters):
        options = (option.upper() for option in options)
    elif word[:1].isupper() and word[1:] == word[1:].lower():
        options = (option[:1].upper() + option[1:] for option in options)
    lowered = word.lower()
    matched = tuple(option for option in dict.fromkeys(options) if option.lower() != lowered)
    return given if isinstance(given, tuple) and given == matched else matched


def _keep_cased(rule: WordFilter, word: str, options: Options) -> Options:
    # a filter keeps the order, so what it keeps of the lower-case spellings is found again one by one
    kept = iter(rule.keep(word.lower(), tuple(option.lower() for option in options)))
    found, wanted = [], next(kept, None)
    for option in options:
        if option.lower() == wanted:
            found.append(option)
            wanted = next(kept, None)
    return tuple(found)


def _with_filters(spec: Spec, filters: Sequence[WordFilter | TextFilter]) -> Spec:
    earlier = spec.get("filters", [])
    assert isinstance(earlier, list)
    return {**spec, "filters": [*earlier, *(rule.spec for rule in filters)]}
