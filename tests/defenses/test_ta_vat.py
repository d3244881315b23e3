"""TA-VAT: tokens keep their perturbation from text to text."""

from __future__ import annotations

import pytest
import torch
from perturbed_passes import QUIET, begun, gradients, watched

from lexproof.defenses.ta_vat import TaVat, token_ascended, written
from small_training import batch_of


def test_each_token_takes_a_step_of_its_own_and_is_scaled_by_its_share() -> None:
    torch.manual_seed(0)
    eta, gradient = torch.randn(2, 3, 4) * 0.1, torch.randn(2, 3, 4)
    gradient[0, 1] *= 1e-9
    found = token_ascended(eta, gradient, 0.05)
    for b in range(2):
        steps = [eta[b, i] + 0.05 * gradient[b, i] / gradient[b, i].norm() for i in range(3)]
        longest = max(float(step.norm()) for step in steps)
        for i, step in enumerate(steps):
            torch.testing.assert_close(found[b, i], step * (float(step.norm()) / longest))


def test_a_text_without_gradient_and_perturbation_stays() -> None:
    zero = torch.zeros(1, 2, 3)
    assert torch.equal(token_ascended(zero, zero, 0.05), zero)


def test_a_row_takes_the_mean_of_a_batch_and_others_stay() -> None:
    table = torch.arange(8.0).reshape(4, 2)
    found = written(table, torch.tensor([1, 3, 1]), torch.tensor([[2.0, 4.0], [9.0, 9.0], [4.0, 8.0]]))
    assert found.tolist() == [[0.0, 1.0], [3.0, 6.0], [4.0, 5.0], [9.0, 9.0]]


@pytest.mark.parametrize("kind", ["cnn", "transformer"])
def test_the_next_text_starts_where_its_tokens_ended(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    defense = TaVat(start=0.0, scale=1.0)
    learner, batch = begun(defense, kind, **QUIET)
    original = learner.vectors(batch.ids).detach()
    seen = watched(learner, monkeypatch)
    gradients(defense, learner, batch)
    assert torch.equal(seen[0][0], original)  # nothing remembered yet
    table, met = defense.table.clone(), batch.ids[batch.real].unique().long()
    assert table[met].norm(dim=1).min() > 0
    others = torch.ones(len(table), dtype=torch.bool)
    others[met] = False
    assert not table[others].any()
    gradients(defense, learner, batch)
    expected = table[batch.ids.long()] * batch.real[:, :, None]
    expected *= (0.5 / expected.flatten(1).norm(dim=1).clamp(min=0.5))[:, None, None]
    torch.testing.assert_close(seen[2][0] - original, expected, rtol=1e-4, atol=1e-6)


def test_the_table_is_the_last_perturbation_of_the_slow_computation() -> None:
    defense = TaVat(scale=1.0, radius=0.3, start=0.1, warmup=0.0)
    learner, _ = begun(defense, "cnn", **QUIET)
    batch = batch_of(learner, ["the film was good"], [0])
    ids = batch.ids[0].long()
    torch.manual_seed(4)
    first = defense.first(batch)  # drawn first, then the table's rows
    rows = torch.empty(int(ids.max()) + 1, learner.dim).uniform_(-1, 1) * (0.1 / learner.dim**0.5)
    delta, eta = first[0], rows[ids]
    for _ in range(defense.steps):
        share = min(1.0, 0.3 / float((delta + eta).norm()))
        delta, eta = delta * share, eta * share
        moved = (learner.vectors(batch.ids).detach() + delta + eta).requires_grad_()
        (gradient,) = torch.autograd.grad(defense.loss_at(batch, moved), moved)
        delta = delta + 0.05 * gradient[0] / gradient.norm()
        steps = [eta[i] + 0.05 * gradient[0, i] / gradient[0, i].norm() for i in range(len(ids))]
        longest = max(float(step.norm()) for step in steps)
        eta = torch.stack([step * (float(step.norm()) / longest) for step in steps])
    share = min(1.0, 0.3 / float((delta + eta).norm()))
    gradients(defense, learner, batch, seed=4)
    assert len(set(ids.tolist())) == len(ids)
    torch.testing.assert_close(defense.table[ids], eta * share, rtol=1e-4, atol=1e-6)


def test_the_table_is_part_of_the_state() -> None:
    defense = TaVat()
    learner, batch = begun(defense, "cnn")
    gradients(defense, learner, batch)
    tensors, rest = defense.state()
    kept = {name: tensor.clone() for name, tensor in tensors.items()}
    expected = gradients(defense, learner, batch, seed=9)
    fresh = TaVat()
    fresh.begin(defense.setting)
    assert len(fresh.table) == 0
    fresh.restore(kept, rest)
    found = gradients(fresh, learner, batch, seed=9)
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    assert torch.equal(fresh.table, defense.table) and not torch.equal(fresh.table, kept["table"])
