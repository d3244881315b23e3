"""Sources that know lemmas only: the substitute takes the form of the word ("watched" becomes "viewed", not "view")."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator

from lexproof.candidates.base import WordSource
from lexproof.candidates.lexicon import Lexicon, embedded


class LemmaSource(WordSource):
    """A source of lemmas: each reading of a word asks for the substitutes of its lemma, and puts them in its form."""

    def __init__(self, lexicon: Lexicon | None = None) -> None:
        super().__init__()
        self._lexicon = lexicon or embedded()

    @abstractmethod
    def lemmas(self, lemma: str, pos: str) -> Iterable[str]:
        """Substitutes of a lemma as this part of speech (n, v, a, r), best first."""

    def substitutes(self, word: str) -> Iterator[str]:
        """Substitutes of a word in the form of the word, reading by reading; none where the form takes two words."""
        for reading in self._lexicon.analyze(word):
            for lemma in self.lemmas(reading.lemma, reading.pos):
                form = self._lexicon.morphology.inflect(lemma, reading.pos, reading.form)
                if form is not None:
                    yield form
