"""SAFER's sets: which words a word is replaced by at random.

The substitutes of a source, taken in both directions, join words to a graph.  P(w) holds w itself and, out of the words
that w is connected to, all if they are at most `size` with w, else the nearest ones: by number of steps, then by the
source's order, then by the alphabet.  So the words of a small component share one set, and the sets of a large one have
`size` words each.  A word that the graph does not hold is alone: P(w) = {w}.

Guarantee: P(w) is a function of the word and of the graph alone, holds w first, and no word twice.  A word in a text is
found whatever its case, and its set is written in that case.

Reference: Ye et al. 2020, SAFER, Section 3.  Deviation: there near means a large cosine of counter-fitted vectors; a
source of substitutes gives an order and no cosines, so near means few steps here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from lexproof.candidates.base import match_case
from lexproof.errors import InputError
from lexproof.space import Candidates
from lexproof.text import Text

SIZE = 100  # words of a set at most, as in the paper

_MEMO_LIMIT = 50_000  # spellings whose sets are remembered


class SynonymSets:
    """P: word to set, from a graph of lower-case words, each with its neighbors, nearest first."""

    def __init__(self, graph: Mapping[str, Sequence[str]], size: int = SIZE) -> None:
        if size < 1:
            raise InputError(f"expected sets of at least 1 word, got size {size}")
        self.graph = {word: tuple(near) for word, near in graph.items()}
        self.size = size
        for word, near in self.graph.items():
            odd = next((other for other in near if other == word or word not in self.graph.get(other, ())), None)
            if odd is not None:
                raise InputError(f"expected a graph with edges in both directions, got {word!r} joined to {odd!r}")
        self._shared: dict[str, tuple[str, ...]] = {}
        self._memo: dict[str, tuple[str, ...]] = {}

    @classmethod
    def of(cls, candidates: Candidates, words: Iterable[str], size: int = SIZE) -> SynonymSets:
        """The sets over these words and what the candidates offer for each of them by itself."""
        known = sorted({word.lower() for word in words})
        forward = {word: _one_word(candidates(Text.from_words([word]))[0], word) for word in known}
        backward: dict[str, list[str]] = {}
        for word, near in forward.items():
            for other in near:
                backward.setdefault(other, []).append(word)
        nodes = sorted(backward.keys() | {word for word, near in forward.items() if near})
        return cls(
            {word: list(dict.fromkeys([*forward.get(word, ()), *backward.get(word, ())])) for word in nodes}, size
        )

    def __call__(self, word: str) -> tuple[str, ...]:
        """P(w), the word itself first; written in its case."""
        known = self._memo.get(word)
        if known is None:
            known = (word, *match_case(word, self._lower(word.lower())[1:]))
            if len(self._memo) >= _MEMO_LIMIT:
                self._memo.clear()
            self._memo[word] = known
        return known

    def _lower(self, word: str) -> tuple[str, ...]:
        """P of a lower-case word."""
        if word not in self.graph:
            return (word,)
        if word not in self._shared:
            near = self._nearest(word)
            if len(near) > self.size:
                return tuple(near[: self.size])
            self._shared |= dict.fromkeys(near, tuple(sorted(near)))
        return (word, *(other for other in self._shared[word] if other != word))

    def _nearest(self, word: str) -> list[str]:
        """The words that it is connected to, itself first, up to one more than a set may hold."""
        found = {word: None}
        queue = [word]
        for at in queue:
            new = [other for other in self.graph[at] if other not in found]
            found.update(dict.fromkeys(new))
            queue += new
            if len(found) > self.size:
                break
        return list(islice(found, self.size + 1))

    @property
    def fingerprint(self) -> str:
        """Hash of the graph and the size."""
        content = json.dumps([self.size, self.graph], sort_keys=True)
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _one_word(options: Iterable[str], word: str) -> list[str]:
    """The substitutes that are one other word each, lower-case: what is several words in a text has no set there."""
    lowered = dict.fromkeys(option.lower() for option in options)
    return [option for option in lowered if option != word and is_one_word(option)]


def is_one_word(string: str) -> bool:
    """Whether a text reads this string as one word.

    Then any text reads it so in the place of one of its words, and reads the other words as before: where a word ends
    is decided by its own letters and the gap beside it.
    """
    return Text.parse(string).words == (string,)
