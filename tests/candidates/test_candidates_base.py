"""Sources, filters and their composition: the contract of candidates, over every source."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexproof import candidates
from lexproof.candidates import AtMost, KeepNames, Source, StopWords, Table, TextFilter, Union, WordFilter
from lexproof.candidates.base import Choices, Options, Spec, match_case
from lexproof.errors import InputError
from lexproof.space import Space
from lexproof.text import Text


@pytest.mark.parametrize(
    ("word", "options", "expected"),
    [
        ("film", ("movie", "Flick"), ("movie", "Flick")),
        ("Film", ("movie", "Flick"), ("Movie", "Flick")),
        ("FILM", ("movie", "flick"), ("MOVIE", "FLICK")),
        ("A", ("an", "the"), ("An", "The")),
        ("McFilm", ("movie",), ("movie",)),
        ("Film", ("movie", "Movie"), ("Movie",)),
        ("Film", ("FILM", "film"), ()),
        ("é", ("e", "É"), ("e",)),
        ("3", ("4",), ("4",)),
    ],
)
def test_case_is_matched(word: str, options: Options, expected: Options) -> None:
    assert match_case(word, options) == expected


def every_source(folder: Path) -> list[Source]:
    (folder / "words.txt").write_text("film\nMovie\nbig\n", encoding="utf-8")
    sememes = {"film": {"noun": [["shows"]]}, "movie": {"noun": [["shows"]]}}
    (folder / "sememes.json").write_text(json.dumps(sememes), encoding="utf-8")
    words = ["film", "movie", "good", "great", "the"]
    np.savez(folder / "vectors.npz", words=np.array(words), vectors=np.eye(5, 3) + 0.5)
    specs = [
        "default",
        "default?k=2&floor=0.9",
        "wordnet",
        "wordnet?raw=1",
        "typos?seed=3",
        f"vocabulary:{folder / 'words.txt'}",
        f"sememes:{folder / 'sememes.json'}",
        f"neighbors:{folder / 'vectors.npz'}?floor=-1",
    ]
    made = [candidates.from_spec(spec) for spec in specs]
    made.append(Table({"film": ["movie", "film", "movie"], "Good": ["great"]}))
    sources = [source for source in made if isinstance(source, Source)]
    assert len(sources) == len(made)
    return [*sources, sources[0] | sources[4], sources[2].filtered(StopWords(), AtMost(1), KeepNames())]


TEXTS = ["", "film", "The Film was GOOD, the film!", "don't well-known naïve 3rd İstanbul ß 中文", "🎬 … ", "A a"]


@pytest.mark.parametrize("surface", TEXTS)
def test_every_source_keeps_the_contract(surface: str, tmp_path: Path) -> None:
    text = Text.parse(surface)
    for source, again in zip(every_source(tmp_path), every_source(tmp_path), strict=True):
        choices = source(text)
        Space(text, choices)  # one list a word, distinct, never the word itself
        assert isinstance(choices, tuple) and all(isinstance(options, tuple) for options in choices)
        for word, options in zip(text.words, choices, strict=True):
            assert word.lower() not in {option.lower() for option in options}
        assert json.loads(json.dumps(source.spec)) == json.loads(json.dumps(again.spec))
        assert source.fingerprint == again.fingerprint
        assert again(text) == choices == source(text)


@given(st.lists(st.sampled_from(["good", "Good", "GOOD", "films", "boring", "the", "zzz", "3", "don't"]), max_size=12))
def test_words_are_independent_of_each_other(words: list[str]) -> None:
    source = candidates.LexiconNeighbors()
    alone = tuple(source(Text.from_words([word]))[0] for word in words)
    assert source(Text.from_words(words)) == alone


def test_a_source_forgets_words_when_there_are_very_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lexproof.candidates.base._MEMO_LIMIT", 3)
    table = Table({"a": ["b"], "c": ["d"], "e": ["f"], "g": ["h"]})
    text = Text.from_words(["a", "c", "e", "g", "a"])
    assert [table(text), table(text), table(Text.from_words(["a", "x"]))] == [
        (("b",), ("d",), ("f",), ("h",), ("b",)),
        (("b",), ("d",), ("f",), ("h",), ("b",)),
        (("b",), ()),
    ]


class Longer(WordFilter):
    """Keeps substitutes that are longer than the word, and writes down what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    @property
    def spec(self) -> Spec:
        return {"name": "longer"}

    def keep(self, word: str, options: Options) -> Options:
        self.asked.append(word)
        return tuple(option for option in options if len(option) > len(word))


