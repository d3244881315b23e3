"""PGD, FreeLB and their ++ against slow computations, and against training without them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
import torch
from perturbed_passes import QUIET, assert_same, begun, counted, gradients, watched
from torch import Tensor

from lexproof.defenses.freelb import FreeLb, FreeLbPlusPlus
from lexproof.defenses.infobert import InfoBert
from lexproof.defenses.perturbation import Perturbing, ascended, mean_length, projected, random_start
from lexproof.defenses.pgd import Pgd, PgdPlusPlus
from lexproof.defenses.ta_vat import TaVat
from lexproof.errors import InputError
from lexproof.training.defense import Defense
from small_training import hardened, learner_for, setting_for

EVERY = (Pgd, PgdPlusPlus, FreeLb, FreeLbPlusPlus, TaVat, InfoBert)
KINDS = ("mlp", "cnn", "lstm", "bilstm", "transformer")
REAL = torch.tensor([[True] * 4, [True, True, False, False], [True, False, False, False]])


def test_a_random_start_is_uniform_within_its_size_and_0_at_padding() -> None:
    torch.manual_seed(3)
    delta = random_start(REAL, 500, 0.6)
    for b in range(3):
        n = int(REAL[b].sum())
        side = 0.6 / np.sqrt(n * 500)
        inside = delta[b, :n]
        assert inside.abs().max() <= side and inside.abs().max() > 0.98 * side and inside.min() < 0 < inside.max()
        assert 0.5 * 0.6 < inside.norm() < 0.66 * 0.6  # 1/sqrt(3) of the size, for a text of any length
        assert not delta[b, n:].any()


def test_a_step_has_its_length_in_each_text_however_small_the_gradient() -> None:
    torch.manual_seed(0)
    delta, gradient = torch.randn(4, 3, 5), torch.randn(4, 3, 5)
    gradient[1] *= 1e-12
    gradient[2] = 0
    found = ascended(delta, gradient, 0.3)
    for b in (0, 1, 3):
        wide = gradient[b].double()
        expected = delta[b].double() + 0.3 * wide / float((wide**2).sum()) ** 0.5
        torch.testing.assert_close(found[b].double(), expected, rtol=1e-5, atol=1e-6)
    assert torch.equal(found[2], delta[2])


def test_projection_is_the_nearest_point_of_the_ball_and_leaves_what_is_inside() -> None:
    torch.manual_seed(0)
    delta = torch.randn(3, 2, 4)
    delta[0] *= 0.5 / delta[0].norm()
    found = projected(delta, 1.0)
    assert torch.equal(found[0], delta[0])
    for b in (1, 2):
        assert delta[b].norm() > 1
        torch.testing.assert_close(found[b], delta[b] / delta[b].norm())
        directions = torch.randn(200, 8)
        others = directions / directions.norm(dim=1, keepdim=True)
        distances = (others - delta[b].flatten()).norm(dim=1)
        assert (found[b] - delta[b]).norm() <= distances.min() + 1e-6
    assert torch.equal(projected(delta, float("inf")), delta)
    assert not projected(torch.zeros(1, 2, 4), 1.0).any()


def _slow(defense: Perturbing, learner: Any, batch: Any, seed: int) -> list[dict[str, Tensor]]:
    """The parameters' gradients at d_0 … d_K, which are moved one text after the other."""
    torch.manual_seed(seed)
    unit, radius = defense.unit, defense.limit() * defense.unit
    delta = random_start(batch.real, learner.dim, defense.start * unit)
    found = []
    for _ in range(defense.steps + 1):
        for b in range(len(delta)):
            delta[b] *= min(1.0, radius / max(float(delta[b].norm()), 1e-9))
        learner.module.zero_grad()
        moved = delta.clone().requires_grad_()
        loss = torch.nn.functional.cross_entropy(learner.logits(batch, learner.vectors(batch.ids) + moved), batch.gold)
        loss.backward()
        found.append({n: w.grad.clone() for n, w in learner.module.named_parameters() if w.grad is not None})
        assert moved.grad is not None
        for b in range(len(delta)):
            n = int(batch.real[b].sum())
            own = moved.grad[b, :n]
            delta[b, :n] += defense.size * unit * own / own.norm()
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "defense", [FreeLb(steps=3, radius=0.06), FreeLbPlusPlus(steps=3), Pgd(steps=3), PgdPlusPlus()]
)
def test_gradients_are_those_of_the_slow_computation(defense: Perturbing, kind: str) -> None:
    learner, batch = begun(defense, kind, **QUIET)
    found = gradients(defense, learner, batch, seed=5)
    each = _slow(defense, learner, batch, seed=5)
    if isinstance(defense, PgdPlusPlus):
        expected = each[-1]
    else:
        used = each[: defense.steps]
        expected = {name: sum(own[name] for own in used) / defense.steps for name in used[0]}  # type: ignore[misc]
    assert_same(found, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_without_perturbation_it_is_plain_training(kind: str) -> None:
    for defense in (FreeLbPlusPlus(steps=1, start=0), FreeLb(steps=3, start=0, size=0), Pgd(steps=2, start=0, size=0)):
        learner, batch = begun(defense, kind, **QUIET)
        plain = Defense()
        plain.begin(setting_for(learner))
        assert_same(gradients(defense, learner, batch), gradients(plain, learner, batch))


@pytest.mark.parametrize("make", EVERY)
@pytest.mark.parametrize("kind", ["cnn", "transformer"])
def test_the_perturbation_reaches_the_weights(make: type[Perturbing], kind: str) -> None:
    off = {"size": 0.0, "start": 0.0, "steps": 1}
    learner, batch = begun(make(), kind, **QUIET)
    defenses = make(scale=1.0), make(scale=1.0, **off)
    moved, still = ({} for _ in range(2))  # type: dict[str, Tensor], dict[str, Tensor]
    for into, defense in zip((moved, still), defenses, strict=True):
        torch.manual_seed(2)
        defense.begin(setting_for(learner))
        into |= gradients(defense, learner, batch)
    assert any(not torch.allclose(moved[name], still[name], rtol=1e-3, atol=1e-5) for name in moved)
    table = next(name for name in moved if "embedding" in name)
    assert moved[table].any()


@pytest.mark.parametrize("make", EVERY)
def test_a_trained_victim_is_another_than_a_plain_one_and_the_same_again(make: type[Perturbing]) -> None:
    plain, one, two = (hardened(own, "cnn", options={"epochs": 4}) for own in (None, make(), make()))
    weights = [victim.net.state_dict() for victim in (plain, one, two)]
    assert all(torch.equal(weights[1][name], weights[2][name]) for name in weights[1])
    assert any(not torch.allclose(weights[0][name], weights[1][name], atol=1e-4) for name in weights[1])
    assert one.training["history"][-1]["loss"] < one.training["history"][0]["loss"]


@pytest.mark.parametrize("make", EVERY)
@pytest.mark.parametrize("kind", ["mlp", "cnn", "bilstm", "transformer"])
def test_padding_stays_and_norms_keep_their_bound(
    make: type[Perturbing], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    defense = make(steps=4, size=0.3, scale=2.0)
    learner, batch = begun(defense, kind)
    original = learner.vectors(batch.ids).detach()
    seen = watched(learner, monkeypatch)
    gradients(defense, learner, batch)
    assert len(seen) == (5 if isinstance(defense, PgdPlusPlus) else 4)
    for t, (vectors, _) in enumerate(seen):
        delta = vectors - original
        assert not delta[~batch.real].any()
        norms = delta.flatten(1).norm(dim=1)
        limit = 2 * min(defense.limit(), defense.start + t * defense.size)
        assert (norms <= limit + 1e-5).all() or isinstance(defense, TaVat)
        assert (norms <= 2 * defense.limit() + 1e-5).all()
        assert (norms > 0).all()


def test_a_convolution_would_move_padding_if_it_were_let() -> None:
    defense = FreeLbPlusPlus(steps=2)
    learner, batch = begun(defense, "cnn", **QUIET)
    moved = learner.vectors(batch.ids).detach().requires_grad_()
    (gradient,) = torch.autograd.grad(defense.loss_at(batch, moved), moved)
    assert gradient[~batch.real].any()  # what `next` leaves out
    assert not defense.next(torch.zeros_like(moved), gradient, batch.real)[~batch.real].any()


@pytest.mark.parametrize("kind", ["cnn", "bilstm", "transformer"])
def test_the_ascent_raises_the_loss(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    defense = FreeLbPlusPlus(steps=6, size=0.2, warmup=0.0)
    learner, batch = begun(defense, kind, **QUIET)
    seen = watched(learner, monkeypatch)
    gradients(defense, learner, batch)
    losses = [float(torch.nn.functional.cross_entropy(logits, batch.gold)) for _, logits in seen]
    assert losses == sorted(losses) and losses[-1] > losses[0] + 1e-3


@pytest.mark.parametrize("kind", ["cnn", "bilstm", "transformer"])
@pytest.mark.parametrize("make", [FreeLbPlusPlus, PgdPlusPlus])
def test_passes_drop_the_same_features_unless_told_otherwise(
    make: type[Perturbing], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for same in (True, False):
        defense = make(steps=3, size=0, start=0, same_dropout=same)
        learner, batch = begun(defense, kind, dropout=0.5)
        with monkeypatch.context() as patch:
            seen = watched(learner, patch)
            gradients(defense, learner, batch)
            first = [logits for _, logits in seen]
            gradients(defense, learner, batch, seed=2)  # another batch drops others
        assert all(torch.equal(first[0], other) for other in first[1:]) is same
        assert not torch.equal(first[0], seen[len(first)][1])


@pytest.mark.parametrize(
    ("defense", "forward", "back"),
    [
        (FreeLbPlusPlus(), 10, 10),
        (FreeLb(), 5, 5),
        (Pgd(), 6, 1),
        (PgdPlusPlus(), 11, 1),
        (TaVat(), 2, 2),
        (InfoBert(), 3, 3),
    ],
)
def test_what_a_batch_costs(defense: Perturbing, forward: int, back: int, monkeypatch: pytest.MonkeyPatch) -> None:
    learner, batch = begun(defense, "cnn")
    seen, calls = watched(learner, monkeypatch), counted(learner)
    looked_up = []
    learner.module.embedding.weight.register_hook(lambda gradient: looked_up.append(1))
    gradients(defense, learner, batch)
    assert (len(seen), len(calls), len(looked_up)) == (forward, back, 1)


def test_sizes_follow_the_length_of_the_vectors_before_training(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = learner_for("cnn")
    with torch.no_grad():
        learner.module.embedding.weight.mul_(7.0)
    setting = setting_for(learner)
    rows = [learner.vectors(torch.from_numpy(row)) for row in learner.encode(setting.inputs)]
    expected = float(torch.cat(rows).detach().norm(dim=1).mean())
    assert mean_length(setting) == pytest.approx(expected, rel=1e-5)
    defense = FreeLb(warmup=0.0)
    defense.begin(setting)
    assert defense.unit == pytest.approx(expected / 1.4, rel=1e-5) and defense.measures() == {"scale": defense.unit}
    with torch.no_grad():
        learner.module.embedding.weight.mul_(2.0)  # training has gone on
    resumed = FreeLb(warmup=0.0)
    resumed.begin(setting)
    assert resumed.unit != defense.unit
    resumed.restore(*defense.state())
    assert resumed.unit == defense.unit
    fixed = FreeLb(scale=3.0, warmup=0.0)
    fixed.begin(setting)
    assert fixed.unit == 3.0


@pytest.mark.parametrize(("kind", "length"), [("mlp", 1.4), ("lstm", 2.8), ("bilstm", 2.8), ("transformer", 2.8)])
def test_recurrent_networks_and_transformers_take_half_of_the_published_sizes(kind: str, length: float) -> None:
    setting = setting_for(learner_for(kind))
    defense = FreeLb(warmup=0.0)
    defense.begin(setting)
    assert defense.unit == pytest.approx(mean_length(setting) / length, rel=1e-5)


@pytest.mark.parametrize("make", EVERY)
def test_sizes_grow_over_the_first_third_and_nothing_is_kept_before(
    make: type[Perturbing], monkeypatch: pytest.MonkeyPatch
) -> None:
    defense = make(scale=2.0, start=0.0)
    learner, batch = begun(defense, "cnn", **QUIET)  # 32 texts, 2 epochs: the warm-up is over after 64/3 texts
    original, seen = learner.vectors(batch.ids).detach(), watched(learner, monkeypatch)
    size, passes = len(batch.gold), []
    for number in range(1, 6):
        assert (defense.merit(1, 0.5) is None) is ((number - 1) * size < 64 / 3)
        seen.clear()
        gradients(defense, learner, batch)
        assert defense.measures()["scale"] == pytest.approx(2.0 * min(1.0, number * size / (64 / 3)))
        passes.append(float((seen[1][0] - original).flatten(1).norm(dim=1).max()))
    assert passes[0] < passes[1] < passes[2] and defense.merit(1, 0.5) == 0.5
    if not isinstance(defense, TaVat):  # whose tokens remember
        assert passes[0] == pytest.approx(2.0 * min(defense.limit(), defense.size) * size / (64 / 3), rel=1e-3)


def test_a_warm_up_goes_on_where_it_was() -> None:
    defense, resumed = FreeLb(), FreeLb()
    learner, batch = begun(defense, "cnn", **QUIET)
    gradients(defense, learner, batch)
    resumed.begin(defense.setting)
    resumed.restore(*defense.state())
    assert resumed.unit == defense.unit < defense.full


def test_frozen_vectors_stay_and_the_layers_above_them_are_trained() -> None:
    options = {"freeze_vectors": True}
    plain, defended = (hardened(own, "cnn", options=options).net.state_dict() for own in (None, FreeLbPlusPlus()))
    assert torch.equal(plain["embedding.weight"], defended["embedding.weight"])
    assert not torch.allclose(plain["last.weight"], defended["last.weight"], atol=1e-4)


def test_only_the_projected_variants_have_a_radius() -> None:
    having = {make.name for make in EVERY if "radius" in {field.name for field in fields(make)}}
    assert having == {"pgd", "freelb", "ta-vat"}
    settings = {"steps": 10, "size": 0.03, "start": 0.05, "scale": 0.0, "same_dropout": True, "warmup": 1 / 3}
    assert FreeLbPlusPlus().spec == {"name": "freelb++", **settings}


@pytest.mark.parametrize(
    ("make", "settings", "reason"),
    [
        (FreeLb, {"steps": 0}, "expected steps of at least 1, got 0"),
        (FreeLb, {"steps": 2.5}, "expected steps to be a whole number, got 2.5"),
        (FreeLb, {"size": -0.1}, "expected size >= 0, got -0.1"),
        (FreeLb, {"size": float("nan")}, "expected size >= 0, got nan"),
        (PgdPlusPlus, {"start": -1.0}, "expected start >= 0, got -1.0"),
        (PgdPlusPlus, {"scale": -1.0}, "expected scale >= 0, got -1.0"),
        (Pgd, {"warmup": 1.5}, r"expected warmup in \[0, 1\], got 1.5"),
        (Pgd, {"warmup": "long"}, "expected warmup to be a number, got 'long'"),
        (Pgd, {"radius": 0.0}, "expected radius > 0, got 0.0; the variant without projection"),
        (TaVat, {"radius": -1.0}, "expected radius > 0, got -1.0"),
        (InfoBert, {"low": 0.9, "high": 0.5}, "expected 0 <= low < high <= 1, got low=0.9 and high=0.5"),
        (InfoBert, {"agreement": -1.0}, "expected agreement >= 0, got -1.0"),
        (InfoBert, {"group": 1}, "expected width from 1 to 100000 and group >= 2, got 300 and 1"),
    ],
)
def test_settings_that_mean_nothing_are_refused(make: type[Perturbing], settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason.replace("+", r"\+")):
        make(**settings)
