"""Which words the lexicon knows, their irregular forms, and how likely each reading of a word is."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from princeton import Database

from lexproof.candidates.morphology import FORMS, Analysis, Morphology, regular

Exceptions = dict[tuple[str, str], dict[str, tuple[str, ...]]]
Ranks = Mapping[str, int]

NEVER = 10**9  # the rank of a word without a vector

WORDS = {
    name: tuple(words.split())
    for name, words in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}
"""The lists of lexicon_words.toml."""

PASTS, PARTICIPLES = frozenset(WORDS["strong"][::2]), frozenset(WORDS["strong"][1::2])
UNCHANGED, RETURNING = frozenset(WORDS["unchanged"]), frozenset(WORDS["returning"])

# what share of a lemma's occurrences has a form, roughly, to weigh readings such as "engaging" (adjective or verb)
FORM_SHARE = {
    ("n", ""): 0.75, ("n", "s"): 0.25, ("v", ""): 0.35, ("v", "s"): 0.12, ("v", "ed"): 0.25, ("v", "en"): 0.13,
    ("v", "ing"): 0.15, ("a", ""): 0.95, ("r", ""): 0.95,
}  # fmt: skip


def usable(word: str) -> bool:
    """Plain lower-case English letters, at least two."""
    return word.isascii() and word.isalpha() and word.islower() and len(word) > 1


def lemmas(database: Database, ranks: Ranks) -> dict[str, set[str]]:
    """Lemmas by part of speech: lower-case single words (no names) that have a vector."""
    found: dict[str, set[str]] = {pos: set() for pos in FORMS}
    for synset in database.synsets.values():
        found[synset.key[0]].update(word for word in synset.words if usable(word) and word in ranks)
    return found


def exceptions(database: Database, known: Mapping[str, Collection[str]], ranks: Ranks) -> Exceptions:
    """Forms that the rules miss: WordNet's own lists, and spellings that are commoner than the regular one."""
    listed = _listed(database, known, ranks)
    result: Exceptions = {}
    for pos, of_pos in known.items():
        for form in FORMS[pos][1:]:
            table = {lemma: _spellings(lemma, pos, form, listed[pos, form, lemma], ranks) for lemma in sorted(of_pos)}
            kept = {lemma: words for lemma, words in table.items() if words and words != (regular(lemma, pos, form),)}
            if kept:
                result[pos, form] = kept
    return result


def _listed(
    database: Database, known: Mapping[str, Collection[str]], ranks: Ranks
) -> defaultdict[tuple[str, str, str], set[str]]:
    found: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    for pos, pairs in database.irregular.items():
        for word, lemma in pairs:
            if lemma in known[pos] and word in ranks:
                for form in _forms_of(pos, word):
                    found[pos, form, lemma].add(word)
    for verb in (UNCHANGED | RETURNING) & set(known["v"]):
        found["v", "en", verb].add(verb)
        if verb in UNCHANGED:
            found["v", "ed", verb].add(verb)
    return found


def _forms_of(pos: str, word: str) -> list[str]:
    if pos == "n":
        return ["s"]
    if pos in "ar":
        return ["est" if word.endswith("st") else "er"]
    if word in ("am", "are"):
        return []
    if word in PASTS or word in PARTICIPLES:
        return ["ed"] if word in PASTS else ["en"]
    for ending, form in (("ing", "ing"), ("s", "s")):
        if word.endswith(ending):
            return [form]
    return ["ed"] if word == "were" else ["ed", "en"]


def _spellings(lemma: str, pos: str, form: str, listed: set[str], ranks: Ranks) -> tuple[str, ...]:
    rule = regular(lemma, pos, form)
    also = set()
    if form == "s" and lemma.endswith("o"):
        also = {lemma + "es", lemma + "s"}
    elif form == "s" and pos == "n" and lemma.endswith("man"):
        also = {lemma[:-2] + "en"}
    elif form != "s" and lemma[-1] not in "aeiouwxy" and rule.startswith(lemma):
        ending = rule[len(lemma) :]
        also = {lemma + lemma[-1] + ending} if not ending.startswith(lemma[-1]) else set()  # "admitted"
    words = {word for word in listed | also if word in ranks}
    if not words:
        return ()
    sure = PARTICIPLES | (UNCHANGED | RETURNING if form in ("ed", "en") else frozenset())
    candidates = words | ({rule} if rule in ranks else set())
    return tuple(sorted(candidates, key=lambda word: (word not in sure, ranks[word], word)))


def gradable(known: Mapping[str, Collection[str]], irregular: Exceptions, ranks: Ranks) -> dict[str, list[str]]:
    """Adjectives and adverbs whose comparative and superlative are both in use."""
    return {
        pos: [
            lemma
            for lemma in sorted(known[pos])
            if all(
                irregular.get((pos, form), {}).get(lemma) or regular(lemma, pos, form) in ranks
                for form in ("er", "est")
            )
        ]
        for pos in "ar"
    }


def mostly(lemma: str, known: Mapping[str, Collection[str]], counts: Mapping[tuple[str, str], int]) -> str:
    """The part of speech that a lemma most often is."""
    parts = [pos for pos in FORMS if lemma in known[pos]]
    return max(parts, key=lambda pos: _weight(Analysis(lemma, pos, ""), counts))


def shares(
    words: Iterable[str], morphology: Morphology, counts: Mapping[tuple[str, str], int]
) -> dict[tuple[str, Analysis], float]:
    """How likely each reading of a word is, from counts of lemmas in tagged texts and typical shares of forms."""
    found = {}
    for word in words:
        readings = morphology.analyze(word)
        weights = [_weight(reading, counts) for reading in readings]
        for reading, weight in zip(readings, weights, strict=True):
            found[word, reading] = weight / sum(weights)
    return found


def _weight(reading: Analysis, counts: Mapping[tuple[str, str], int]) -> float:
    weight = counts.get((reading.pos, reading.lemma), 0) * FORM_SHARE.get((reading.pos, reading.form), 0.03) + 0.3
    # an adjective made of a participle ("boring") is more often meant than news texts would have it
    return weight + 2 if reading.pos == "a" and reading.lemma.endswith(("ing", "ed")) and not reading.form else weight