class Last(TextFilter):
    """Opens the last word only."""

    @property
    def spec(self) -> Spec:
        return {"name": "last"}

    def keep(self, text: Text, choices: Choices) -> Choices:
        return (*((),) * (len(choices) - 1), *choices[-1:])


TABLE = {"film": ["movie", "pic", "feature"], "plot": ["story", "tale"]}


def test_word_filters_are_asked_once_per_distinct_word() -> None:
    longer = Longer()
    source = Table(TABLE).filtered(longer)
    expected = (("Movie", "Feature"), ("story",), ("movie", "feature"))
    assert source(Text.from_words(["Film", "plot", "film"])) == expected
    assert source(Text.from_words(["film", "plot"])) == (("movie", "feature"), ("story",))
    assert longer.asked == ["film", "plot"]
    assert isinstance(source, candidates.WordSource)


def test_filters_apply_in_order_on_any_source() -> None:
    text = Text.from_words(["Plot", "FILM"])
    assert Table(TABLE).filtered(AtMost(2), Longer())(text) == (("Story",), ("MOVIE",))
    assert Table(TABLE).filtered(Longer(), AtMost(2))(text) == (("Story",), ("MOVIE", "FEATURE"))
    assert Table(TABLE).filtered(Last(), Longer(), AtMost(1))(text) == ((), ("MOVIE",))
    assert Table(TABLE).filtered(Last(), AtMost(2)).filtered(Longer())(text) == ((), ("MOVIE",))
    assert Table(TABLE).filtered()(text) == Table(TABLE)(text)


def test_specs_record_filters_in_order() -> None:
    source = Table(TABLE).filtered(AtMost(2), Last(), Longer())
    assert source.name == "table"
    assert source.spec["filters"] == [{"name": "at-most", "k": 2}, {"name": "last"}, {"name": "longer"}]
    assert source.fingerprint != Table(TABLE).filtered(AtMost(3), Last(), Longer()).fingerprint


def test_union_keeps_order_and_drops_repeats() -> None:
    source = Table({"film": ["movie", "pic"]}) | Table({"film": ["flick", "movie"], "plot": ["story"]})
    assert source(Text.from_words(["Film", "plot"])) == (("Movie", "Pic", "Flick"), ("story",))
    assert source(Text.parse("")) == ()
    assert source.spec["name"] == "union"
    with pytest.raises(InputError, match="expected at least one source, got none"):
        Union()


def test_a_bad_filter_setting_is_refused() -> None:
    with pytest.raises(InputError, match="expected k >= 1, got 0"):
        AtMost(0)


def test_a_filter_behind_a_union_counts_and_orders_spellings_one_by_one() -> None:
    def joined(options: list[str]) -> Source:
        return Table({"good": options}) | Table({"x": ["y"]})

    text = Text.from_words(["good"])
    assert joined(["Fine", "fine", "FINE", "nice"]).filtered(AtMost(1))(text) == (("Fine",),)
    assert joined(["Fine", "nice", "fine"]).filtered(AtMost(5))(text) == (("Fine", "nice", "fine"),)
    assert joined(["Finer", "nice", "FINER", "good!"]).filtered(Longer(), AtMost(2))(text) == (("Finer", "FINER"),)
