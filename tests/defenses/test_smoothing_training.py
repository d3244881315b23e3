"""Training for SAFER and RanMASK: copies reach the loss, epochs are judged on copies, a smoothed victim comes out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import lexproof as lp
from lexproof.defenses.ranmask import RanMaskTraining
from lexproof.defenses.safer import SaferTraining
from lexproof.defenses.smoothing import Smoothing
from lexproof.errors import InputError
from lexproof.text import Text
from lexproof.training.defense import Defense
from lexproof.victims.smoothed import RanMask, Safer
from lexproof.victims.smoothed_noise import generator
from lexproof.victims.vocabulary import UNKNOWN
from small_training import BAD, FILLER, GOOD, hardened, learner_for, reviews, setting_for, synonyms

ONCE = {"epochs": 1}


def begun(defense: Smoothing, kind: str = "cnn") -> Smoothing:
    defense.begin(setting_for(learner_for(kind), source=synonyms()))
    return defense


def weights(victim: Any) -> torch.Tensor:
    base = getattr(victim, "base", victim)
    module = base.model if base.kind == "transformer" else base.net
    return torch.cat([weight.flatten() for weight in module.state_dict().values()])


@pytest.mark.parametrize("kind", ["cnn", "transformer"])
def test_words_are_masked_as_the_model_reads_a_mask(kind: str) -> None:
    defense = begun(RanMaskTraining(rate=0.5), kind)
    learner = defense.setting.learner
    text = "the film was good and fine"
    copies = defense.texts([text] * 50, np.zeros(50), np.random.default_rng(0))
    assert len(set(copies)) > 10
    mask = UNKNOWN if kind == "cnn" else learner.victim.encoder.tokenizer.mask_token_id  # type: ignore[attr-defined]
    (plain,) = learner.encode([text])
    for row in learner.encode(copies):
        ids, own = (np.asarray(getattr(found, "ids", found)) for found in (row, plain))
        assert len(ids) == len(own)
        assert np.count_nonzero(ids == mask) == 3
        assert (ids == own)[ids != mask].all()


def test_words_are_drawn_from_their_sets() -> None:
    defense = begun(SaferTraining())
    copies = defense.texts(["the film was good"] * 400, np.zeros(400), np.random.default_rng(0))
    words = [Text.parse(str(copy)).words for copy in copies]
    assert {own[0] for own in words} == {"the"}
    assert {own[1] for own in words} == {"film", "plot"}
    counts = Counter(own[3] for own in words)
    assert counts.keys() == set(GOOD)
    assert max(counts.values()) < 140


def test_the_size_of_sets_is_limited() -> None:
    defense = begun(SaferTraining(size=2))
    assert isinstance(defense, SaferTraining)
    assert all(len(defense.sets(word)) == 2 for word in (*GOOD, *BAD))
    assert all(len(defense.sets(word)) == 1 for word in FILLER if word not in ("film", "plot"))


@pytest.mark.parametrize("kind", ["mlp", "lstm", "transformer"])
def test_copies_reach_the_loss(kind: str) -> None:
    plain = weights(hardened(None, kind, options=ONCE))
    assert torch.equal(weights(hardened(Defense(), kind, options=ONCE)), plain)
    masked = weights(hardened(RanMaskTraining(), kind, options=ONCE))
    swapped = weights(hardened(SaferTraining(), kind, options=ONCE))
    assert not torch.equal(masked, plain)
    assert not torch.equal(swapped, plain)
    assert torch.equal(weights(hardened(RanMaskTraining(), kind, options=ONCE)), masked)
    assert not torch.equal(weights(hardened(RanMaskTraining(rate=0.3), kind, options=ONCE)), masked)


@pytest.mark.parametrize("defense", [RanMaskTraining(), SaferTraining()], ids=lambda own: str(own.name))
def test_it_costs_as_much_as_plain_training(defense: Smoothing, monkeypatch: pytest.MonkeyPatch) -> None:
    from lexproof.training.word_learner import WordLearner

    passes: list[int] = []
    plain = WordLearner.logits
    monkeypatch.setattr(WordLearner, "logits", lambda *given: passes.append(1) or plain(*given))  # type: ignore[func-returns-value]
    hardened(None, "cnn")
    once = len(passes)
    hardened(defense, "cnn")
    assert (once, len(passes)) == (6, 12)  # 48 texts in batches of 16, twice


def test_epochs_are_judged_on_copies() -> None:
    defense = begun(RanMaskTraining(rate=0.8))
    defense.setting.learner.module.eval()
    valid, gold = defense.setting.valid or ((), ())
    right = []
    for text, label in zip(valid, gold, strict=True):
        copies = defense.randomiser.copies(text, 4, generator(defense.setting.seed, "validate", text))
        right += (defense.setting.learner.snapshot().predict(copies) == label).tolist()
    assert defense.merit(1, 0.123) == pytest.approx(np.mean(right))
    assert defense.measures() == {"accuracy_on_copies": pytest.approx(np.mean(right))}


def test_the_record_says_by_what_an_epoch_was_kept() -> None:
    victim = hardened(RanMaskTraining(), "cnn")
    history = victim.training["history"]
    scored = [row["accuracy_on_copies"] for row in history]
    assert victim.training["best_epoch"] == 1 + int(np.argmax(scored))


def test_a_smoothed_victim_comes_out(tmp_path: Path) -> None:
    texts, _ = reviews(8, 5)
    masking = RanMaskTraining(rate=0.6, samples=5, ensemble="vote")
    base = hardened(masking, "cnn", seed=3, options=ONCE)
    victim = masking.finish(base)
    assert isinstance(victim, RanMask)
    assert victim.config == {"rate": 0.6, "samples": 5, "ensemble": "vote", "seed": 3}
    assert np.allclose(victim.scores(texts) * 5, np.round(victim.scores(texts) * 5))
    victim.save(tmp_path / "m")
    loaded = lp.load(tmp_path / "m")
    assert loaded.training == base.training  # type: ignore[attr-defined]
    assert loaded.fingerprint == victim.fingerprint
    swapping = SaferTraining(samples=5)
    swapped = swapping.finish(hardened(swapping, "cnn", options=ONCE))
    assert isinstance(swapped, Safer)
    assert set(swapped.sets("good")) == set(GOOD)
    assert np.abs(swapped.scores(["the good film"]) - swapped.base.scores(["the good film"])).max() > 1e-9


def test_it_learns() -> None:
    texts, gold = reviews(64, 9)
    options = {"epochs": 20, "patience": 20}
    for defense, least in ((RanMaskTraining(rate=0.3, samples=20), 0.8), (SaferTraining(samples=20), 0.95)):
        victim = defense.finish(hardened(defense, "cnn", count=96, options=options))
        assert (victim.predict(texts) == gold).mean() >= least


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: RanMaskTraining(rate=0.0), r"mask rate in \(0, 1\), got 0.0"),
        (lambda: RanMaskTraining(samples=0), "samples to be a whole number of at least 1, got 0"),
        (lambda: SaferTraining(ensemble="mean"), "ensemble logit or vote, got 'mean'"),
        (lambda: SaferTraining(size=0), "size to be a whole number of at least 1, got 0"),
    ],
)
def test_bad_settings(make: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        make()


def test_sets_need_synonyms() -> None:
    assert SaferTraining.needs_synonyms
    assert not RanMaskTraining.needs_synonyms
    with pytest.raises(InputError, match="expected the defender's synonyms"):
        SaferTraining().begin(setting_for(learner_for("cnn")))


def test_safer_tells_how_many_words_it_has_looked_up() -> None:
    told: list[tuple[str, int, int]] = []
    setting = replace(setting_for(learner_for("cnn"), 12, source=synonyms()), told=lambda *said: told.append(said))
    SaferTraining().begin(setting)
    total = len({word.lower() for given in setting.inputs for word in given.split()})
    assert told == [("words looked up", done, total) for done in range(total)]
