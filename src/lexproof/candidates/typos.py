"""Typing errors: character edits inside a word, its first and last character kept.

swap two neighboring characters; delete one; insert a key beside one; substitute a key beside it; homoglyph, a
look-alike of another script; split the word in two.

Reference: Li et al. 2019, TextBugger; Gao et al. 2018, DeepWordBug.  Deviation: they draw one random edit of a kind at
each query; here the edits of a word are drawn once, from the seed and the word, so that the space is fixed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from lexproof.candidates.base import Options, Spec, WordSource
from lexproof.errors import InputError

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_LOOK_ALIKES = dict(zip("aceijopsxyh", "асеіјорѕхуһ", strict=True))  # Cyrillic


def _keys_beside() -> dict[str, str]:
    beside = {}
    for y, row in enumerate(_ROWS):
        for x, key in enumerate(row):
            near = [(y, x - 1), (y, x + 1), (y - 1, x), (y - 1, x + 1), (y + 1, x - 1), (y + 1, x)]
            beside[key] = "".join(_ROWS[j][i] for j, i in near if 0 <= j < 3 and 0 <= i < len(_ROWS[j]))
    return beside


_BESIDE = _keys_beside()


def _swap(word: str) -> list[str]:
    return [word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(1, len(word) - 2)]


def _delete(word: str) -> list[str]:
    return [word[:i] + word[i + 1 :] for i in range(1, len(word) - 1)]


def _insert(word: str) -> list[str]:
    # a script without keys here stutters instead
    return [word[:i] + key + word[i:] for i in range(1, len(word)) for key in _BESIDE.get(word[i - 1], word[i - 1])]


def _substitute(word: str) -> list[str]:
    return [word[:i] + key + word[i + 1 :] for i in range(1, len(word) - 1) for key in _BESIDE.get(word[i], "")]


def _homoglyph(word: str) -> list[str]:
    found = ((i, _LOOK_ALIKES.get(word[i])) for i in range(1, len(word) - 1))
    return [word[:i] + other + word[i + 1 :] for i, other in found if other is not None]


def _split(word: str) -> list[str]:
    return [word[:i] + " " + word[i:] for i in range(1, len(word))]


_EDITS: dict[str, Callable[[str], list[str]]] = {
    "swap": _swap,
    "delete": _delete,
    "insert": _insert,
    "substitute": _substitute,
    "homoglyph": _homoglyph,
    "split": _split,
}

KINDS = tuple(_EDITS)
"""The kinds of typing error."""


class Typos(WordSource):
    """`per_word` misspellings of a word, one of each kind in turn, drawn by (seed, word); short words have none."""

    def __init__(self, *, kinds: Sequence[str] = KINDS, per_word: int = 8, min_length: int = 4, seed: int = 0) -> None:
        super().__init__()
        unknown = [kind for kind in kinds if kind not in _EDITS]
        if unknown or not kinds:
            raise InputError(f"expected kinds of typos among {', '.join(KINDS)}, got {', '.join(unknown) or 'none'}")
        if per_word < 1 or min_length < 1:
            raise InputError(f"expected per_word >= 1 and min_length >= 1, got {per_word} and {min_length}")
        self.kinds, self.per_word, self.min_length, self.seed = tuple(kinds), per_word, min_length, seed

    @property
    def spec(self) -> Spec:
        """The settings."""
        return {
            "name": "typos",
            "kinds": list(self.kinds),
            "per_word": self.per_word,
            "min_length": self.min_length,
            "seed": self.seed,
        }

    def substitutes(self, word: str) -> Options:
        """The misspellings of a word."""
        if len(word) < self.min_length:
            return ()
        rng = random.Random(f"{self.seed}:{word}")
        queues = []
        for kind in self.kinds:
            edits = sorted({edit for edit in _EDITS[kind](word) if edit != word})
            rng.shuffle(edits)
            queues.append(edits)
        in_turn = (queue[turn] for turn in range(max(map(len, queues))) for queue in queues if turn < len(queue))
        return tuple(dict.fromkeys(in_turn))[: self.per_word]
