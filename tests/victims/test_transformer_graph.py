"""Encoders as graphs: the model's own logits, and bounds that every text of a region respects."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from lexproof.bounds.backward import Relaxation, interval_relaxation, linear_relaxation  # noqa: E402
from lexproof.bounds.region import SwapRegion  # noqa: E402
from lexproof.bounds.slopes import optimized  # noqa: E402
from lexproof.errors import NoRule  # noqa: E402
from lexproof.victims.transformer_graph import transformer_graph  # noqa: E402

SHAPE = {"hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 12, "vocab_size": 12}


def bert(seed: int = 0, **settings: Any) -> Any:
    given = {
        "num_hidden_layers": 1,
        "initializer_range": 0.3,
        "num_labels": 3,
        "max_position_embeddings": 16,
    } | settings
    torch.manual_seed(seed)
    model = transformers.BertForSequenceClassification(transformers.BertConfig(**SHAPE, **given)).double().eval()
    for name, tensor in model.named_parameters():  # biases and scales start at 0 and 1
        if "LayerNorm" in name or name.endswith("bias"):
            torch.nn.init.normal_(tensor, 1.0 if name.endswith("weight") else 0.0, 0.3)
    return model.requires_grad_(False)


def inputs(features: Any, ids: Any, types: Any = 0) -> Any:
    return features(ids, torch.arange(ids.shape[-1]), torch.as_tensor(types))


def small_region(features: Any, rng: np.random.Generator, budget: int, share: float) -> SwapRegion:
    """Random tokens with up to two substitutes at some places; `share` of the way to each, or all would be vacuous."""
    length = int(rng.integers(2, 5))
    ids = torch.from_numpy(rng.integers(0, 12, (1, length)))
    original = inputs(features, ids)
    places = rng.permutation(length)[: rng.integers(0, length + 1)]
    changes = torch.zeros(1, len(places), 2, 8, dtype=torch.float64)
    for p, place in enumerate(places):
        for j in range(int(rng.integers(0, 3))):  # 0: padding only; the same token twice is a duplicate
            token = torch.tensor(rng.integers(0, 12))
            changes[0, p, j] = share * (features(token, torch.tensor(place), torch.tensor(0)) - original[0, place])
    return SwapRegion(original, torch.from_numpy(places)[None], changes, torch.tensor([budget]))


def texts(region: SwapRegion) -> Any:
    """Every point of a region of one row."""
    found = []
    for choices in product(range(3), repeat=region.changes.shape[1]):
        if sum(choice > 0 for choice in choices) <= int(region.budget[0]):
            point = region.original[0].clone()
            for p, choice in enumerate(choices):
                if choice:
                    point[region.places[0, p]] += region.changes[0, p, choice - 1]
            found.append(point)
    return torch.stack(found)


def check_boxes(relaxation: Relaxation, values: list[Any]) -> None:
    for node, (value, box) in enumerate(zip(values, relaxation.boxes, strict=True)):
        assert (value >= box.low - 1e-9).all() and (value <= box.high + 1e-9).all(), node


MARGINS = [[[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 1.0, -1.0], [1.0, 0.0, -1.0]]]


@pytest.mark.parametrize("share", [0.05, 0.3, 1.0])
@pytest.mark.parametrize(("layers", "activation"), [(1, "gelu"), (2, "gelu_new"), (1, "relu")])
def test_every_text_respects_every_bound(layers: int, activation: str, share: float) -> None:
    rng = np.random.default_rng(layers)
    form = torch.tensor(MARGINS, dtype=torch.float64)
    gained = 0
    for seed in range(3 - layers):
        model = bert(seed, num_hidden_layers=layers, hidden_act=activation)
        for budget in (0, 1, 2):
            region = small_region(transformer_graph(model, 4)[1], rng, budget, share)
            graph, _ = transformer_graph(model, region.original.shape[1])
            values = graph.values(texts(region))
            linear, interval = linear_relaxation(graph, region), interval_relaxation(graph, region)
            check_boxes(linear, values)
            check_boxes(interval, values)
            least = (values[-1] @ form[0].T).amin(0)
            bound = linear.lower(graph.last, form)[0]
            assert (bound <= least + 1e-9).all()
            assert (optimized(linear, graph.last, form, steps=3)[0] <= least + 1e-9).all()
            if budget == 0:
                torch.testing.assert_close(bound, least)  # a single text: no gap anywhere
            gained += int((bound > interval.lower(graph.last, form)[0] + 1e-6).sum())
    assert gained > 0


def test_small_moves_are_bounded_closely() -> None:
    """The gap is of second order: a hundredth of the move has a gap far below a hundredth."""
    model, rng = bert(3), np.random.default_rng(5)
    form = torch.tensor(MARGINS, dtype=torch.float64)
    graph, features = transformer_graph(model, 4)
    ids = torch.tensor([[1, 2, 3, 4]])
    original = inputs(features, ids)
    others = torch.from_numpy(rng.integers(0, 12, (1, 4, 2)))
    moves = features(others, torch.arange(4)[:, None], torch.tensor(0)) - original[:, :, None]
    gaps, spreads = [], []
    for share in (1e-2, 1e-3):
        region = SwapRegion(original, torch.arange(4)[None], share * moves, torch.tensor([2]))
        least = (graph.value(texts(region)) @ form[0].T).amin(0)
        gaps.append((least - linear_relaxation(graph, region).lower(graph.last, form)[0]).max())
        spreads.append(((graph.value(original) @ form[0].T)[0] - least).max())
    assert gaps[0] < 0.2 * spreads[0]
    assert gaps[1] < 0.05 * gaps[0]


def test_logits_of_bert_with_types_and_every_activation() -> None:
    ids, types = torch.randint(0, 12, (3, 7)), torch.tensor([0, 0, 0, 1, 1, 1, 1])
    for activation in ("gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_python", "gelu_python_tanh", "relu", "tanh"):
        model = bert(1, num_hidden_layers=2, hidden_act=activation)
        graph, features = transformer_graph(model, 7)
        logits = model(input_ids=ids, token_type_ids=types.expand(3, -1)).logits
        torch.testing.assert_close(graph.value(inputs(features, ids, types)), logits, rtol=0, atol=1e-8)


def test_logits_of_the_other_families() -> None:
    torch.manual_seed(2)
    ids = torch.randint(3, 12, (3, 7))
    distil = transformers.DistilBertConfig(
        vocab_size=12, dim=8, n_layers=2, n_heads=2, hidden_dim=12, max_position_embeddings=16, num_labels=3
    )
    roberta = transformers.RobertaConfig(**SHAPE, num_hidden_layers=2, num_labels=3, max_position_embeddings=16)
    for model in (
        transformers.DistilBertForSequenceClassification(distil),
        transformers.RobertaForSequenceClassification(roberta),
    ):
        model = model.double().eval()
        for tensor in model.parameters():
            torch.nn.init.normal_(tensor, 0.1, 0.3)
        with torch.no_grad():
            graph, features = transformer_graph(model, 7)
            found = graph.value(inputs(features, ids))
            torch.testing.assert_close(found, model(input_ids=ids).logits, rtol=0, atol=1e-8)
    with pytest.raises(NoRule, match="no bound rule for the padding token in a text of this model"):
        inputs(features, torch.tensor([[0, 1, 5]]))


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (lambda: bert(hidden_act="silu"), "no bound rule for operation 'silu' of this model"),
        (lambda: bert(is_decoder=True), "no bound rule for operation 'causal attention' of this model"),
        (lambda: torch.nn.Linear(2, 2), "no bound rule for the network 'Linear'"),
    ],
)
def test_what_has_no_rule_is_named(model: Any, named: str) -> None:
    with pytest.raises(NoRule, match=named):
        transformer_graph(model(), 3)


def test_relative_positions_have_no_rule() -> None:
    model = bert()
    model.config.position_embedding_type = "relative_key"
    with pytest.raises(NoRule, match="no bound rule for operation 'relative_key position embedding' of this model"):
        transformer_graph(model, 3)


def test_bounds_are_differentiable_in_the_weights() -> None:
    model = bert(4, num_hidden_layers=1).requires_grad_(True)
    graph, features = transformer_graph(model, 4)
    region = small_region(features, np.random.default_rng(11), 1, 0.2)
    assert region.changes.abs().max() > 0
    graph, _ = transformer_graph(model, region.original.shape[1])
    linear_relaxation(graph, region).lower(graph.last, torch.tensor(MARGINS, dtype=torch.float64)).sum().backward()
    used = {name: tensor.grad for name, tensor in model.named_parameters() if tensor.grad is not None}
    assert all(torch.isfinite(grad).all() for grad in used.values())
    for part in ("word_embeddings", "query", "key", "value", "LayerNorm", "intermediate", "pooler", "classifier"):
        assert any(part in name and grad.abs().max() > 0 for name, grad in used.items()), part
