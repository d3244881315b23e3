"""Interval training: its loss against the worst text, its schedule, and what it changes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from lexproof.bounds.backward import interval_relaxation
from lexproof.candidates import Source, Table
from lexproof.certify.curve import interval_margin
from lexproof.certify.lowering import form_of, program_of
from lexproof.defenses.ibp import Ibp
from lexproof.errors import InputError, NoRule
from lexproof.goal import Goal
from lexproof.space import Space
from lexproof.training import train
from lexproof.training.defense import Defense
from lexproof.training.learner import Batch
from lexproof.training.word_learner import WordLearner
from lexproof.victims.vocabulary import UNKNOWN
from small_training import SYNONYMS, batch_of, hardened, learner_for, reviews, setting_for, synonyms


def begun(kind: str, *, epochs: int = 4, **settings: Any) -> tuple[Ibp, Any]:
    learner = learner_for(kind, dropout=0.0)
    defense = Ibp(**settings)
    defense.begin(setting_for(learner, source=synonyms(), epochs=epochs))
    return defense, learner


def both(defense: Ibp, batch: Batch) -> tuple[float, float]:
    """The loss, and that of plain training with the same dropout."""
    found = []
    with torch.no_grad():
        for loss in (defense.loss, partial(Defense.loss, defense)):
            torch.manual_seed(4)
            found.append(float(loss(batch)))
    return found[0], found[1]


@pytest.mark.parametrize("kind", Ibp.kinds)
def test_the_loss_is_that_of_the_worst_text_or_more(kind: str) -> None:
    defense, learner = begun(kind, ramp=0.0, kappa=1.0)
    inputs, gold = reviews(6)
    batch = batch_of(learner, inputs, gold)
    bound, plain = both(defense, batch)
    victim = learner.snapshot()
    worst = []
    for given, label in zip(batch.inputs, batch.gold.tolist(), strict=True):
        space = Space.around(given, synonyms())
        worst.append(-np.log(victim.scores(space.render(space.points()))[:, label].min()))
    assert np.mean(worst) > plain + 1e-4
    assert bound >= np.mean(worst) - 1e-5


@pytest.mark.parametrize("kind", Ibp.kinds)
def test_without_boxes_the_loss_is_plain(kind: str) -> None:
    inputs, gold = reviews(6)
    for settings in ({"eps": 0.0, "kappa": 0.7}, {"eps": 1.0, "kappa": 0.0}, {"eps": 0.0, "kappa": 0.0}):
        defense, learner = begun(kind, ramp=0.0, **settings)
        batch = batch_of(learner, inputs, gold)
        own, plain = both(defense, batch)
        assert own == pytest.approx(plain, abs=1e-6)
    defense, learner = begun(kind, ramp=0.0)
    own, plain = both(defense, batch_of(learner, inputs, gold))
    assert own > plain + 1e-4


def test_the_clean_part_drops_what_plain_training_drops() -> None:
    learner = learner_for("cnn", dropout=0.5)
    defense = Ibp(ramp=0.0, eps=0.0, kappa=1e-9)
    defense.begin(setting_for(learner, source=synonyms()))
    batch = batch_of(learner, *reviews(8))
    own, plain = both(defense, batch)
    assert own == pytest.approx(plain, abs=1e-6)


def test_the_schedule_moves_with_every_batch_and_ends() -> None:
    defense, learner = begun("cnn", epochs=4, ramp=0.5)  # 32 texts an epoch: the ramp is 64 texts long
    batch = batch_of(learner, *reviews(16))
    stages, merits = [], []
    for _ in range(8):
        stages.append((round(defense.measures()["eps"], 6), round(defense.measures()["kappa"], 6)))
        merits.append(defense.merit(1, 0.5))
        defense.backward(batch)
    assert stages[:5] == [(0, 0), (0.25, 0.2), (0.5, 0.4), (0.75, 0.6), (1, 0.8)]
    assert stages[5:] == [(1, 0.8)] * 3
    assert merits[:4] == [None] * 4
    assert all(merit is not None and 0.09 <= merit <= 0.91 for merit in merits[4:])
    again, _ = begun("cnn", epochs=4, ramp=0.5)
    again.restore(*defense.state())
    assert again.progress == defense.progress == 1.0


def test_hidden_tokens_have_no_substitutes() -> None:
    defense, learner = begun("cnn", ramp=0.0)
    batch = batch_of(learner, ["the film was good", "the film was bad"], [1, 0])
    shown = defense._sets(batch)
    ids = batch.ids.clone()
    ids[0, 3] = UNKNOWN
    hidden = defense._sets(replace(batch, ids=ids))  # as a batch with unknown_rate is
    assert sorted(shown.places.tolist()) == [1, 3, 5, 7]
    assert sorted(hidden.places.tolist()) == [1, 5, 7]


@pytest.mark.parametrize("budget", [None, 1.0])
@pytest.mark.parametrize("kind", Ibp.kinds)
def test_a_batch_without_any_substitute_is_trained_on_as_it_is(kind: str, budget: float | None) -> None:
    """The last batch of an epoch may be one short text."""
    defense, learner = begun(kind, ramp=0.0, budget=budget)
    batch = batch_of(learner, ["the and was"], [1])
    assert not len(defense._sets(batch).places)
    bound, plain = both(defense, batch)
    assert bound == pytest.approx(plain, abs=1e-5)
    assert np.isfinite(defense.backward(batch))


@pytest.mark.parametrize("budget", [None, 1.0])
def test_texts_shorter_than_a_filter_are_trained_on(budget: float | None) -> None:
    learner = learner_for("cnn", dropout=0.0, widths=(3, 5))
    defense = Ibp(ramp=0.0, kappa=1.0, budget=budget)
    defense.begin(setting_for(learner, source=synonyms()))
    batch = batch_of(learner, ["good film", "plot", "bad plot"], [1, 0, 0])
    bound, plain = both(defense, batch)
    assert bound > plain + 1e-4


def test_a_budget_is_a_number_or_a_share() -> None:
    inputs, gold = ["film plot film plot film plot film plot film good", "bad plot"], [1, 0]
    losses = []
    for budget in (None, 3.0, 0.2, 1.0):
        defense, learner = begun("mlp", ramp=0.0, kappa=1.0, budget=budget)
        batch = batch_of(learner, inputs, gold)
        with torch.no_grad():
            losses.append(float(defense.loss(batch)))
        if budget == 0.2:
            assert sorted(defense._budget(batch).tolist()) == [1, 2]
    assert losses[0] > losses[1] > losses[2] > losses[3]


@pytest.mark.parametrize("kind", Ibp.kinds)
def test_training_lowers_the_worst_loss(kind: str) -> None:
    options = {"epochs": 6, "patience": 6, "learning_rate": 0.03}
    worst = []
    for defense in (Ibp(kappa=0.0, ramp=0.5), Ibp(ramp=0.5)):
        victim = hardened(defense, kind, options=options)
        learner = WordLearner(victim)
        probe = Ibp(kappa=1.0, ramp=0.0)
        probe.begin(setting_for(learner, source=synonyms()))
        worst.append(both(probe, batch_of(learner, *reviews(48)))[0])
    assert worst[1] < 0.8 * worst[0]
    history, best = victim.training["history"], victim.training["best_epoch"]
    assert [row["eps"] for row in history] == pytest.approx([1 / 3, 2 / 3, 1, 1, 1, 1], abs=1e-6)
    assert best >= 3
    assert history[best - 1]["accuracy"] >= history[best - 1]["certified"] > 0.6


def test_a_measured_share_is_that_of_the_prover() -> None:
    """Swaps to words that the model does not know count; a text with a swap of two tokens is not proven."""
    tables = [SYNONYMS, {**SYNONYMS, "and": ["plus", "with"]}, {**SYNONYMS, "it": ["this one"]}]
    learner = learner_for("cnn", seed=2)
    with torch.no_grad():
        learner.net.embedding.weight *= 0.1  # random words of this size leave some texts to prove
        learner.net.embedding.weight[UNKNOWN] *= 100
    learner.module.eval()
    defense, setting, shares = Ibp(), setting_for(learner), []
    for table in tables:
        defense.begin(replace(setting, synonyms=Table(table)))
        shares.append(proven(learner.snapshot(), setting.valid, Table(table)))
        assert defense.certified() == pytest.approx(shares[-1])
    assert 0 < max(shares[1:]) < shares[0]


def proven(victim: Any, texts: Any, source: Source) -> float:
    """The share of texts that certify's intervals prove."""
    held = []
    for given, label in zip(*texts, strict=True):
        try:
            program = program_of(victim, Space.around(given, source))
        except NoRule:
            held.append(False)
            continue
        relaxation = interval_relaxation(program.graph, program.region)
        held.append(bool((interval_margin(relaxation, form_of(Goal(label), 2)) > 0).all()))
    return float(np.mean(held))


def test_a_transformer_is_refused_before_training() -> None:
    with pytest.raises(NoRule, match=r"no interval rule for a transformer .* mlp, cnn, lstm, bilstm"):
        train("transformer", *reviews(8), defense=Ibp(), synonyms=synonyms())


@pytest.mark.parametrize(
    "settings", [{"kappa": 1.5}, {"eps": -0.1}, {"ramp": 2.0}, {"budget": 0.0}, {"budget": 1.5}, {"budget": -1.0}]
)
def test_settings_are_checked(settings: dict[str, float]) -> None:
    with pytest.raises(InputError, match=f"expected {next(iter(settings))}"):
        Ibp(**settings)
