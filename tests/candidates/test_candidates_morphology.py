"""English inflection: a table of cases, and the two directions against each other."""

from __future__ import annotations

import pytest

from lexproof.candidates.lexicon import embedded
from lexproof.candidates.morphology import FORMS, Analysis, Morphology, regular

INFLECTED = [
    ("watch", "v", "ed", "watched"),
    ("view", "v", "ing", "viewing"),
    ("see", "v", "ed", "saw"),
    ("see", "v", "en", "seen"),
    ("run", "v", "ed", "ran"),
    ("run", "v", "en", "run"),
    ("run", "v", "ing", "running"),
    ("show", "v", "en", "shown"),
    ("show", "v", "ed", "showed"),
    ("hit", "v", "ed", "hit"),
    ("buy", "v", "en", "bought"),
    ("stop", "v", "ed", "stopped"),
    ("visit", "v", "ed", "visited"),
    ("prefer", "v", "ed", "preferred"),
    ("offer", "v", "ing", "offering"),
    ("play", "v", "ed", "played"),
    ("cry", "v", "s", "cries"),
    ("cry", "v", "ed", "cried"),
    ("go", "v", "s", "goes"),
    ("die", "v", "ing", "dying"),
    ("agree", "v", "ing", "agreeing"),
    ("agree", "v", "ed", "agreed"),
    ("make", "v", "ing", "making"),
    ("panic", "v", "ed", "panicked"),
    ("fix", "v", "s", "fixes"),
    ("film", "n", "s", "films"),
    ("story", "n", "s", "stories"),
    ("boy", "n", "s", "boys"),
    ("church", "n", "s", "churches"),
    ("kiss", "n", "s", "kisses"),
    ("hero", "n", "s", "heroes"),
    ("photo", "n", "s", "photos"),
    ("leaf", "n", "s", "leaves"),
    ("child", "n", "s", "children"),
    ("woman", "n", "s", "women"),
    ("fisherman", "n", "s", "fishermen"),
    ("human", "n", "s", "humans"),
    ("genius", "n", "s", "geniuses"),
    ("funny", "a", "er", "funnier"),
    ("funny", "a", "est", "funniest"),
    ("big", "a", "er", "bigger"),
    ("simple", "a", "est", "simplest"),
    ("good", "a", "er", "better"),
    ("bad", "a", "est", "worst"),
    ("dull", "a", "", "dull"),
    ("fast", "r", "er", "faster"),
]


@pytest.mark.parametrize(("lemma", "pos", "form", "word"), INFLECTED)
def test_a_table_of_forms_both_ways(lemma: str, pos: str, form: str, word: str) -> None:
    morphology = embedded().morphology
    assert morphology.inflect(lemma, pos, form) == word
    assert Analysis(lemma, pos, form) in morphology.analyze(word)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("watched", {("watch", "v", "ed"), ("watch", "v", "en")}),
        ("films", {("film", "n", "s"), ("film", "v", "s")}),
        ("hoping", {("hope", "v", "ing")}),
        ("hopping", {("hop", "v", "ing")}),
        ("travelled", {("travel", "v", "ed"), ("travel", "v", "en"), ("travelled", "a", "")}),
        ("boring", {("boring", "a", ""), ("boring", "n", ""), ("bore", "v", "ing")}),
        ("men", {("man", "n", "s")}),
        ("was", {("be", "v", "ed")}),
        ("amusinger", set()),
        ("qwxzt", set()),
        ("", set()),
    ],
)
def test_readings_of_a_word(word: str, expected: set[tuple[str, str, str]]) -> None:
    readings = {(reading.lemma, reading.pos, reading.form) for reading in embedded().analyze(word)}
    assert readings == expected


def test_the_likeliest_reading_comes_first() -> None:
    assert embedded().analyze("boring")[0].pos == "a"
    assert embedded().analyze("films")[0].pos == "n"
    assert embedded().analyze("watched")[0].pos == "v"


@pytest.mark.parametrize("lemma", ["amusing", "beautiful", "excellent"])
def test_long_adjectives_have_no_comparative_of_one_word(lemma: str) -> None:
    assert embedded().morphology.inflect(lemma, "a", "er") is None


def test_every_form_of_every_lemma_is_understood() -> None:
    morphology = embedded().morphology
    missed = []
    for pos, lemmas in morphology.lemmas.items():
        for lemma in sorted(lemmas)[::23]:
            for form in FORMS[pos]:
                word = morphology.inflect(lemma, pos, form)
                if word is not None and Analysis(lemma, pos, form) not in morphology.analyze(word):
                    missed.append((lemma, pos, form, word))
    # a lemma that is also an irregular form of another (comparative, plural) is not read as a word of its own
    assert all(not form for _, _, form, _ in missed)
    assert len(missed) < 20


def test_readings_come_from_lemmas_and_exceptions_alone() -> None:
    morphology = Morphology(
        {"n": {"ox", "man"}, "v": {"sing"}, "a": {"red"}, "r": set()},
        {
            ("n", "s"): {"ox": ("oxen", "oxes"), "cow": ("kine",)},
            ("v", "ed"): {"sing": ("sang",)},
            ("v", "en"): {"sing": ("sung",)},
        },
        {"a": {"red"}, "r": set()},
    )
    assert morphology.inflect("ox", "n", "s") == "oxen"
    assert morphology.analyze("oxes") == (Analysis("ox", "n", "s"),)
    assert morphology.analyze("kine") == ()
    assert morphology.analyze("sang") == (Analysis("sing", "v", "ed"),)
    assert morphology.analyze("singed") == ()  # "sang" is what the exceptions say
    assert morphology.analyze("redder") == (Analysis("red", "a", "er"),)
    assert morphology.analyze("mans") == (Analysis("man", "n", "s"),)


@pytest.mark.parametrize(
    ("lemma", "form", "word"), [("quit", "ing", "quitting"), ("eat", "ing", "eating"), ("dye", "ing", "dyeing")]
)
def test_regular_spelling(lemma: str, form: str, word: str) -> None:
    assert regular(lemma, "v", form) == word
