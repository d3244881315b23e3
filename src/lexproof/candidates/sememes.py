"""HowNet-style candidates: words that have a sense with the same part of speech and exactly the same sememes.

Reference: Zang et al. 2020, Word-level Textual Adversarial Attacking as Combinatorial Optimization.

The file is JSON, one of

    {"film": {"noun": [["shows", "RecreationThings"], ...]}, ...}      for each sense of a word its sememes
    {"film": {"noun": ["movie", "picture"]}, ...}                      the candidates themselves

with noun, verb, adj, adv or n, v, a, r.  HowNet's data itself cannot be shipped; both forms can be exported from it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lexproof.candidates.base import Spec
from lexproof.candidates.files import check_unicode, read_object, sha256_of_json
from lexproof.candidates.lemmas import LemmaSource
from lexproof.candidates.lexicon import Lexicon
from lexproof.errors import InputError

_PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r", "n": "n", "v": "v", "a": "a", "r": "r"}

Entries = Mapping[str, Mapping[str, Sequence[Any]]]


class Sememes(LemmaSource):
    """Words that share a part of speech and all sememes of a sense, in the same form; in the order of the file."""

    def __init__(self, entries: Entries, *, lexicon: Lexicon | None = None) -> None:
        super().__init__(lexicon)
        self._sha256 = sha256_of_json(entries)
        self._senses: dict[tuple[str, str], list[frozenset[str]]] = {}
        self._holders: defaultdict[tuple[str, frozenset[str]], list[str]] = defaultdict(list)
        self._listed: dict[tuple[str, str], tuple[str, ...]] = {}
        for word, parts in entries.items():
            for part, values in _checked(word, parts):
                self._add(word.lower(), part, values)

    @classmethod
    def load(cls, path: str | Path) -> Sememes:
        """Read a JSON file."""
        return cls(read_object(path, "a JSON file of word: {part of speech: senses or words}"))

    def _add(self, word: str, part: str, values: Sequence[Any]) -> None:
        if _all_text(values):
            self._listed[word, part] = self._listed.get((word, part), ()) + tuple(values)
            return
        senses = [frozenset(value) for value in values]
        self._senses.setdefault((word, part), []).extend(senses)
        for sememes in dict.fromkeys(senses):
            self._holders[part, sememes].append(word)

    @property
    def spec(self) -> Spec:
        """The hash of the entries and of the lexicon that inflects them."""
        return {"name": "sememes", "sha256": self._sha256, "lexicon": self._lexicon.sha256}

    def lemmas(self, lemma: str, pos: str) -> tuple[str, ...]:
        """Those that the file lists, then words with the same sememes."""
        listed, senses = self._listed.get((lemma, pos), ()), self._senses.get((lemma, pos), ())
        found = (*listed, *(word for sememes in senses for word in self._holders[pos, sememes]))
        return tuple(word for word in dict.fromkeys(found) if word != lemma)


def _checked(word: str, parts: object) -> Iterator[tuple[str, Sequence[Any]]]:
    """The parts of speech of an entry by their short names; those given twice, as "n" and "noun", come twice."""
    if not isinstance(parts, Mapping):
        raise InputError(f"expected {{part of speech: [...]}} for {word!r}, got {parts!r}")
    for part, values in parts.items():
        if part not in _PARTS:
            raise InputError(f"expected a part of speech of {', '.join(_PARTS)} for {word!r}, got {part!r}")
        is_list = isinstance(values, list | tuple)
        if not is_list or not (_all_text(values) or all(isinstance(v, list | tuple) and _all_text(v) for v in values)):
            raise InputError(f"expected a list of words or of lists of sememes for {word!r}, got {values!r}")
        if _all_text(values):
            check_unicode(values, repr(word))
        yield _PARTS[part], values


def _all_text(values: Sequence[Any]) -> bool:
    return all(isinstance(value, str) and value for value in values)
