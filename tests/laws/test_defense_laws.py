"""Laws of every defense, for every kind of model that it takes.

- it changes training: its weights are not those of plain training;
- a seed repeats itself, and what was interrupted resumes to the same weights;
- what it makes is a victim like any other: it scores texts, is saved, and loads with the same scores;
- a kind of model that it cannot take is refused before anything is trained.
"""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

import lexproof as lp
from lexproof import registry
from lexproof.candidates import Table
from lexproof.defenses import defense_of
from lexproof.errors import InputError, NoRule, RunError
from lexproof.training import checkpoint as checkpoints
from small_training import KINDS, hardened, reviews, synonyms, victim_for

# as few steps, samples and examples as show that it works
QUICK = {"pgd": "?steps=2", "pgd++": "?steps=2", "freelb": "?steps=2", "freelb++": "?steps=3", "ascc": "?steps=2"}
NAMES = sorted(registry.entries("defenses"))
PAIRS = [(name, kind) for name in NAMES for kind in KINDS if kind in registry.get("defenses", name).kinds]
REFUSED = [(name, kind) for name in NAMES for kind in KINDS if kind not in registry.get("defenses", name).kinds]


def spec(name: str) -> str:
    return name + QUICK.get(name, "")


def weights(victim: Any) -> dict[str, torch.Tensor]:
    """The weights under a victim, smoothed or not."""
    base = getattr(victim, "base", victim)
    return dict((base.model if base.kind == "transformer" else base.net).state_dict())


def same(one: Any, two: Any) -> bool:
    first, second = weights(one), weights(two)
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def trained(name: str, kind: str, **given: Any) -> Any:
    return hardened(defense_of(spec(name)), kind, source=synonyms(), **given)


def run(name: str, kind: str, **given: Any) -> Any:
    return hardened(None, kind, **given) if name == "plain" else trained(name, kind, **given)


@cache
def whole(name: str, kind: str) -> Any:
    """A victim whose training was not interrupted; made once for all laws, none of which changes it."""
    return run(name, kind)


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_it_changes_training_and_is_a_victim_like_any_other(name: str, kind: str, tmp_path: Path) -> None:
    victim = whole(name, kind)
    assert not same(victim, whole("plain", kind))
    assert victim.training["defense"]["name"] == name
    assert all(np.isfinite(row["loss"]) for row in victim.training["history"])
    victim.save(tmp_path / "model")
    again = lp.load(tmp_path / "model")
    texts = reviews(6, 2)[0]
    np.testing.assert_allclose(again.scores(texts), victim.scores(texts), rtol=0, atol=victim.rounding)
    assert again.fingerprint == victim.fingerprint
    assert again.training == victim.training  # type: ignore[attr-defined]
    space = lp.Space.around("the film was good", synonyms(), max_swaps=2)
    assert isinstance(lp.find(again, space, attack="textfooler"), lp.Broken | lp.Unknown)


class Stopping:
    """Interrupts a training at one of its steps."""

    def __init__(self, at: int) -> None:
        self.at = at

    def step(self, epoch: int, step: int, steps: int, loss: float) -> None:
        if step >= self.at:
            raise KeyboardInterrupt

    def epoch(self, epoch: int, loss: float, accuracy: float | None) -> None:
        pass


@pytest.mark.parametrize(("name", "kind"), [*PAIRS, *(("plain", kind) for kind in KINDS)])
def test_an_interrupted_training_resumes_to_the_same_weights(
    name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    path = tmp_path / "training"
    for at in (2, 4):  # once within the first epoch, and again just after the second has begun
        with pytest.raises(KeyboardInterrupt):
            run(name, kind, checkpoint=path, progress=Stopping(at))
        assert path.is_file()
    straight, resumed = whole(name, kind), run(name, kind, checkpoint=path)
    assert same(straight, resumed)
    assert {**straight.training, "seconds": 0} == {**resumed.training, "seconds": 0}
    assert same(straight, run(name, kind, checkpoint=path, progress=Stopping(1)))  # what is over is not trained again


class Ending(Stopping):
    """Interrupts a training at the end of an epoch, when its last step has been written and validation has not."""

    def step(self, epoch: int, step: int, steps: int, loss: float) -> None:
        pass

    def epoch(self, epoch: int, loss: float, accuracy: float | None) -> None:
        if epoch == self.at:
            raise KeyboardInterrupt


@pytest.mark.parametrize(("name", "kind"), [("plain", "lstm"), ("freelb", "cnn"), ("ada", "transformer")])
def test_what_was_interrupted_between_epochs_and_again_just_after_resumes_to_the_same_weights(
    name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The generator must be where it was although no step of the first epoch is left to be done."""
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    path = tmp_path / "training"
    for stopping in (Ending(1), Stopping(4)):
        with pytest.raises(KeyboardInterrupt):
            run(name, kind, checkpoint=path, progress=stopping)
    assert same(whole(name, kind), run(name, kind, checkpoint=path))


@pytest.mark.parametrize(("name", "kind"), REFUSED)
def test_a_kind_that_it_cannot_take_is_refused_before_training(name: str, kind: str) -> None:
    with pytest.raises((InputError, NoRule), match=f"{kind}"):
        lp.harden(spec(name), train=reviews(32), model=victim_for(kind), progress=Stopping(1))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("train", "message"),
    [
        ((["a b", "c d"], [1, 1]), "expected at least 2 classes to train on, got only label yes"),
        ((["a b", "c d"], [0, 7]), r"expected labels from 0 to 1, got 7"),
        ((["a b", " "], [0, 1]), "expected training texts with content, got an empty one, number 2 of 2"),
        (([], []), "expected training texts, got none"),
    ],
)
def test_data_that_cannot_be_learned_from_is_refused(name: str, train: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        lp.harden(name, train=train, label_names=["no", "yes"], progress=Stopping(1))


@pytest.mark.parametrize("name", [name for name in NAMES if registry.get("defenses", name).needs_synonyms])
def test_synonyms_of_no_word_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="expected synonyms of some words of the training texts, got none for any"):
        lp.harden(name, train=reviews(32), synonyms=Table({"zebra": ["gnu"]}), progress=Stopping(1))


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    path = tmp_path / "training"
    with pytest.raises(KeyboardInterrupt):
        hardened(None, "cnn", checkpoint=path, progress=Stopping(3))
    with pytest.raises(RunError, match="to be of this training, got one with other data, model or settings"):
        hardened(None, "cnn", checkpoint=path, options={"learning_rate": 0.02})
    path.write_bytes(b"no tensors")
    with pytest.raises(RunError, match=r"expected a checkpoint in .*; remove it to start anew"):
        hardened(None, "cnn", checkpoint=path)


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_a_checkpoint_of_a_training_that_drops_other_features_is_refused(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dropout is part of a training, though not of the scores of what was trained."""
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    path = tmp_path / "training"

    def run(dropout: float, **given: Any) -> Any:
        start = victim_for(kind, dropout=dropout)
        return lp.train(kind, *reviews(32), valid=reviews(8, 1), start=start, checkpoint=path, batch_size=16, **given)

    with pytest.raises(KeyboardInterrupt):
        run(0.1, progress=Stopping(2))
    with pytest.raises(RunError, match="to be of this training, got one with other data, model or settings"):
        run(0.4)
