"""WordNet synonyms: words that share a sense with the word, of the same part of speech, in the same form.

Reference: Miller 1995, WordNet: A Lexical Database for English.  The senses are those of WordNet 3.0, limited to single
words among the 200,000 most frequent of GloVe's; obscenities and slurs are left out.
"""

from __future__ import annotations

from lexproof.candidates.base import Spec
from lexproof.candidates.lemmas import LemmaSource


class WordNet(LemmaSource):
    """Synonyms of every part of speech that the word can have, those of the commonest sense first."""

    @property
    def spec(self) -> Spec:
        """The hash of the lexicon."""
        return {"name": "wordnet", "lexicon": self._lexicon.sha256}

    def lemmas(self, lemma: str, pos: str) -> tuple[str, ...]:
        """Lemmas that share a sense."""
        return self._lexicon.synonyms(lemma, pos)
