"""Antonyms of lemmas: listed pairs, opposed groups, and negating prefixes.

A group is what WordNet puts around the two ends of an antonymy: an adjective with the adjectives similar to it, a verb
with its immediate kinds.  "dreadful" is so opposed to "superb" through bad and good, though no list pairs them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable

_NEGATIONS = ("un", "in", "im", "il", "ir", "dis", "non", "mis", "anti")

Group = tuple[Collection[str], Collection[str]]


class Opposites:
    """Whether two lemmas are antonyms; symmetric.

    Members of opposed groups that also share a sense (`synonymous`) do not count, unless they are a listed pair.
    """

    def __init__(
        self, pairs: Iterable[tuple[str, str]], groups: Iterable[Group], synonymous: Callable[[str, str], bool]
    ) -> None:
        self._pairs = {frozenset(pair) for pair in pairs}
        self._synonymous = synonymous
        self._sides: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
        for number, sides in enumerate(groups):
            for side, members in enumerate(sides):
                for lemma in members:
                    self._sides[lemma].add((number, side))

    def __call__(self, a: str, b: str) -> bool:
        """Whether two lemmas are antonyms."""
        if a == b:
            return False
        if frozenset((a, b)) in self._pairs or negates(a, b):
            return True
        here, there = self._sides.get(a), self._sides.get(b)
        if not here or not there:
            return False
        return any((number, 1 - side) in there for number, side in here) and not self._synonymous(a, b)


def negates(a: str, b: str) -> bool:
    """Whether one word is the other with a negating prefix ("unkind", "non-violent"), or -less for -ful."""
    short, long = sorted((a, b), key=len)
    if long.endswith(short) and long[: len(long) - len(short)].removesuffix("-") in _NEGATIONS:
        return True
    ful, less = (a, b) if a.endswith("ful") else (b, a)
    return ful.endswith("ful") and less.endswith("less") and ful[:-3] == less[:-4]
