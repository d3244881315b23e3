"""Where substitutes come from: a text in, S_1 … S_n out; see docs/candidates.md.

`default()` needs no network and no files; `from_spec` builds candidates from a line of text.  Sources and filters are
loaded when they are first named.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lexproof.candidates.base import Filtered, Source, TextFilter, Union, WordFilter, WordSource
from lexproof.candidates.specs import from_spec

if TYPE_CHECKING:
    from lexproof.candidates.cache import Cached
    from lexproof.candidates.counterfit import Settings, counter_fit
    from lexproof.candidates.filters import (
        AtMost,
        KeepNames,
        NoAntonyms,
        SameInflection,
        SamePartOfSpeech,
        StopWords,
    )
    from lexproof.candidates.masked_lm import MaskedLM
    from lexproof.candidates.neighbors import LexiconNeighbors, Neighbors
    from lexproof.candidates.sememes import Sememes
    from lexproof.candidates.similarity import SentenceEncoder, SimilarTo, similar_text
    from lexproof.candidates.table import Table
    from lexproof.candidates.tagger import SameTag, spacy_tagger
    from lexproof.candidates.typos import Typos
    from lexproof.candidates.vocabulary import Vocabulary
    from lexproof.candidates.wordnet import WordNet

_LAZY = {
    "AtMost": "filters",
    "Cached": "cache",
    "KeepNames": "filters",
    "LexiconNeighbors": "neighbors",
    "MaskedLM": "masked_lm",
    "Neighbors": "neighbors",
    "NoAntonyms": "filters",
    "SameInflection": "filters",
    "SamePartOfSpeech": "filters",
    "SameTag": "tagger",
    "Sememes": "sememes",
    "SentenceEncoder": "similarity",
    "Settings": "counterfit",
    "SimilarTo": "similarity",
    "StopWords": "filters",
    "Table": "table",
    "Typos": "typos",
    "Vocabulary": "vocabulary",
    "WordNet": "wordnet",
    "counter_fit": "counterfit",
    "similar_text": "similarity",
    "spacy_tagger": "tagger",
}

__all__ = [
    "AtMost",
    "Cached",
    "Filtered",
    "KeepNames",
    "LexiconNeighbors",
    "MaskedLM",
    "Neighbors",
    "NoAntonyms",
    "SameInflection",
    "SamePartOfSpeech",
    "SameTag",
    "Sememes",
    "SentenceEncoder",
    "Settings",
    "SimilarTo",
    "Source",
    "StopWords",
    "Table",
    "TextFilter",
    "Typos",
    "Union",
    "Vocabulary",
    "WordFilter",
    "WordNet",
    "WordSource",
    "counter_fit",
    "default",
    "from_spec",
    "similar_text",
    "spacy_tagger",
]


def default(*, k: int = 8, floor: float = 0.6) -> Source:
    """Counter-fitted neighbors of the embedded lexicon: at most k, with a cosine of at least `floor`.

    Stop words and names inside a sentence are frozen; antonyms, other parts of speech and other forms are left out;
    case is kept.
    """
    from lexproof.candidates.filters import AtMost, KeepNames, StopWords
    from lexproof.candidates.neighbors import LexiconNeighbors

    # antonyms, parts of speech and forms were sorted out when the lexicon was built (a test holds it to that)
    return LexiconNeighbors(floor=floor).filtered(StopWords(), AtMost(k), KeepNames())


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'lexproof.candidates' has no attribute {name!r}")
    return getattr(import_module(f"lexproof.candidates.{_LAZY[name]}"), name)


def __dir__() -> list[str]:
    return __all__
