"""Convex hull defenses: mixed vectors against written-out sums, draws against their law, steps against their aim."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from lexproof.candidates import Table
from lexproof.defenses import ascc
from lexproof.defenses.ascc import ASCC, divergence, mean_entropy
from lexproof.defenses.dne import DNE, drawn, uphill
from lexproof.defenses.hull import Hull, Hulls, second_order, vectors_of
from lexproof.errors import InputError
from lexproof.text import Text
from lexproof.training.defense import Defense
from lexproof.training.learner import Batch
from lexproof.victims.vocabulary import UNKNOWN
from small_training import (
    KINDS,
    SYNONYMS,
    batch_of,
    hardened,
    learner_for,
    reviews,
    setting_for,
    synonyms,
    victim_for,
)

CHAIN = Table({"good": ["great"], "great": ["fine", "good"], "fine": ["charming"], "film": ["plot"]})
"""good - great - fine - charming: neighbors of neighbors differ from neighbors."""


def still_learner(kind: str) -> Any:
    """A learner without dropout, of which words make a difference."""
    learner = learner_for(kind, dropout=0.0)
    if kind == "transformer":
        with torch.no_grad():
            for weight in learner.module.parameters():
                weight *= 5 if weight.ndim > 1 else 1
    return learner


def begun(defense: Any, kind: str = "cnn", source: Any = None, count: int = 12) -> tuple[Any, Batch]:
    """A defense that has begun, and all its training texts as one batch."""
    setting = setting_for(still_learner(kind), count, source=synonyms() if source is None else source)
    defense.begin(setting)
    return defense, batch_of(setting.learner, setting.inputs, setting.gold)


def token_of(learner: Any, word: str) -> int:
    """The token of a word that is one, found by reading it among others."""
    with_word, without = (batch_of(learner, [f"and {middle} and"], [0]).ids[0] for middle in (word, "it"))
    return int(with_word[with_word != without])


def gradients(defense: Any, batch: Batch) -> list[Tensor]:
    """What `backward` leaves in the network."""
    module = defense.setting.learner.module
    module.zero_grad()
    defense.backward(batch)
    return [weight.grad.clone() for weight in module.parameters() if weight.grad is not None]


def loss_at(defense: Any, batch: Batch, logits: Tensor) -> Tensor:
    """Mean loss at a point of the hulls, every vector looked up afresh."""
    learner, hull = defense.setting.learner, defense.hulls.of(batch)
    vectors = hull.mixed(*vectors_of(learner, batch, hull), hull.weights(logits))
    return torch.nn.functional.cross_entropy(learner.logits(batch, vectors), batch.gold)


def same(one: list[Tensor], other: list[Tensor]) -> bool:
    return len(one) == len(other) and all(torch.allclose(a, b, atol=1e-6) for a, b in zip(one, other, strict=True))


def hull_of(orders: list[list[int]]) -> Hull:
    """Corners with these orders, one row a token."""
    width = max(map(len, orders))
    order = torch.tensor([[*row, *[0] * (width - len(row))] for row in orders])
    is_real = torch.tensor([[k < len(row) for k in range(width)] for row in orders])
    return Hull(torch.arange(len(orders)), torch.zeros_like(order), is_real, order)


@pytest.mark.parametrize("kind", KINDS)
def test_the_corners_are_the_word_and_its_synonyms(kind: str) -> None:
    setting = setting_for(still_learner(kind), source=synonyms())
    batch = batch_of(setting.learner, setting.inputs, setting.gold)
    hull = Hulls(setting).of(batch)
    token = {word: token_of(setting.learner, word) for word in SYNONYMS}
    of_token = {token[word]: {token[word], *(token[other] for other in SYNONYMS[word])} for word in SYNONYMS}
    flat = batch.ids.flatten().tolist()
    assert hull.at.tolist() == [t for t, own in enumerate(flat) if own in of_token]
    for at, ids, is_real in zip(hull.at.tolist(), hull.ids, hull.is_real, strict=True):
        assert ids[0] == flat[at]
        corners = ids[is_real].tolist()
        assert set(corners) == of_token[flat[at]] and len(corners) == len(set(corners))


def test_mixed_vectors_are_the_weighted_sums_of_their_corners() -> None:
    defense, batch = begun(ASCC())
    learner, hull = defense.setting.learner, defense.hulls.of(batch)
    torch.manual_seed(0)
    weights = hull.weights(torch.randn(hull.ids.shape))
    assert (weights >= 0).all() and (weights[~hull.is_real] == 0).all()
    assert torch.allclose(weights.sum(dim=-1), torch.ones(len(weights)))
    mixed = hull.mixed(*vectors_of(learner, batch, hull), weights).flatten(0, 1)
    table = learner.net.embedding.weight
    at = hull.at.tolist()
    for t, token in enumerate(batch.ids.flatten().tolist()):
        expected = table[token].clone()
        if t in at:
            row = at.index(t)
            expected = sum(weights[row, k] * table[int(hull.ids[row, k])] for k in range(hull.ids.shape[1]))
        assert torch.allclose(mixed[t], expected, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_all_weight_on_the_word_itself_is_the_text_as_it_is(kind: str) -> None:
    defense, batch = begun(DNE(), kind)
    learner, hull = defense.setting.learner, defense.hulls.of(batch)
    logits = torch.full(hull.ids.shape, -1000.0)
    logits[:, 0] = 0.0
    assert torch.allclose(loss_at(defense, batch, logits), Defense.loss(defense, batch), atol=1e-6)
    elsewhere = loss_at(defense, batch, -logits)
    assert not torch.allclose(elsewhere, Defense.loss(defense, batch), atol=1e-6)
    assert len(hull.at) and learner.module.training


def test_hidden_tokens_have_no_substitutes() -> None:
    defense, batch = begun(DNE())
    shown = defense.hulls.of(batch)
    hidden = shown.at[::2]
    ids = batch.ids.flatten().clone()
    ids[hidden] = UNKNOWN
    left = defense.hulls.of(replace(batch, ids=ids.view_as(batch.ids)))
    assert left.at.tolist() == shown.at[1::2].tolist()
    assert torch.equal(left.ids[left.is_real], shown.ids[1::2][shown.is_real[1::2]])


def test_batches_find_the_corners_of_their_own_texts() -> None:
    defense, batch = begun(DNE())
    whole = defense.hulls.of(batch)
    learner, setting = defense.setting.learner, defense.setting
    chosen = np.array([7, 2, 5])
    inputs = [setting.inputs[b] for b in chosen]
    part = learner.batch(learner.encode(inputs), inputs, np.asarray(setting.gold)[chosen], chosen, None)
    hull = defense.hulls.of(part)
    width, of_text = batch.ids.shape[1], {int(number): row for row, number in enumerate(batch.numbers)}
    places = {int(at): row for row, at in enumerate(whole.at)}
    assert len(hull.at)
    for at, ids, is_real in zip(hull.at.tolist(), hull.ids, hull.is_real, strict=True):
        row, place = divmod(at, part.ids.shape[1])
        there = places[of_text[int(part.numbers[row])] * width + place]
        assert ids[is_real].tolist() == whole.ids[there][whole.is_real[there]].tolist()


def test_second_order_is_that_of_the_synonyms_alone() -> None:
    found = second_order(CHAIN)(Text.parse("a Good great film"))
    assert [list(options) for options in found] == [[], ["Fine"], ["charming"], []]


def test_second_order_corners_come_after_the_first_and_are_cut_first() -> None:
    setting = setting_for(still_learner("cnn"), 64, source=CHAIN)
    batch = batch_of(setting.learner, setting.inputs, setting.gold)
    word = {token_of(setting.learner, word): word for word in ("good", "great", "fine", "charming", "film", "plot")}
    expected = {"good": ["great", "fine"], "great": ["fine", "good", "charming"], "fine": ["charming"]}
    orders = {"good": [0, 1, 2], "great": [0, 1, 1, 2], "fine": [0, 1], "film": [0, 1]}
    full, cut = (Hulls(setting, with_second=True, most=most).of(batch) for most in (None, 1))
    seen = set()
    for ids, is_real, order in zip(full.ids, full.is_real, full.order, strict=True):
        own, *others = [word[int(token)] for token in ids[is_real]]
        assert others == expected.get(own, ["plot"])
        assert order[is_real].tolist() == orders[own]
        seen.add(own)
    assert seen == orders.keys()
    assert torch.equal(cut.ids, full.ids[:, :2]) and cut.order.max() == 1


def test_weights_follow_the_dirichlet_law_whatever_their_neighbors() -> None:
    # 4 corners of which 1 is of first order beside 2 corners of first order: one key in the released code's cache
    rows = [[0, 2, 2, 2], [0, 1], [0, 1, 1, 2]]
    hull = hull_of(rows * 20_000)
    torch.manual_seed(0)
    alpha, decay = 0.8, 0.25
    weights = hull.weights(drawn(hull, alpha, decay)).view(-1, 3, 4).double()
    for row, orders in enumerate(rows):
        shape = np.array([alpha * (decay if order == 2 else 1.0) for order in orders])
        total = shape.sum()
        mean, variance = shape / total, shape * (total - shape) / (total**2 * (total + 1))
        own = weights[:, row].numpy()
        assert (own[:, len(orders) :] == 0).all()
        assert np.abs(own[:, : len(orders)].mean(axis=0) - mean).max() < 0.01
        assert np.abs(own[:, : len(orders)].var(axis=0) - variance).max() < 0.01


def test_a_tiny_alpha_draws_single_words_and_stays_finite() -> None:
    hull = hull_of([[0, 1, 1]] * 3000)
    torch.manual_seed(0)
    weights = hull.weights(drawn(hull, 1e-4, 1.0))
    assert torch.isfinite(weights).all() and (weights.amax(dim=-1) > 0.999).float().mean() > 0.99
    assert weights.argmax(dim=-1).bincount().min() > 850


def test_steps_go_uphill_by_their_size() -> None:
    defense, batch = begun(DNE())
    hull = defense.hulls.of(batch)
    torch.manual_seed(0)
    logits, losses = drawn(hull, 1.0, 0.5), []
    for _ in range(5):
        logits.requires_grad_()
        loss = loss_at(defense, batch, logits)
        losses.append(float(loss.detach()))
        loss.backward()
        moved = uphill(logits, 0.05)
        assert torch.allclose((moved - logits.detach())[hull.is_real].isfinite().float(), torch.ones(()))
        assert torch.allclose((moved - logits.detach()).norm(dim=-1), torch.tensor(0.05), rtol=1e-3)
        logits = moved
    assert losses == sorted(losses) and losses[-1] > losses[0]


def test_a_vanishing_gradient_still_has_a_direction() -> None:
    logits = torch.zeros(2, 2, requires_grad=True)
    logits.grad = torch.tensor([[3e-30, -4e-30], [0.0, 0.0]])
    assert torch.allclose(uphill(logits, 10.0), torch.tensor([[6.0, -8.0], [0.0, 0.0]]))


def test_dne_leaves_the_mean_gradient_of_all_its_points() -> None:
    defense, batch = begun(DNE(steps=2, size=1.0))
    module = defense.setting.learner.module
    torch.manual_seed(3)
    found = gradients(defense, batch)
    torch.manual_seed(3)
    hull = defense.hulls.of(batch)
    logits, expected = drawn(hull, 0.1, 0.1), [torch.zeros_like(weight) for weight in module.parameters()]
    for _ in range(3):
        logits = logits.detach().requires_grad_()
        loss = loss_at(defense, batch, logits)
        by_logits, *own = torch.autograd.grad(loss, [logits, *module.parameters()])
        expected = [total + gradient / 3 for total, gradient in zip(expected, own, strict=True)]
        logits = logits + by_logits / by_logits.norm(dim=-1, keepdim=True)
    assert same(found, expected)


@pytest.mark.parametrize("kind", ["cnn", "bilstm", "transformer"])
@pytest.mark.parametrize("defense", [DNE(), DNE(steps=0), ASCC()], ids=["dne", "dne-random", "ascc"])
def test_the_synonyms_reach_the_gradients_and_nothing_else_does(defense: Any, kind: str) -> None:
    plain, batch = begun(Defense(), kind)
    expected = gradients(plain, batch)
    without, batch = begun(defense, kind, Table({"nothing": ["here"]}))
    assert same(gradients(without, batch), expected)
    given, batch = begun(defense, kind)
    torch.manual_seed(0)
    assert not same(gradients(given, batch), expected)


def test_the_steps_reach_the_weights_of_the_trained_network() -> None:
    chosen = (None, DNE(steps=0), DNE(), DNE(decay=0.0), ASCC(steps=0), ASCC(), ASCC(sparsity=0.0))
    tables = [hardened(defense, "cnn", source=CHAIN).net.embedding.weight for defense in chosen]
    for k, one in enumerate(tables):
        assert not any(torch.allclose(one, other) for other in tables[:k])
    assert torch.equal(hardened(DNE(), "cnn", source=CHAIN).net.embedding.weight, tables[2])


def test_divergence_and_entropy_are_their_sums() -> None:
    defense, batch = begun(ASCC())
    hull = defense.hulls.of(batch)
    torch.manual_seed(0)
    clean, moved = torch.randn(5, 3), torch.randn(5, 3)
    weights = hull.weights(5 * torch.randn(hull.ids.shape))
    p, q = clean.softmax(-1).numpy(), moved.softmax(-1).numpy()
    assert np.allclose(divergence(clean, moved), [sum(a * np.log(a / b)) for a, b in zip(p, q, strict=True)], atol=1e-6)
    expected = np.zeros(len(batch.ids))
    for at, own in zip(hull.at.tolist(), weights.numpy(), strict=True):
        text = at // batch.ids.shape[1]
        expected[text] -= sum(w * np.log(w) for w in own if w > 0) / int(batch.real[text].sum())
    assert np.allclose(mean_entropy(batch, hull, weights), expected, atol=1e-6)


def kl_at(defense: Any, batch: Batch, logits: Tensor) -> float:
    learner, hull = defense.setting.learner, defense.hulls.of(batch)
    with torch.no_grad():
        mixed = hull.mixed(*vectors_of(learner, batch, hull), hull.weights(logits))
        return float(divergence(learner.logits(batch), learner.logits(batch, mixed)).mean())


@pytest.mark.parametrize("kind", ["cnn", "lstm", "transformer"])
@pytest.mark.parametrize("sparsity", [0.0, 0.01, 10.0])
def test_the_inner_steps_raise_what_they_are_to_raise(kind: str, sparsity: float) -> None:
    start, end = [], []
    for seed in range(3):
        for steps, found in ((0, start), (5, end)):
            defense, batch = begun(ASCC(steps=steps, sparsity=sparsity), kind)
            torch.manual_seed(seed)
            hull = defense.hulls.of(batch)
            logits = defense.worst(batch, hull)
            entropy = float(mean_entropy(batch, hull, hull.weights(logits)).mean())
            found.append((kl_at(defense, batch, logits), entropy))
    (kl_before, entropy_before), (kl_after, entropy_after) = np.mean(start, axis=0), np.mean(end, axis=0)
    assert kl_after - sparsity * entropy_after > kl_before - sparsity * entropy_before
    if sparsity < 1:
        assert kl_after > 1.3 * kl_before
    else:
        assert entropy_after < 0.5 * entropy_before


def test_the_inner_steps_leave_the_network_alone() -> None:
    setting = setting_for(learner_for("cnn", dropout=0.5), source=synonyms())
    defense = ASCC()
    defense.begin(setting)
    batch = batch_of(setting.learner, setting.inputs, setting.gold)
    hull = defense.hulls.of(batch)
    drawn_twice = []
    for _ in range(2):
        torch.manual_seed(0)
        drawn_twice.append(defense.worst(batch, hull))
        assert setting.learner.module.training
    # dropout would have drawn from the generator, and moved the points
    assert torch.equal(*drawn_twice)
    torch.manual_seed(0)
    torch.randn(hull.ids.shape)
    expected = torch.rand(3)
    torch.manual_seed(0)
    defense.worst(batch, hull)
    assert torch.equal(torch.rand(3), expected)
    assert all(weight.grad is None for weight in setting.learner.module.parameters())


def test_texts_of_a_batch_do_not_influence_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ascc, "_START", 0.0)
    defense, batch = begun(ASCC())
    learner, setting = defense.setting.learner, defense.setting
    whole = defense.worst(batch, defense.hulls.of(batch))
    texts = defense.hulls.of(batch).at // batch.ids.shape[1]
    for row, number in enumerate(batch.numbers.tolist()):
        inputs, gold = [setting.inputs[number]], np.array([setting.gold[number]])
        alone = learner.batch(learner.encode(inputs), inputs, gold, np.array([number]), None)
        hull = defense.hulls.of(alone)
        expected = hull.weights(defense.worst(alone, hull))
        there = defense.hulls.of(batch).weights(whole)[texts == row][:, : expected.shape[1]]
        assert torch.allclose(there, expected, atol=1e-3)


def test_ascc_adds_the_weighted_divergence_to_plain_training() -> None:
    defense, batch = begun(ASCC(weight=4.0))
    torch.manual_seed(0)
    loss = defense.loss(batch).item()
    torch.manual_seed(0)
    logits = defense.worst(batch, defense.hulls.of(batch))
    assert loss == pytest.approx(Defense.loss(defense, batch).item() + 4 * kl_at(defense, batch, logits), abs=1e-5)


@pytest.mark.parametrize(("defense", "passes"), [(DNE(), 4), (DNE(steps=0), 1), (ASCC(), 8)])
def test_a_batch_costs_what_the_docs_say(defense: Any, passes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(defense)
    learner, seen = defense.setting.learner, []
    logits = learner.logits
    monkeypatch.setattr(learner, "logits", lambda *given: seen.append(1) or logits(*given))
    defense.backward(batch_of(learner, defense.setting.inputs, defense.setting.gold))
    assert len(seen) == passes


def test_frozen_vectors_stay_as_they_are() -> None:
    for defense in (DNE(), ASCC()):
        victim = hardened(defense, "cnn", options={"freeze_vectors": True})
        assert torch.equal(victim.net.embedding.weight, victim_for("cnn").net.embedding.weight)


@pytest.mark.parametrize("defense", [DNE(), ASCC()], ids=["dne", "ascc"])
def test_the_finished_victim_is_an_ordinary_one_and_asks_once(defense: Any) -> None:
    victim = hardened(defense, "cnn")
    assert type(victim) is type(victim_for("cnn"))
    passes = []
    victim.net.register_forward_hook(lambda *_: passes.append(1))
    texts = [str(text) for text in reviews(4)[0]]
    scores = victim.scores(texts)
    assert len(passes) == 1
    assert np.array_equal(scores, victim.scores(texts))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: DNE(alpha=0.0),
        lambda: DNE(decay=1.5),
        lambda: DNE(steps=-1),
        lambda: DNE(size=float("nan")),
        lambda: DNE(most=0),
        lambda: ASCC(steps=-1),
        lambda: ASCC(rate=0.0),
        lambda: ASCC(sparsity=-1.0),
        lambda: ASCC(weight=float("inf")),
    ],
)
def test_settings_without_a_meaning_are_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match="expected"):
        wrong()


@pytest.mark.parametrize("defense", [DNE(), ASCC()], ids=["dne", "ascc"])
def test_synonyms_are_asked_for(defense: Any) -> None:
    assert defense.needs_synonyms
    with pytest.raises(InputError, match="synonyms"):
        defense.begin(setting_for(still_learner("cnn")))
