"""Masked-LM candidates on models small enough to check every position by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lexproof.candidates import Cached, MaskedLM, from_spec
from lexproof.candidates.guesses import question as _question
from lexproof.errors import InputError, ModelError
from lexproof.text import Text

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "a",
    "good",
    "bad",
    "film",
    "movie",
    "##s",
    "un",
    "##known",
    "3",
    ",",
]
WHOLE = ["a", "good", "bad", "film", "movie", "un"]


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny-bert")
    (folder / "vocab.txt").write_text("\n".join(PIECES), encoding="utf-8")
    tokenizer = transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt"), do_lower_case=True)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(PIECES), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=128,
    )  # fmt: skip
    model = transformers.BertForMaskedLM(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def by_hand(folder: Path, tokens: list[str], at: int, segments: list[int] | None = None) -> list[str]:
    """Whole words by logit at one token, from the model itself."""
    model = transformers.BertForMaskedLM.from_pretrained(folder).eval()
    ids = torch.tensor([[PIECES.index(token) for token in tokens]])
    kinds = torch.tensor([segments or [0] * len(tokens)])
    with torch.inference_mode():
        logits = model(input_ids=ids, token_type_ids=kinds).logits[0, at].numpy()
    return sorted(WHOLE, key=lambda word: -logits[PIECES.index(word)])


def test_masked_guesses_are_the_models(model_folder: Path) -> None:
    text = Text.parse("A good film,")
    expected = []
    for at, word in enumerate(["a", "good", "film"]):
        tokens = ["[CLS]", "a", "good", "film", ",", "[SEP]"]
        tokens[at + 1] = "[MASK]"
        expected.append(tuple(guess for guess in by_hand(model_folder, tokens, at + 1) if guess != word)[:3])
    expected[0] = tuple(guess.capitalize() for guess in expected[0])
    assert MaskedLM(model_folder, k=3)(text) == tuple(expected)


def test_unmasked_guesses_are_the_models_and_pieces_are_masked(model_folder: Path) -> None:
    text = Text.parse("good films")
    tokens = ["[CLS]", "good", "film", "##s", "[SEP]"]
    first = tuple(guess for guess in by_hand(model_folder, tokens, 1) if guess != "good")
    second = tuple(by_hand(model_folder, ["[CLS]", "good", "[MASK]", "[SEP]"], 2))
    assert MaskedLM(model_folder, k=9, masked=False)(text) == (first, second)


def test_the_premise_is_context(model_folder: Path) -> None:
    text = Text.parse("good", premise="bad film")
    tokens = ["[CLS]", "bad", "film", "[SEP]", "[MASK]", "[SEP]"]
    expected = tuple(guess for guess in by_hand(model_folder, tokens, 4, [0, 0, 0, 0, 1, 1]) if guess != "good")
    assert MaskedLM(model_folder, k=9)(text) == (expected,)


def test_batches_do_not_change_the_answer(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = Text.parse("a good film, 3 bad unknown movies " * 3)
    expected = MaskedLM(model_folder, k=4)(text)
    monkeypatch.setattr("lexproof.candidates.guesses._CHARACTERS", 1)
    assert MaskedLM(model_folder, k=4)(text) == expected
    assert MaskedLM(model_folder)(Text.parse("")) == ()


def test_a_window_holds_the_word_and_whole_blocks_around_it() -> None:
    text = Text.parse(" ".join(f"w{i}" for i in range(300)) + ".")
    for at in (0, 63, 64, 150, 299):
        question = _question(text, at)
        assert question.window[question.start : question.stop] == f"w{at}"
        assert question.window in str(text)
        hidden = question.hide("[MASK]")
        assert hidden.window.split().index("[MASK]" if at < 299 else "[MASK].") == question.window.split().index(
            f"w{at}" if at < 299 else "w299."
        )
        assert hidden.window[hidden.start : hidden.stop] == "[MASK]"
        assert len(question.window.split()) == {0: 128, 63: 128, 64: 192, 150: 192, 299: 108}[at]
    assert _question(text, 65).window == _question(text, 127).window


def test_long_texts_are_read_in_windows(model_folder: Path) -> None:
    text = Text.parse("good film " * 100)
    choices = MaskedLM(model_folder, k=2)(text)
    assert len(choices) == 200
    assert all(choices)  # beyond the model's length a word is guessed from its own window


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize(
    "surface", ["unknowns " * 90, "good " + "," * 300 + " film", "bad " + "un" + "known" * 200 + " film"]
)
def test_windows_shrink_until_the_model_can_read_them(model_folder: Path, surface: str, masked: bool) -> None:
    text = Text.parse(surface)
    choices = MaskedLM(model_folder, k=2, masked=masked)(text)
    assert [len(options) for options in choices] == [2] * len(text)


def test_a_window_shrinks_no_further_than_it_must(model_folder: Path) -> None:
    text = Text.parse("unknowns " * 60 + "good film")  # 3 * 60 + 2 tokens, of which blocks of 32 words leave 92
    window = ["[CLS]", *["un", "##known", "##s"] * 28, "good", "[MASK]", "[SEP]"]
    expected = tuple(guess for guess in by_hand(model_folder, window, len(window) - 2) if guess != "film")
    assert MaskedLM(model_folder, k=9)(text)[-1] == expected


def test_a_premise_that_leaves_no_room_is_said_in_one_line(model_folder: Path) -> None:
    text = Text.parse("a good film", premise="a good film " * 100)
    with pytest.raises(
        InputError, match="expected a premise that leaves room for a word in 126 tokens, got one of 1200"
    ):
        MaskedLM(model_folder, k=2)(text)
    assert all(MaskedLM(model_folder, k=2)(Text.parse("a good film " * 9, premise="a good film " * 40)))


def test_other_tokenizers_mark_the_start_of_a_word(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from tokenizers.decoders import ByteLevel

    letters = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": 4}
    for token in ["Ġ", *"abcdefgilmnorstu", "Ġa", "Ġb", "Ġba", "Ġbad", "ba", "bad", "Ġg", "Ġgo"]:
        letters[token] = len(letters)
    merges = [("Ġ", "a"), ("Ġ", "b"), ("Ġb", "a"), ("Ġba", "d"), ("b", "a"), ("ba", "d"), ("Ġ", "g"), ("Ġg", "o")]
    inner = Tokenizer(models.BPE(letters, merges, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    inner.decoder = ByteLevel()
    inner.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=True)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, mask_token="<mask>", pad_token="<pad>", unk_token="<unk>", bos_token="<s>",
        eos_token="</s>", cls_token="<s>", sep_token="</s>",
    )  # fmt: skip
    torch.manual_seed(0)
    config = transformers.RobertaConfig(
        vocab_size=len(letters), hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8,
        max_position_embeddings=64, pad_token_id=1,
    )  # fmt: skip
    transformers.RobertaForMaskedLM(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    for masked in (True, False):
        first, second = MaskedLM(tmp_path, k=9, masked=masked)(Text.parse("bad go"))
        assert set(first) == {"a", "b", "ba", "g", "go"}
        assert set(second) == {"a", "b", "ba", "bad", "g"}


def test_the_command_line_form_filters_and_caches(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEXPROOF_CACHE", str(tmp_path / "cache"))
    text = Text.parse("a good film")
    raw = from_spec(f"masked-lm:{model_folder}?raw=1&k=2")(text)
    assert raw == MaskedLM(model_folder, k=2)(text)
    assert [len(options) for options in raw] == [2, 2, 2]
    source = from_spec(f"masked-lm:{model_folder}?masked=0")
    assert source(text)[0] == ()
    assert "bad" not in source(text)[1]
    assert (tmp_path / "cache" / "candidates-2.sqlite").is_file()
    assert Cached(MaskedLM(model_folder, k=2))(text) == raw


def test_models_that_cannot_be_used_say_why(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="expected a masked language model folder or name, got"):
        MaskedLM(tmp_path)(Text.parse("a"))
    with pytest.raises(InputError, match="expected k >= 1, got 0"):
        MaskedLM(tmp_path, k=0)


def test_a_model_without_its_head_is_refused(model_folder: Path, tmp_path: Path) -> None:
    model = transformers.BertForMaskedLM.from_pretrained(model_folder)
    transformers.AutoTokenizer.from_pretrained(model_folder).save_pretrained(tmp_path)
    model.bert.save_pretrained(tmp_path)
    with pytest.raises(
        ModelError, match=r"expected a trained model in .*, got no weights for cls\.predictions"
    ) as caught:
        MaskedLM(tmp_path)(Text.parse("a"))
    assert "\n" not in str(caught.value)


def test_a_pickle_is_refused(model_folder: Path, tmp_path: Path) -> None:
    model = transformers.BertForMaskedLM.from_pretrained(model_folder)
    transformers.AutoTokenizer.from_pretrained(model_folder).save_pretrained(tmp_path)
    model.config.save_pretrained(tmp_path)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"expected a masked language model folder or name, got .*safetensors"):
        MaskedLM(tmp_path)(Text.parse("a"))
    (tmp_path / "model.safetensors").write_bytes(b"nonsense")
    with pytest.raises(ModelError, match="expected a masked language model folder or name, got "):
        MaskedLM(tmp_path)(Text.parse("a"))


def test_a_spec_says_which_weights(model_folder: Path) -> None:
    spec = MaskedLM(model_folder).spec
    assert spec == MaskedLM(str(model_folder)).spec
    assert str(model_folder) not in str(spec["model"]) and ":" in str(spec["model"])
    assert np.array_equal(MaskedLM("some/name").spec["model"], "name:some/name")
