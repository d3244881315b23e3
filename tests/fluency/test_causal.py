"""A causal language model as judge: the chain rule token by token, windows, batches, and models it cannot use."""

from __future__ import annotations

from math import exp
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from lexproof.errors import InputError, ModelError, UnknownName
from lexproof.fluency.causal import Causal
from lexproof.fluency.ngram import Ngram
from lexproof.fluency.specs import from_spec

WORDS = ["[UNK]", "<s>", "</s>", *"abcdefgh", "."]


def make(folder: Path, **marks: str) -> Path:
    """A small random model with a tokenizer of words."""
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()  # type: ignore[assignment]
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", model_max_length=16, **marks
    ).save_pretrained(folder)
    torch.manual_seed(3)
    config = GPT2Config(
        vocab_size=len(WORDS), n_positions=16, n_embd=16, n_layer=2, n_head=2, initializer_range=0.5,
        bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    GPT2LMHeadModel(config).eval().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("causal"), bos_token="<s>", eos_token="</s>")


def one_by_one(folder: Path, ids: list[int], *, skip: int = 1, window: int = 16) -> float:
    """The log probability of ids[skip:], each token from a call of its own that ends before it."""
    model = GPT2LMHeadModel.from_pretrained(folder)
    total = 0.0
    for at in range(skip, len(ids)):
        # windows overlap by half: the token at `at` is in the first that reaches it
        start = 0
        while at >= start + window:
            start += window // 2
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([ids[start:at]])).logits[0, -1].double()
        total += float(logits.log_softmax(0)[ids[at]])
    return total


def ids_of(text: str) -> list[int]:
    return [WORDS.index(word) if word in WORDS else 0 for word in text.replace(".", " .").split()]


@pytest.mark.parametrize("text", ["a b c.", "h", "", "a unheard b", " ".join("abcdefgh" * 6) + "."])
def test_perplexity_is_the_chain_rule(folder: Path, text: str) -> None:
    ids = [1, *ids_of(text), 2]
    expected = exp(-one_by_one(folder, ids) / (len(ids) - 1))
    assert Causal(folder).perplexity([text])[0] == pytest.approx(expected, rel=1e-5)


def test_without_a_mark_of_the_beginning_that_of_the_end_or_nothing(tmp_path: Path) -> None:
    end_only = make(tmp_path / "end", eos_token="</s>")
    ids = [2, *ids_of("a b c"), 2]
    assert Causal(end_only).perplexity(["a b c"])[0] == pytest.approx(exp(-one_by_one(end_only, ids) / 4), rel=1e-5)
    neither = make(tmp_path / "neither")
    ids = ids_of("a b c")
    assert Causal(neither).perplexity(["a b c"])[0] == pytest.approx(exp(-one_by_one(neither, ids) / 4), rel=1e-5)


def test_words_are_counted_and_not_tokens(folder: Path) -> None:
    """`a-b` is three tokens of this model and one word of a text."""
    ids = [1, 3, 0, 4, 2]
    assert Causal(folder).perplexity(["a-b"])[0] == pytest.approx(exp(-one_by_one(folder, ids) / 2), rel=1e-5)


def test_a_text_is_judged_alike_in_any_company(folder: Path) -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdefgh"), size=int(rng.integers(0, 40)))) for _ in range(60)]
    together = Causal(folder).perplexity([*texts, texts[0]])
    assert together[-1] == together[0]
    alone = [Causal(folder).perplexity([text])[0] for text in texts[:12]]
    assert together[:12] == pytest.approx(alone, rel=1e-5)


def test_a_text_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Causal(folder)
    first = model.perplexity(["a b", "c"])
    monkeypatch.setattr(Causal, "_logs", None)  # a second reading would fail
    assert (model.perplexity(["c", "a b"]) == first[::-1]).all()
    assert model.name.startswith(f"{folder.name}:")


def test_specs(folder: Path, tmp_path: Path) -> None:
    Ngram.train(["a b", "a b"]).save(tmp_path / "x")
    assert from_spec(f"ngram:{tmp_path / 'x'}").name.startswith("ngram:")
    assert from_spec(f"causal:{folder}") is from_spec(f"causal:{folder}")
    with pytest.raises(UnknownName, match="unknown model of fluency 'gram'; did you mean 'ngram'"):
        from_spec("gram:x")
    with pytest.raises(
        InputError, match=r"expected ngram:FILE, a file that scripts/train_ngram\.py wrote, got 'ngram'"
    ):
        from_spec("ngram")
    with pytest.raises(ModelError, match="expected a causal language model folder or name, got"):
        from_spec(f"causal:{tmp_path}").perplexity([])
