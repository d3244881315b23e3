"""MixADA: mixtures are what the formula says, and reach the loss of every kind of network."""

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from lexproof.candidates import Table
from lexproof.defenses.ada import Ada
from lexproof.defenses.mixada import MixAda, Mixture, mixed_behind, mixing_layers
from lexproof.errors import InputError
from lexproof.training.learner import Batch
from small_training import BAD, GOOD, KINDS, batch_of, hardened, learner_for, setting_for, small_transformer

SOURCE = Table({word: ["film", "was", "dull", "fine"] for word in GOOD + BAD if word not in ("dull", "fine")})
TEXTS, LABELS = ["good film and plot", "bad", "the dull plot was it", "it was great"], [1, 0, 0, 1]
EVEN = ["good film and plot", "the plot was dull", "it was and film", "the film was great"]


def begun(kind: str, **settings: Any) -> tuple[MixAda, Batch]:
    """A defense past its plain epochs, without dropout, and a batch."""
    defense = MixAda(**settings)
    learner = learner_for(kind, dropout=0.0)
    if kind == "transformer":  # its first weights are so small that all texts look alike
        with torch.no_grad():
            for weight in learner.module.parameters():
                weight.mul_(10.0 if weight.ndim > 1 else 1.0)
    defense.begin(setting_for(learner, source=SOURCE, epochs=4))
    defense.epoch = 2
    return defense, batch_of(defense.setting.learner, TEXTS, LABELS)


def gradients(defense: MixAda, batch: Batch, seed: int = 0) -> torch.Tensor:
    module = defense.setting.learner.module
    module.zero_grad()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        defense.backward(batch)
    return torch.cat([weight.grad.flatten() for weight in module.parameters() if weight.grad is not None])


# ---------------------------------------------------------------------- the maths


def test_states_and_labels_are_mixed_one_by_one() -> None:
    _, batch = begun("cnn")
    mixture = Mixture(torch.tensor([2, 3, 1, 0]), torch.tensor(0.3), batch.real & batch.real[[2, 3, 1, 0]])
    states = torch.randn(*batch.ids.shape, 5, generator=torch.Generator().manual_seed(0))
    mixed, labels = mixture.states(states), mixture.labels(batch.gold, 2)
    for b in range(4):
        other = int(mixture.partner[b])
        for t in range(batch.ids.shape[1]):
            in_both = bool(batch.real[b, t]) and bool(batch.real[other, t])
            wanted = 0.3 * states[b, t] + 0.7 * states[other, t] if in_both else states[b, t]
            assert torch.allclose(mixed[b, t], wanted)
        own = [0.0, 0.0]
        own[int(batch.gold[b])] += 0.3
        own[int(batch.gold[other])] += 0.7
        assert labels[b].tolist() == pytest.approx(own)
    assert not batch.real.all(), "some of the texts are padded"


