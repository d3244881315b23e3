"""The nearest other words that change the class: exhaustively one open word at a time, by tree search several."""

from __future__ import annotations

from functools import cached_property

from lexproof.certify.deadline import Check
from lexproof.safe_radius.answer import WordFlip
from lexproof.safe_radius.replacements import Replacements
from lexproof.safe_radius.settings import Settings
from lexproof.safe_radius.tree import TreeSearch
from lexproof.safe_radius.vocabulary import Words, words_of
from lexproof.text import Text
from lexproof.victims.balls import Item, scale_of
from lexproof.victims.base import Victim

_QUICK = ("mlp", "cnn")  # victims that score all words of a vocabulary in one place within a tenth of a second
_NEIGHBORS = 1_000


class NearWords:
    """What `words` and `mcts` find for index sets of a victim's texts; each word of a text is looked up once."""

    def __init__(self, victim: Victim, settings: Settings) -> None:
        self._victim, self._settings = victim, settings
        self._text: Text | None = None
        self._alone: dict[int, WordFlip | None] = {}  # of this text

    @property
    def is_asked(self) -> bool:
        """Whether words count among the ways to an upper end."""
        return bool({"words", "mcts"} & set(self._settings.uppers))

    def nearest(self, item: Item, check: Check) -> WordFlip | None:
        """The nearest flip found; one word of a set that changes the class alone does so for the set."""
        found = []
        if "words" in self._settings.uppers:
            for word in item.words:
                check()
                found.append(self._single(item.text, word))
        if "mcts" in self._settings.uppers:
            check()
            neighbors = self._settings.neighbors or _NEIGHBORS
            search = TreeSearch(norm=self._settings.norm, neighbors=neighbors, seed=self._settings.seed)
            found.append(search.nearest(self._victim, item, self._known))
        return min((own for own in found if own is not None), key=lambda own: own.distance, default=None)

    @cached_property
    def _known(self) -> Words:
        return words_of(self._victim, scale_of(self._victim))

    def _single(self, text: Text, word: int) -> WordFlip | None:
        if text != self._text:
            self._text, self._alone = text, {}
        if word not in self._alone:
            neighbors = self._settings.neighbors
            if neighbors is None and self._victim.kind not in _QUICK:
                neighbors = _NEIGHBORS
            how = Replacements(norm=self._settings.norm, neighbors=neighbors)
            self._alone[word] = how.of(self._victim, text, (word,), self._known)[0].nearest
        return self._alone[word]
