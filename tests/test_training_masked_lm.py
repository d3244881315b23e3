"""A masked language model: it learns, repeats itself, keeps what an interrupt leaves, and is measured honestly."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from lexproof.errors import InputError, ModelError
from lexproof.text import Text

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from transformers import AutoModelForMaskedLM, BertConfig, BertModel, BertTokenizerFast  # noqa: E402

from lexproof.candidates import MaskedLM  # noqa: E402
from lexproof.training.masked_lm import (  # noqa: E402
    Learned,
    Moment,
    Recipe,
    train_masked_lm,
)
from lexproof.training.masked_lm_quality import frequent_words, measure  # noqa: E402
from lexproof.training.masked_lm_rows import IGNORED, Rows, cut, whole_words  # noqa: E402

PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "the",
    "cat",
    "dog",
    "drinks",
    "eats",
    "milk",
    "bones",
    ",",
    ".",
    "##s",
    "3",
]
TEXTS = ["the cat drinks milk .", "the dog eats bones , cats 3 .", "the cat drinks milk , the dog eats bones"] * 20


@pytest.fixture(scope="module")
def body(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("body")
    (folder / "vocab.txt").write_text("\n".join(PIECES), encoding="utf-8")
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(PIECES), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=64,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    BertTokenizerFast(vocab=str(folder / "vocab.txt"), do_lower_case=True).save_pretrained(folder)
    return folder


def quick(steps: int, **changes: object) -> Recipe:
    settings = {"batch_tokens": 256, "length": 32, "learning_rate": 3e-3, "head_learning_rate": 3e-3, **changes}
    return Recipe(steps=steps, **settings)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def learned(body: Path) -> Learned:
    return train_masked_lm(TEXTS, body=body, recipe=quick(150))


def test_it_learns_what_goes_with_what(learned: Learned, tmp_path: Path) -> None:
    learned.save(tmp_path / "mlm")
    first = MaskedLM(tmp_path / "mlm", k=1)
    assert first(Text.parse("the cat drinks bones ."))[3] == ("milk",)
    assert first(Text.parse("the dog eats milk ."))[3] == ("bones",)
    assert learned.record["loss"] < 1.0  # by shares alone it would be about 1.9
    assert (learned.record["steps_done"], learned.record["stopped"]) == (150, "done")


def test_the_folder_is_whole(learned: Learned, tmp_path: Path) -> None:
    learned.save(tmp_path / "mlm")
    model, info = AutoModelForMaskedLM.from_pretrained(tmp_path / "mlm", output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    ids = torch.tensor([[2, 5, 4, 8, 3]])
    assert torch.equal(model.eval()(ids).logits, learned.model(ids).logits)
    assert json.loads((tmp_path / "mlm" / "model.json").read_text())["kind"] == "masked-lm"
    learned.save(tmp_path / "mlm")  # and replaces an older one


def test_same_seed_same_weights_and_the_random_state_is_left_alone(body: Path) -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    one, two, other = (train_masked_lm(TEXTS, body=body, recipe=quick(3, seed=seed)) for seed in (0, 0, 1))
    assert torch.equal(before, torch.random.get_rng_state())
    weights = [part.model.cls.predictions.transform.dense.weight for part in (one, two, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_a_new_head_starts_at_the_shares_of_words(body: Path) -> None:
    learned = train_masked_lm(
        ["the the the cat"], body=body, recipe=quick(1, learning_rate=1e-12, head_learning_rate=1e-12)
    )
    bias = learned.model.cls.predictions.bias
    the, cat, dog = (PIECES.index(word) for word in ("the", "cat", "dog"))
    assert float(bias[the] - bias[cat]) == pytest.approx(np.log(3.5 / 1.5), abs=1e-5)
    assert float(bias[the] - bias[dog]) == pytest.approx(np.log(3.5 / 0.5), abs=1e-5)


def test_only_whole_words_are_hidden(body: Path, learned: Learned) -> None:
    wholes = whole_words(learned.tokenizer)
    assert [PIECES[number] for number in wholes] == PIECES[5:12]
    rows = cut(TEXTS, learned.tokenizer, 32)
    every, rng = Rows(rows, learned.tokenizer, len(PIECES)), np.random.default_rng(0)
    hidden = kept = other = 0
    for _ in range(40):
        ids, mask, wanted = every.hide(np.arange(3, dtype=np.int64), 0.5, rng)
        original = np.zeros_like(ids)
        for row, pieces in enumerate(rows[:3]):
            original[row, : len(pieces)] = pieces
        assert (mask == (original != 0)).all()
        at = wanted != IGNORED
        assert at.any()
        assert np.isin(original[at], wholes).all()
        assert (wanted[at] == original[at]).all()
        assert (ids[~at] == original[~at]).all()
        is_mask, is_kept = ids[at] == PIECES.index("[MASK]"), ids[at] == original[at]
        hidden, kept, other = hidden + is_mask.sum(), kept + is_kept.sum(), other + (~is_mask & ~is_kept).sum()
    share = hidden / (hidden + kept + other)
    assert 0.7 < share < 0.9
    assert kept > 0
    assert other > 0


def test_rows_are_cut_and_batches_fit(body: Path, learned: Learned) -> None:
    rows = cut(["the cat " * 20, "dog"], learned.tokenizer, 10)
    assert [len(row) for row in rows] == [10] * 5 + [3]
    assert all(row[0] == 2 and row[-1] == 3 for row in rows)
    every = Rows([*rows, cut(["3 ,"], learned.tokenizer, 10)[0]], learned.tokenizer, len(PIECES))
    assert len(every.rows) == 6  # nothing to hide in the last one
    batches = every.batches(25, np.random.default_rng(0))
    first = [next(batches).tolist() for _ in range(3)]
    assert sorted(row for batch in first for row in batch) == list(range(6))  # each once before any twice
    assert all(len(batch) * max(len(rows[row]) for row in batch) <= 25 for batch in first)


def test_an_interrupt_keeps_what_was_learned_and_training_goes_on_from_there(body: Path, tmp_path: Path) -> None:
    def stop(moment: Moment, learned: Learned) -> None:
        assert learned.record["steps_done"] == moment.step
        assert moment.done == pytest.approx(moment.step / 50)
        if moment.step == 4:
            raise KeyboardInterrupt

    part = train_masked_lm(TEXTS, body=body, recipe=quick(50), progress=stop)
    assert (part.record["steps_done"], part.record["stopped"]) == (4, "interrupted")
    part.save(tmp_path / "part")
    more = train_masked_lm(
        TEXTS, body=tmp_path / "part", recipe=quick(1, learning_rate=1e-12, head_learning_rate=1e-12)
    )
    heads = [one.model.cls.predictions.bias for one in (part, more)]
    assert torch.allclose(heads[0], heads[1], atol=1e-6)  # the head was read, not made anew


def test_minutes_end_training(body: Path) -> None:
    learned = train_masked_lm(TEXTS, body=body, recipe=quick(10_000, minutes=0.005))
    assert learned.record["stopped"] == "done"
    assert 1 <= learned.record["steps_done"] < 10_000


def test_quality_by_hand() -> None:
    texts = ["The cat saw the dog 3 times.", "the end", "123 ...", "bird"]
    assert frequent_words(texts, k=2) == ["the", "bird"]
    one = measure(["the the the"] * 10, ["the", "cat"])
    assert (one.n, one.top1.value, one.top1.low, one.top1.high) == (10, 1.0, pytest.approx(0.6915, abs=1e-4), 1.0)
    second = measure(["THE the"] * 10 + ["12 3"], ["cat", "the"])
    assert (second.n, second.top1.value, second.top5.value) == (10, 0.0, 1.0)
    assert measure(["cat"] * 9, ["dog"], n=4).n == 4
    with pytest.raises(InputError, match="expected n >= 1, got 0"):
        measure(["a"], ["a"], n=0)


def test_quality_of_a_model(learned: Learned) -> None:
    quality = measure(TEXTS[::3] * 2, learned, n=40)
    assert quality.n == 40
    assert quality.top1.value > 0.9
    assert measure(["zebra", "zebra"], learned).top5.value == 0.0  # a word that the model cannot say is missed


def test_what_cannot_be_used_is_said(body: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a number of steps or minutes, got neither"):
        Recipe()
    with pytest.raises(InputError, match="expected steps > 0, got 0"):
        Recipe(steps=0)
    with pytest.raises(InputError, match="expected a length from 8 to batch_tokens, 1024, got 2000"):
        Recipe(steps=1, length=2000)
    with pytest.raises(InputError, match=r"expected a share of hidden words in \(0, 1\), got 1"):
        Recipe(steps=1, hidden=1.0)
    with pytest.raises(InputError, match=r"expected warmup in \[0, 1\) and weight_decay >= 0, got 1.0 and 0.01"):
        Recipe(steps=1, warmup=1.0)
    with pytest.raises(InputError, match="expected texts to learn from, got none"):
        train_masked_lm([], body=body, recipe=quick(1))
    with pytest.raises(InputError, match="expected texts with words that the tokenizer knows as a whole, got none"):
        train_masked_lm(["3 , ."], body=body, recipe=quick(1))
    with pytest.raises(ModelError, match="cannot load the body"):
        train_masked_lm(TEXTS, body=tmp_path, recipe=quick(1))
