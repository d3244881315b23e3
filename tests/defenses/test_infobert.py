"""InfoBERT: both bounds against sums over all pairs, and a critic that learns."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from perturbed_passes import QUIET, begun, gradients

from lexproof.defenses.infobert import Critic, InfoBert, info_nce, robust_tokens, spread
from lexproof.training.defense import Setting
from small_training import KINDS, batch_of, hardened


def test_the_upper_bound_is_half_the_mean_squared_distance_of_all_pairs() -> None:
    torch.manual_seed(0)
    features = torch.randn(7, 3, dtype=torch.float64)
    pairs = [float((one - other).square().sum()) / 2 for one in features for other in features]
    assert float(spread(features)) == pytest.approx(sum(pairs) / len(pairs), rel=1e-12)


def test_the_lower_bound_is_that_of_the_definition_and_at_most_the_logarithm_of_the_group() -> None:
    torch.manual_seed(0)
    scores = torch.randn(5, 5, dtype=torch.float64)
    expected = 0.0
    for i in range(5):
        others = sum(math.exp(float(scores[i, j])) for j in range(5)) / 5
        expected += (float(scores[i, i]) - math.log(others)) / 5
    assert float(info_nce(scores)) == pytest.approx(expected, rel=1e-12)
    assert float(info_nce(50 * torch.eye(5))) == pytest.approx(math.log(5), abs=1e-6)
    assert float(info_nce(torch.ones(5, 5))) == pytest.approx(0.0, abs=1e-6)


def test_robust_tokens_are_those_of_middling_gradient_among_a_texts_own() -> None:
    torch.manual_seed(0)
    gradient = torch.randn(5, 10, 4)
    lengths = [10, 7, 2, 1, 0]
    real = torch.arange(10) < torch.tensor(lengths)[:, None]
    found = robust_tokens(gradient, real, 0.5, 0.9)
    for b, n in enumerate(lengths):
        order = sorted(range(n), key=lambda i: float(gradient[b, i].norm()))
        expected = set(order[math.ceil(n * 0.5) : math.ceil(n * 0.9)])
        assert set(found[b].nonzero()[:, 0].tolist()) == expected
    assert int(found[0].sum()) == 4 and int(found[2].sum()) == 1 and not found[3].any()


def test_the_critic_scores_a_text_and_a_token_side_by_side() -> None:
    torch.manual_seed(0)
    critic = Critic(3, 2, 6)
    texts, tokens = torch.randn(4, 3), torch.randn(4, 2)
    weight = torch.cat([critic.text.weight, critic.token.weight], 1)
    scores = critic(texts, tokens)
    for i in range(4):
        for j in range(4):
            hidden = torch.relu(weight @ torch.cat([texts[i], tokens[j]]) + critic.text.bias)
            expected = torch.nn.functional.softplus(critic.last(hidden))[0]
            torch.testing.assert_close(scores[i, j], expected)


class _Watched(InfoBert):
    """Keeps the critic's weights from before training."""

    def begin(self, setting: Setting) -> None:
        super().begin(setting)
        self.before = [weight.detach().clone() for weight in self.parameters()]


@pytest.mark.parametrize("kind", KINDS)
def test_the_critic_moves_in_training(kind: str) -> None:
    defense = _Watched(width=8)
    hardened(defense, kind)
    assert len(defense.before) == 5
    for before, after in zip(defense.before, defense.parameters(), strict=True):
        assert not torch.allclose(before, after.detach(), atol=1e-3)


@pytest.mark.parametrize("kind", ["mlp", "cnn", "bilstm"])
def test_a_trained_critic_tells_texts_apart(kind: str) -> None:
    defense = InfoBert(agreement=1.0, steps=1, width=32)
    learner, batch = begun(defense, kind, **QUIET)
    optimizer = torch.optim.Adam(defense.parameters(), lr=0.01)  # the network stays
    before = _bound(defense, learner, batch)
    for number in range(60):
        optimizer.zero_grad()
        gradients(defense, learner, batch, seed=number)
        optimizer.step()
    assert _bound(defense, learner, batch) > before + 0.2


def _bound(defense: InfoBert, learner: Any, batch: Any) -> float:
    moved = learner.vectors(batch.ids).detach().requires_grad_()
    states = learner.states(batch, moved)
    (gradient,) = torch.autograd.grad(torch.nn.functional.cross_entropy(states.logits, batch.gold), moved)
    with torch.no_grad():
        states = learner.states(batch, moved)
        found = defense.agreed(batch, gradient, moved, states.text)
    assert found is not None
    return float(found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", ["compression", "agreement"])
def test_each_bound_reaches_the_network(kind: str, weight: str) -> None:
    off = {"compression": 0.0, "agreement": 0.0, "scale": 1.0}
    found = []
    for settings in (off, off | {weight: 1.0}):
        defense = InfoBert(**settings)
        learner, batch = begun(defense, kind, **QUIET)
        found.append(gradients(defense, learner, batch))
    table = next(name for name in found[0] if "embedding" in name)
    assert not torch.allclose(found[0][table], found[1][table], atol=1e-4)


def test_the_bounds_do_not_steer_the_ascent() -> None:
    ascents = []
    for weight in (0.0, 1.0):
        defense = InfoBert(compression=weight, agreement=weight, scale=1.0)
        learner, batch = begun(defense, "cnn", **QUIET)
        moved = learner.vectors(batch.ids).detach().requires_grad_()
        torch.manual_seed(0)
        ascents.append(defense.step(batch, moved).ascent)
    assert torch.equal(*ascents)


def test_the_loss_is_the_weighted_sum() -> None:
    losses = {}
    for c, a in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (2.0, 3.0)):
        defense = InfoBert(compression=c, agreement=a, scale=1.0)
        learner, batch = begun(defense, "cnn", **QUIET)
        torch.manual_seed(0)
        learner.module.zero_grad()
        losses[c, a] = defense.backward(batch)
    plain = losses[0.0, 0.0]
    upper, lower = losses[1.0, 0.0] - plain, losses[0.0, 1.0] - plain
    assert upper > 0.1
    assert losses[2.0, 3.0] == pytest.approx(plain + 2 * upper + 3 * lower, rel=1e-5)


def test_texts_too_short_to_have_robust_tokens_are_trained_on_all_the_same() -> None:
    defense = InfoBert()
    learner, _ = begun(defense, "cnn")
    found = gradients(defense, learner, batch_of(learner, ["good", "bad"], [1, 0]))
    assert found["last.weight"].any()
    assert all(weight.grad is None for weight in defense.parameters())