@pytest.mark.parametrize("kind", ["mlp", "transformer"])
def test_the_loss_is_the_divergence_from_the_mixed_label(kind: str) -> None:
    defense, batch = begun(kind)
    mixture = Mixture(torch.tensor([1, 2, 3, 0]), torch.tensor(0.25), batch.real & batch.real[[1, 2, 3, 0]])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        loss = float(defense.mixed_loss(batch, mixture).detach())
        torch.manual_seed(5)
        predicted = defense.mixed_logits(batch, mixture).softmax(dim=1).tolist()
    total = 0.0
    for b in range(4):
        target = [0.0, 0.0]
        target[int(batch.gold[b])] += 0.25
        target[int(batch.gold[(b + 1) % 4])] += 0.75
        total += sum(p * math.log(p / q) for p, q in zip(target, predicted[b], strict=True) if p)
    assert loss == pytest.approx(total / 4, rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_the_ends_of_a_mixture_are_its_two_texts(kind: str) -> None:
    defense, _ = begun(kind)
    learner = defense.setting.learner
    batch = batch_of(learner, EVEN, LABELS)
    assert batch.real.all()
    plain = learner.logits(batch)
    assert not torch.allclose(plain[0], plain[1], atol=1e-4)
    partner = torch.tensor([1, 2, 3, 0])
    for layer in mixing_layers(learner.module) if kind == "transformer" else [None]:
        for first, wanted in ((1.0, plain), (0.0, plain[partner])):
            mixture = Mixture(partner, torch.tensor(first), batch.real & batch.real[partner])
            assert torch.allclose(defense.mixed_logits(batch, mixture, layer), wanted, atol=1e-5)
        mixture = Mixture(partner, torch.tensor(0.5), batch.real & batch.real[partner])
        between = defense.mixed_logits(batch, mixture, layer)
        assert not torch.allclose(between, plain, atol=1e-4)


def test_shares_follow_the_beta_distribution() -> None:
    _, batch = begun("mlp")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        drawn = [Mixture.drawn(batch, 2.0) for _ in range(2000)]
    shares = torch.stack([mixture.first for mixture in drawn])
    assert float(shares.mean()) == pytest.approx(0.5, abs=0.02)
    assert float(shares.var()) == pytest.approx(1 / 20, abs=0.005)  # of Beta(2, 2)
    assert len({tuple(mixture.partner.tolist()) for mixture in drawn}) == 24
    for mixture in drawn[:50]:
        assert torch.equal(mixture.both, batch.real & batch.real[mixture.partner])


# ---------------------------------------------------------------------- the layers


@pytest.mark.parametrize(("depth", "wanted"), [(12, [7, 9, 12]), (6, [4, 5, 6]), (2, [2]), (1, [1])])
def test_layers_are_at_the_same_depth_as_those_of_bert(depth: int, wanted: list[int]) -> None:
    model = small_transformer(layers=depth).model
    layers = list(model.bert.encoder.layer)
    assert [layers.index(layer) + 1 for layer in mixing_layers(model)] == wanted


def test_a_model_without_a_list_of_layers_is_refused() -> None:
    model = nn.Linear(2, 2)
    model.config = SimpleNamespace(num_hidden_layers=3)  # type: ignore[assignment]
    with pytest.raises(InputError, match="3 layers"):
        mixing_layers(model)


def test_no_hook_is_left_behind() -> None:
    layer = nn.Linear(2, 2)
    mixture = Mixture(torch.tensor([0]), torch.tensor(0.5), torch.ones(1, 1, dtype=torch.bool))
    with pytest.raises(KeyError), mixed_behind(layer, mixture):
        raise KeyError
    assert not layer._forward_hooks


def test_layers_that_hand_on_a_tuple_are_mixed_too() -> None:
    class Pair(nn.Module):
        def forward(self, states: torch.Tensor) -> tuple[torch.Tensor, str]:
            return states, "rest"

    layer, states = Pair(), torch.tensor([[[0.0]], [[1.0]]])
    mixture = Mixture(torch.tensor([1, 0]), torch.tensor(0.25), torch.ones(2, 1, dtype=torch.bool))
    with mixed_behind(layer, mixture):
        mixed, rest = layer(states)
    assert mixed.flatten().tolist() == [0.75, 0.25] and rest == "rest"


# ---------------------------------------------------------------------- mixup is on


@pytest.mark.parametrize("kind", KINDS)
def test_mixup_reaches_the_gradient_and_its_weight_counts(kind: str) -> None:
    defense, batch = begun(kind)
    mixed = gradients(defense, batch)
    double, _ = begun(kind, weight=2.0)
    twice = gradients(double, batch_of(double.setting.learner, TEXTS, LABELS))
    defense.epoch = defense.plain
    plain = gradients(defense, batch)
    assert torch.allclose(mixed - plain, (twice - plain) / 2, atol=1e-5)
    assert float((mixed - plain).abs().max()) > 1e-3


@pytest.mark.parametrize("kind", ["cnn", "transformer"])
def test_a_mixture_costs_a_second_pass(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    defense, batch = begun(kind)
    learner, calls = defense.setting.learner, []
    logits = learner.logits
    monkeypatch.setattr(learner, "logits", lambda *given: calls.append(len(given)) or logits(*given))
    defense.loss(batch)
    assert len(calls) == 2
    defense.epoch = defense.plain
    defense.loss(batch)
    assert len(calls) == 3


@pytest.mark.parametrize("kind", ["cnn", "transformer"])
def test_weights_differ_from_those_of_ada(kind: str) -> None:
    options = {"epochs": 2}
    with_mixup = hardened(MixAda(limit=12), kind, source=SOURCE, options=options)
    without = hardened(Ada(limit=12), kind, source=SOURCE, options=options)
    again = hardened(MixAda(limit=12), kind, source=SOURCE, options=options)
    assert with_mixup.fingerprint != without.fingerprint
    assert with_mixup.fingerprint == again.fingerprint
    first, second = with_mixup.training["history"], without.training["history"]
    assert first[0] == second[0]  # the base model is trained in the same way
    assert first[1]["added"] == second[1]["added"] > 0 and first[1]["loss"] > second[1]["loss"]


@pytest.mark.parametrize("settings", [{"weight": 0.0}, {"concentration": -1.0}, {"concentration": math.inf}])
def test_bad_settings_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(settings))):
        MixAda(**settings)
