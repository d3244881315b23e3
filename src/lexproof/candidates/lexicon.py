"""The embedded lexicon: English words, their senses, forms, antonyms, and counter-fitted neighbors.

Built by scripts/build_lexicon.py from GloVe vectors and WordNet; about a megabyte, read on first use.

File (JSON, xz): `lemmas` sorted, `parts` (one hexadecimal digit a lemma: n 1, v 2, a 4, r 8) and `mostly` (the
likeliest of them); `senses`, for each part of speech and lemma the numbers of its synsets that have other members,
commonest first; `irregular`, "pos form" to lemma to forms; `gradable` lemmas; `antonyms` (pairs) and `opposed`
(groups); `stop_words`; `words` that have neighbors, `edges` (for each word the later words it is joined to, as
differences), and per edge `cosine` and `merit` in hundredths.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections import defaultdict
from collections.abc import Mapping
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexproof.candidates.morphology import Analysis, Morphology
from lexproof.candidates.opposites import Opposites
from lexproof.errors import DataError
from lexproof.resources import path

FORMAT = 1
PARTS = {"n": 1, "v": 2, "a": 4, "r": 8}
"""Bit of each part of speech."""

_MEMO_LIMIT = 200_000  # words whose readings are remembered


class Lexicon:
    """What is known of English words; everything is made on first use and then kept."""

    def __init__(self, content: Mapping[str, Any], sha256: str) -> None:
        if content.get("format") != FORMAT:
            raise DataError(f"expected a lexicon of format {FORMAT}, got {content.get('format')!r}; reinstall lexproof")
        self.content = content
        self.sha256 = sha256
        self._readings: dict[str, tuple[Analysis, ...]] = {}

    @classmethod
    def read(cls, file: Path) -> Lexicon:
        """Read a lexicon file."""
        packed = file.read_bytes()
        return cls(json.loads(lzma.decompress(packed)), hashlib.sha256(packed).hexdigest())

    @cached_property
    def stop_words(self) -> frozenset[str]:
        """English function words, numerals and forms of address."""
        return frozenset(self.content["stop_words"].split())

    @cached_property
    def _senses(self) -> dict[str, dict[str, list[int]]]:
        lemmas = self.content["lemmas"].split()
        digits = [int(digit, 16) for digit in self.content["parts"]]
        senses: dict[str, dict[str, list[int]]] = {}
        for pos, bit in PARTS.items():
            having = (lemma for lemma, digit in zip(lemmas, digits, strict=True) if digit & bit)
            senses[pos] = dict(zip(having, self.content["senses"][pos], strict=True))
        return senses

    @cached_property
    def _members(self) -> dict[str, dict[int, list[tuple[int, str]]]]:
        members: dict[str, dict[int, list[tuple[int, str]]]] = {}
        for pos, table in self._senses.items():
            of: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
            for lemma, numbers in table.items():
                for rank, number in enumerate(numbers):
                    of[number].append((rank, lemma))
            members[pos] = {number: sorted(found) for number, found in of.items()}
        return members

    @cached_property
    def morphology(self) -> Morphology:
        """Inflection over the lemmas of the lexicon."""
        exceptions = {
            (key.split()[0], key.split()[1]): {lemma: tuple(forms) for lemma, forms in table.items()}
            for key, table in self.content["irregular"].items()
        }
        gradable = {pos: frozenset(lemmas.split()) for pos, lemmas in self.content["gradable"].items()}
        return Morphology(self._senses, exceptions, gradable)

    @cached_property
    def _mostly(self) -> dict[str, str]:
        return dict(zip(self.content["lemmas"].split(), self.content["mostly"], strict=True))

    def synonyms(self, lemma: str, pos: str) -> tuple[str, ...]:
        """Lemmas that share a sense, from the commonest sense on; within one, those it is commonest for first."""
        members = self._members[pos]
        found = (other for number in self._senses[pos].get(lemma, ()) for _, other in members[number])
        return tuple(other for other in dict.fromkeys(found) if other != lemma)

    def _share_a_sense(self, a: str, b: str) -> bool:
        return any(not set(table.get(a, ())).isdisjoint(table.get(b, ())) for table in self._senses.values())

    @cached_property
    def _opposites(self) -> Opposites:
        words = self.content["antonyms"].split()
        groups = [(left.split(), right.split()) for left, right in self.content["opposed"]]
        return Opposites(zip(words[::2], words[1::2], strict=True), groups, self._share_a_sense)

    def analyze(self, word: str) -> tuple[Analysis, ...]:
        """Every reading of a lower-case word, the likeliest part of speech of each lemma first; () if it is unknown."""
        if word not in self._readings:
            if len(self._readings) > _MEMO_LIMIT:
                self._readings.clear()
            found = self.morphology.analyze(word)
            self._readings[word] = tuple(sorted(found, key=lambda reading: reading.pos != self._mostly[reading.lemma]))
        return self._readings[word]

    def opposed(self, a: str, b: str) -> bool:
        """Whether two lower-case words are antonyms in some reading of the same part of speech, in any form."""
        if self._opposites(a, b):
            return True
        return any(
            self._opposites(x.lemma, y.lemma) for x in self.analyze(a) for y in self.analyze(b) if x.pos == y.pos
        )

    def alike(self, a: str, b: str) -> bool:
        """Whether two words can be the same form of the same part of speech, and are not two forms of one lemma."""
        here, there = self.analyze(a), self.analyze(b)
        shared = {(x.pos, x.form) for x in here} & {(y.pos, y.form) for y in there}
        lemmas = {(x.pos, x.lemma) for x in here} & {(y.pos, y.lemma) for y in there}
        return bool(shared) and (not lemmas or not set(here).isdisjoint(there))

    @cached_property
    def _neighbors(self) -> tuple[list[str], dict[str, tuple[int, int]], NDArray[np.int64], NDArray[np.int64]]:
        """Words, where the neighbors of each lie, and for all of them number and cosine."""
        words, steps = self.content["words"].split(), self.content["edges"]
        counts = np.fromiter(map(len, steps), np.int64, len(steps))
        left = np.repeat(np.arange(len(words)), counts)
        flat = np.cumsum([0, *chain.from_iterable(steps)])
        right = flat[1:] - np.repeat(flat[np.cumsum(counts) - counts], counts) + left
        here, there = np.concatenate([left, right]), np.concatenate([right, left])
        order = np.lexsort((there, -np.tile(self.content["merit"], 2), here))
        ends = np.searchsorted(here[order], np.arange(len(words) + 1)).tolist()
        places = {word: (ends[row], ends[row + 1]) for row, word in enumerate(words)}
        return words, places, there[order], np.tile(self.content["cosine"], 2)[order]

    def neighbors(self, word: str) -> list[tuple[str, float]]:
        """Counter-fitted neighbors of a lower-case word with their cosines, best first; a symmetric relation."""
        words, places, others, cosines = self._neighbors
        start, stop = places.get(word, (0, 0))
        found = zip(others[start:stop].tolist(), cosines[start:stop].tolist(), strict=True)
        return [(words[other], cosine / 100) for other, cosine in found]


@cache
def embedded() -> Lexicon:
    """The lexicon that the package carries."""
    return Lexicon.read(path("lexicon.json.xz"))
