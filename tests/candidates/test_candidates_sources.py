"""Tables, vocabularies, typos, sememes and WordNet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexproof.candidates import Sememes, Table, Typos, Vocabulary, WordNet
from lexproof.candidates.typos import KINDS
from lexproof.errors import DataError, InputError
from lexproof.text import Text


def options_of(source: Table | Typos | Vocabulary | Sememes | WordNet, word: str) -> tuple[str, ...]:
    return source(Text.from_words([word]))[0]


# ------------------------------------------------------------------ tables


def test_a_table_keeps_its_order_and_restores_case(tmp_path: Path) -> None:
    content = {"film": ["movie", "pic", "film", "movie"], "FILM": ["flick"], "us": ["America"]}
    (tmp_path / "t.json").write_text(json.dumps(content), encoding="utf-8")
    for table in (Table(content), Table.load(tmp_path / "t.json")):
        assert options_of(table, "film") == ("movie", "pic", "flick")
        assert options_of(table, "Film") == ("Movie", "Pic", "Flick")
        assert options_of(table, "us") == ("America",)
        assert options_of(table, "plot") == ()
    assert Table(content).spec == Table.load(tmp_path / "t.json").spec
    assert Table(content).fingerprint != Table({**content, "a": ["b"]}).fingerprint


def test_a_table_that_cannot_be_used_says_why(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a list of substitutes for 'film', got 'movie'"):
        Table({"film": "movie"})
    with pytest.raises(InputError, match=r"expected a list of substitutes for 'film', got \[''\]"):
        Table({"film": [""]})
    (tmp_path / "list.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(
        DataError, match=r"expected a JSON file of word: \[substitutes\], got a JSON list in .*list.json"
    ):
        Table.load(tmp_path / "list.json")
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match=r"got .*bad.json', which is not JSON: Expecting"):
        Table.load(tmp_path / "bad.json")
    with pytest.raises(DataError, match=r"got .*none.json', which cannot be read: No such file"):
        Table.load(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes(b'{"caf\xe9": []}')
    with pytest.raises(DataError, match=r"got .*latin.json', which cannot be read: it is not UTF-8"):
        Table.load(tmp_path / "latin.json")


# ------------------------------------------------------------------ vocabularies


def test_a_vocabulary_offers_every_word_everywhere(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("film\n\nbig \nBig\nsmall\nfilm\n", encoding="utf-8")
    vocabulary = Vocabulary.load(tmp_path / "v.txt")
    assert vocabulary.words == ("film", "big", "Big", "small")
    assert vocabulary(Text.from_words(["film", "Big", "x"])) == (
        ("big", "Big", "small"),
        ("Film", "Small"),
        ("film", "big", "Big", "small"),
    )
    with pytest.raises(InputError, match="expected a list of at least one word, got none"):
        Vocabulary([])
    with pytest.raises(InputError, match="expected words that are not empty, got an empty one"):
        Vocabulary(["a", ""])


# ------------------------------------------------------------------ typos


def edit_distance(a: str, b: str) -> int:
    """Insertions, deletions, substitutions and swaps of neighbors."""
    rows = [list(range(len(b) + 1))]
    for i in range(1, len(a) + 1):
        row = [i]
        for j in range(1, len(b) + 1):
            best = min(row[j - 1] + 1, rows[-1][j] + 1, rows[-1][j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]


@pytest.mark.parametrize("kind", KINDS)
@given(word=st.text("abcdehilmoprstüж", min_size=1, max_size=9), seed=st.integers(0, 5))
def test_a_typo_is_one_edit_inside_the_word(kind: str, word: str, seed: int) -> None:
    found = options_of(Typos(kinds=[kind], per_word=50, min_length=4, seed=seed), word)
    assert (len(word) >= 4) or not found
    for typo in found:
        assert edit_distance(word, typo) == 1
        assert (typo[0], typo[-1]) == (word[0], word[-1])
        change = {"swap": 0, "delete": -1, "insert": 1, "substitute": 0, "homoglyph": 0, "split": 1}[kind]
        assert len(typo) == len(word) + change
        assert (" " in typo) == (kind == "split")
        assert kind != "swap" or sorted(typo) == sorted(word)


def test_typos_of_one_word() -> None:
    assert set(options_of(Typos(kinds=["swap"], per_word=9), "great")) == {"gerat", "graet"}
    assert set(options_of(Typos(kinds=["delete"], per_word=9), "great")) == {"geat", "grat", "gret"}
    assert set(options_of(Typos(kinds=["split"], per_word=9), "film")) == {"f ilm", "fi lm", "fil m"}
    assert set(options_of(Typos(kinds=["homoglyph"], per_word=9), "spite")) == {"sрite", "spіte"}
    assert "grwat" in options_of(Typos(kinds=["substitute"], per_word=99), "great")
    assert "grreat" not in options_of(Typos(kinds=["insert"], per_word=99), "great")
    assert "grteat" in options_of(Typos(kinds=["insert"], per_word=99), "great")


def test_typos_take_kinds_in_turn_and_depend_on_seed_and_word_only() -> None:
    typos = Typos(per_word=6, seed=1)
    word = options_of(typos, "charming")
    assert [len(typo) for typo in word] == [8, 7, 9, 8, 8, 9]
    assert typos(Text.from_words(["other", "Charming", "CHARMING"]))[1:] == (
        tuple(typo.capitalize() for typo in word),
        tuple(typo.upper() for typo in word),
    )
    assert options_of(Typos(per_word=6, seed=1), "charming") == word
    assert options_of(Typos(per_word=6, seed=2), "charming") != word
    assert len(options_of(Typos(per_word=3), "charming")) == 3


def test_typos_refuse_what_they_cannot_use() -> None:
    with pytest.raises(InputError, match=r"expected kinds of typos among swap, delete, .*, got jumble"):
        Typos(kinds=["swap", "jumble"])
    with pytest.raises(InputError, match=r"expected kinds of typos among .*, got none"):
        Typos(kinds=[])
    with pytest.raises(InputError, match="expected per_word >= 1 and min_length >= 1, got 0 and 4"):
        Typos(per_word=0)


# ------------------------------------------------------------------ sememes and WordNet


SENSES = {
    "film": {"noun": [["shows", "fact"], ["tool"]], "verb": [["take"]]},
    "movie": {"noun": [["fact", "shows"]]},
    "picture": {"n": [["shows", "fact"], ["image"]]},
    "lens": {"noun": [["tool"], ["tool"]]},
    "show": {"noun": [["shows"]]},
    "shoot": {"verb": [["take"]], "noun": [["shows", "fact"]]},
}


def test_words_share_a_part_of_speech_and_all_sememes_of_a_sense() -> None:
    sememes = Sememes(SENSES)
    assert sememes.lemmas("film", "n") == ("movie", "picture", "shoot", "lens")
    assert sememes.lemmas("film", "v") == ("shoot",)
    assert sememes.lemmas("show", "n") == sememes.lemmas("film", "a") == sememes.lemmas("unknown", "n") == ()
    assert options_of(sememes, "Films") == ("Movies", "Pictures", "Shoots", "Lenses")
    assert options_of(sememes, "filmed") == ("shot",)


def test_a_file_may_list_the_candidates_themselves(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps({"watch": {"v": ["view", "observe"], "noun": []}}), encoding="utf-8")
    sememes = Sememes.load(tmp_path / "s.json")
    assert options_of(sememes, "watched") == ("viewed", "observed")
    assert options_of(sememes, "watching") == ("viewing", "observing")
    assert sememes.spec["name"] == "sememes"


def test_sememes_that_cannot_be_used_say_why() -> None:
    with pytest.raises(InputError, match=r"expected \{part of speech: \[...\]\} for 'film', got \['movie'\]"):
        Sememes({"film": ["movie"]})
    with pytest.raises(InputError, match=r"expected a part of speech of noun, verb, .* for 'film', got 'nn'"):
        Sememes({"film": {"nn": ["movie"]}})
    with pytest.raises(
        InputError, match=r"expected a list of words or of lists of sememes for 'film', got \['a', \['b'\]\]"
    ):
        Sememes({"film": {"noun": ["a", ["b"]]}})


@pytest.mark.parametrize(
    ("word", "wanted", "unwanted"),
    [
        ("watched", {"viewed", "observed", "saw"}, {"view", "see"}),
        ("films", {"movies", "pictures"}, {"movie", "film"}),
        ("boring", {"tedious", "tiresome"}, {"bore"}),
        ("children", {"kids", "youngsters"}, {"kid"}),
        ("Film", {"Movie"}, {"movie"}),
        ("qwxzt", set(), {"qwxzt"}),
    ],
)
def test_wordnet_keeps_the_form(word: str, wanted: set[str], unwanted: set[str]) -> None:
    options = set(options_of(WordNet(), word))
    assert wanted <= options and not unwanted & options
    assert word != "qwxzt" or not options


# ------------------------------------------------------------------ what the hash and the files must know


def test_the_order_of_entries_is_part_of_the_hash() -> None:
    a, b = {"film": {"n": [["x"]]}, "movie": {"n": [["x"]]}, "picture": {"n": [["x"]]}}, {"picture": {"n": [["x"]]}}
    first, second = Sememes(a), Sememes({**b, **a})
    assert options_of(first, "film") != options_of(second, "film")
    assert first.fingerprint != second.fingerprint
    one, two = Table({"Film": ["movie"], "film": ["flick"]}), Table({"film": ["flick"], "Film": ["movie"]})
    assert options_of(one, "film") != options_of(two, "film")
    assert one.fingerprint != two.fingerprint


def test_entries_that_differ_in_case_or_name_of_a_part_are_merged() -> None:
    listed = Sememes({"film": {"noun": ["movie"], "n": ["picture"]}, "Film": {"n": ["flick", "movie"]}})
    assert options_of(listed, "film") == ("movie", "picture", "flick")
    senses = {"film": {"noun": [["a"]], "n": [["b"]]}, "FILM": {"n": [["c"], ["a"]]}}
    others = {"one": {"n": [["a"]]}, "two": {"n": [["b"]]}, "three": {"n": [["c"]]}}
    assert Sememes({**senses, **others}).lemmas("film", "n") == ("one", "two", "three")
    both = Sememes({"film": {"n": ["picture"], "noun": [["a"]]}, "movie": {"n": [["a"]]}})
    assert both.lemmas("film", "n") == ("picture", "movie")


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("\ufefffirst\nsecond\n", encoding="utf-8")
    assert Vocabulary.load(tmp_path / "v.txt").words == ("first", "second")
    (tmp_path / "t.json").write_text('\ufeff{"film": ["movie"]}', encoding="utf-8")
    assert options_of(Table.load(tmp_path / "t.json"), "film") == ("movie",)


@pytest.mark.parametrize("content", ['{"film": ' + "9" * 5000 + "}", '{"film": ' * 100_000, "[" * 200_000])
def test_json_that_python_cannot_hold_is_said_in_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "t.json").write_text(content, encoding="utf-8")
    for load in (Table.load, Sememes.load):
        with pytest.raises(DataError, match=r"expected a JSON file .*t.json', which is not JSON: ") as caught:
            load(tmp_path / "t.json")
        assert "\n" not in str(caught.value)


def test_lone_surrogates_are_refused() -> None:
    message = r"expected Unicode text for 'film', got '\\ud800', which holds a lone surrogate"
    with pytest.raises(InputError, match=message):
        Table({"film": ["movie", "\ud800"]})
    with pytest.raises(InputError, match=message):
        Sememes({"film": {"n": ["\ud800"]}})
    with pytest.raises(InputError, match=r"expected Unicode text for a vocabulary, got '\\ud800', which holds a lone"):
        Vocabulary(["film", "\ud800"])


def test_lower_case_words_share_one_list_of_a_vocabulary() -> None:
    vocabulary = Vocabulary(["film", "Movie"])
    choices = vocabulary(Text.from_words(["good", "bad", "3", "film", "Good", "movie"]))
    assert choices[0] is choices[1] is choices[2] is vocabulary.words
    assert choices[3:] == (("Movie",), ("Film", "Movie"), ("film",))
