"""English inflection by rule and by a list of exceptions: which form of which lemma a word is, and the form of a lemma.

Guarantee: `analyze(word)` holds (lemma, pos, form) only if `inflect(lemma, pos, form) == word` or the exceptions list
the word, so the two directions never disagree.

Symbols: pos is n, v, a or r (noun, verb, adjective, adverb).  form is "" for the lemma itself, s for the plural and
the third person, ed for the past, en for the past participle, ing, er and est.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

FORMS: Mapping[str, tuple[str, ...]] = {
    "n": ("", "s"),
    "v": ("", "s", "ed", "en", "ing"),
    "a": ("", "er", "est"),
    "r": ("", "er", "est"),
}
"""The forms of each part of speech."""

_HISS = re.compile(r"(?:s|x|z|ch|sh)$")
_ONE_SYLLABLE = re.compile(r"[^aeiou]*(?:qu)?[aeiouy][bcdfghjklmnpqrstvz]$")
_SUFFIXES = {
    "s": ("s", "es"),
    "ed": ("ed", "d"),
    "en": ("ed", "d"),
    "ing": ("ing",),
    "er": ("er", "r"),
    "est": ("est", "st"),
}


@dataclass(frozen=True, slots=True)
class Analysis:
    """A word read as a form of a lemma."""

    lemma: str
    pos: str
    form: str


def regular(lemma: str, pos: str, form: str) -> str:
    """The form by rule alone."""
    if not form:
        return lemma
    if form == "s":
        return _with_s(lemma, pos)
    suffix = {"ed": "ed", "en": "ed", "ing": "ing", "er": "er", "est": "est"}[form]
    if lemma.endswith("e"):
        keeps = form == "ing" and lemma.endswith(("ee", "oe", "ye"))
        if form == "ing" and lemma.endswith("ie"):
            return lemma[:-2] + "ying"
        return lemma + suffix if keeps else lemma[:-1] + suffix
    if lemma.endswith("y") and lemma[-2:-1] not in "aeiou" and form != "ing":
        return lemma[:-1] + "i" + suffix
    if lemma.endswith("c") and form != "er" and len(lemma) > 3:
        return lemma + "k" + suffix
    return (lemma + lemma[-1] if _ONE_SYLLABLE.match(lemma) else lemma) + suffix


def _with_s(lemma: str, pos: str) -> str:
    if lemma.endswith("y") and lemma[-2:-1] not in "aeiou":
        return lemma[:-1] + "ies"
    return lemma + ("es" if _HISS.search(lemma) or (pos == "v" and lemma[-2:] in ("go", "do")) else "s")


class Morphology:
    """Analysis and inflection over known lemmas and exceptions.

    `exceptions[pos, form]` maps a lemma to its forms, the usual one first; further ones are understood, not written.
    Comparatives are written only for the lemmas of `gradable[pos]`: there is no "amusinger".
    """

    def __init__(
        self,
        lemmas: Mapping[str, Collection[str]],
        exceptions: Mapping[tuple[str, str], Mapping[str, tuple[str, ...]]],
        gradable: Mapping[str, Collection[str]],
    ) -> None:
        self.lemmas = lemmas
        self._gradable = gradable
        self._forms = exceptions
        self._listed: dict[str, list[Analysis]] = {}
        for (pos, form), table in exceptions.items():
            for lemma, forms in table.items():
                for word in forms:
                    self._listed.setdefault(word, []).append(Analysis(lemma, pos, form))

    def inflect(self, lemma: str, pos: str, form: str) -> str | None:
        """The form of a lemma, or None if it has none of one word."""
        listed = self._forms.get((pos, form), {}).get(lemma)
        if listed:
            return listed[0]
        if form in ("er", "est") and lemma not in self._gradable[pos]:
            return None
        return regular(lemma, pos, form)

    def analyze(self, word: str) -> tuple[Analysis, ...]:
        """Every reading of a lower-case word as a form of a known lemma, base forms first; () if unknown.

        Dictionaries also list "better" and "men" as words of their own; here they are forms of "good" and "man" only.
        """
        listed = [reading for reading in self._listed.get(word, ()) if reading.lemma in self.lemmas[reading.pos]]
        forms = dict.fromkeys([*listed, *self._by_rule(word)])
        taken = {reading.pos for reading in forms if reading.form in ("er", "est")}
        taken |= {reading.pos for reading in listed if reading.form == "s" and reading.lemma != word}
        bases = [Analysis(word, pos, "") for pos, known in self.lemmas.items() if word in known and pos not in taken]
        return (*bases, *forms)

    def _by_rule(self, word: str) -> Iterator[Analysis]:
        for pos, known in self.lemmas.items():
            for form in FORMS[pos][1:]:
                for lemma in sorted(_stems(word, form)):
                    if lemma in known and self.inflect(lemma, pos, form) == word:
                        yield Analysis(lemma, pos, form)


def _stems(word: str, form: str) -> set[str]:
    stems = set()
    for suffix in _SUFFIXES[form]:
        if word.endswith(suffix) and len(word) > len(suffix) + 1:
            stem = word[: -len(suffix)]
            stems |= {stem, stem + "e"}
            if stem[-1] == "i":
                stems.add(stem[:-1] + "y")
            if stem[-1] == "y":
                stems.add(stem[:-1] + "ie")
            if stem[-2:-1] == stem[-1:] or stem.endswith("ck"):
                stems.add(stem[:-1])
    return stems
