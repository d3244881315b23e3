"""Filters on substitutes that need no model: stop words, antonyms, part of speech, form, number, names.

Word filters look at a word and a substitute alone, by the embedded lexicon, so a source behind them is still computed
once per distinct word.  The lexicon is English; a word that it does not know is never held against itself: if the
word of the text is unknown its substitutes pass, if only the substitute is unknown it is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from statistics import fmean

from lexproof.candidates.base import Choices, Options, Spec, TextFilter, WordFilter
from lexproof.candidates.files import sha256_of_json
from lexproof.candidates.lexicon import Lexicon, embedded
from lexproof.errors import InputError
from lexproof.text import Text

_NUMERAL = re.compile(r"\d+(?:['‐-]\d+)*(?:st|nd|rd|th|s)?")
# negations that the lexicon does not list, what tokenizers split off, spellings that are no other word (as "ill" is)
_CLITICS = (
    "mightn't shan't oughtn't daren't n't nt ca wo s t d m ll re ve "
    "im ive youre youve theyre theyve weve thats whats theres heres"
)


class _ByLexicon(WordFilter):
    """A filter that asks the lexicon."""

    name = ""

    def __init__(self, *, lexicon: Lexicon | None = None) -> None:
        self._lexicon = lexicon or embedded()

    @property
    def spec(self) -> Spec:
        """The name and the hash of the lexicon."""
        return {"name": self.name, "lexicon": self._lexicon.sha256}


class StopWords(WordFilter):
    """Function words, numerals and clitics (or just the words given) are not replaced, and replace nothing.

    Numerals are words ("ten", "third") and digits ("10", "3rd", "1990s"); clitics are met with either apostrophe
    ("don't", "don’t"), without one where that is no other word ("dont"), and split off by a tokenizer ("do n't").
    """

    def __init__(self, words: Iterable[str] | None = None) -> None:
        self.words = _usual_stop_words() if words is None else frozenset(map(_plain, words))
        self._numerals = words is None

    @property
    def spec(self) -> Spec:
        """The hash of the words, and whether digits are frozen too."""
        return {"name": "stop-words", "sha256": sha256_of_json(sorted(self.words)), "numerals": self._numerals}

    def keep(self, word: str, options: Options) -> Options:
        """Nothing for a stop word; no stop word for others."""
        return () if self._holds(word) else tuple(option for option in options if not self._holds(option))

    def _holds(self, word: str) -> bool:
        word = _plain(word)
        return word in self.words or (self._numerals and _NUMERAL.fullmatch(word) is not None)


def _plain(word: str) -> str:
    return word.lower().replace("’", "'")


def _usual_stop_words() -> frozenset[str]:
    words = embedded().stop_words.union(_CLITICS.split())
    return words | {word.replace("'", "") for word in words if word.endswith("n't")}


class NoAntonyms(_ByLexicon):
    """A substitute is no antonym of the word: listed, through similar words, or by a negating prefix or -less for -ful.

    Compared are the two words as they stand and, within a part of speech, the lemmas that the lexicon knows them as
    forms of: "hated" for "loved" is left out; "unhappiest" for "happy", a form that it does not know, is not.
    """

    name = "no-antonyms"

    def keep(self, word: str, options: Options) -> Options:
        """Those that are not antonyms."""
        return tuple(option for option in options if not self._lexicon.opposed(word, option.lower()))


class SamePartOfSpeech(_ByLexicon):
    """A substitute can be a part of speech that the word can be (noun, verb, adjective, adverb)."""

    name = "same-part-of-speech"

    def keep(self, word: str, options: Options) -> Options:
        """Those that share a part of speech."""
        parts = {reading.pos for reading in self._lexicon.analyze(word)}
        return tuple(o for o in options if not parts or any(r.pos in parts for r in self._lexicon.analyze(o.lower())))


class SameInflection(_ByLexicon):
    """A substitute can be the form that the word is (plural, past, -ing ...), and is no other form of its lemma."""

    name = "same-inflection"

    def keep(self, word: str, options: Options) -> Options:
        """Those that share part of speech and form."""
        if not self._lexicon.analyze(word):
            return options
        return tuple(option for option in options if self._lexicon.alike(word, option.lower()))


class AtMost(WordFilter):
    """The first k substitutes."""

    def __init__(self, k: int) -> None:
        if k < 1:
            raise InputError(f"expected k >= 1, got {k}")
        self.k = k

    @property
    def spec(self) -> Spec:
        """The number."""
        return {"name": "at-most", "k": self.k}

    def keep(self, word: str, options: Options) -> Options:
        """The first k."""
        return options[: self.k]


class KeepNames(TextFilter):
    """Capitalized words inside a sentence are taken for names and not replaced.

    A headline tells nothing and is left as it is: more than half of the content words inside its sentences, and of at
    least three, are capitalized.
    """

    def __init__(self, *, lexicon: Lexicon | None = None) -> None:
        self._lexicon = lexicon or embedded()

    @property
    def spec(self) -> Spec:
        """The name and the hash of the lexicon, which says what a content word is."""
        return {"name": "keep-names", "lexicon": self._lexicon.sha256}

    def keep(self, text: Text, choices: Choices) -> Choices:
        """No substitutes for names, all for other words."""
        if not any(map(_is_titled, text.words)):
            return choices
        inside = [at for at in range(len(text)) if not _starts_sentence(text, at)]
        titled = {at for at in inside if _is_titled(text.words[at])}
        content = [at in titled for at in inside if _plain(text.words[at]) not in self._lexicon.stop_words]
        if len(content) >= 3 and fmean(content) > 0.5:
            return choices
        return tuple(() if at in titled else options for at, options in enumerate(choices))


def _is_titled(word: str) -> bool:
    return word[:1].isupper() and (len(word) == 1 or not word.isupper())


def _starts_sentence(text: Text, at: int) -> bool:
    return at == 0 or any(mark in text.gaps[at] for mark in '.!?:;\n"“(>')
