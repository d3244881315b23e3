"""Encoders of the BERT family as graphs of operations with bound rules, weights in float64.

The network's input is what the embedding layer makes of each token, its normalization included: that depends on the
token and its position only, so it is exact for every substitute.  The graph holds the rest, up to the logits.
Dropout is left out, as in evaluation mode.  No token is masked: the graph is made for one number of tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from torch import Tensor, nn

from lexproof.bounds.bilinear import MatrixProduct
from lexproof.bounds.curves import Tanh
from lexproof.bounds.gelu import Gelu, TanhGelu
from lexproof.bounds.graph import Graph, Op
from lexproof.bounds.heads import FromHeads, ToHeads
from lexproof.bounds.layer_norm import add_layer_norm
from lexproof.bounds.linear_ops import Add, Affine, Take
from lexproof.bounds.relu import Relu
from lexproof.bounds.softmax import Softmax
from lexproof.errors import NoRule
from lexproof.victims.transformer_guard import check_modules

Features = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Token ids, positions and segment types, broadcast to (...), to the network's input there: (..., hidden)."""

_ACTIVATIONS: Mapping[str, Callable[[], Op]] = {
    "gelu": Gelu,
    "gelu_python": Gelu,
    "gelu_new": TanhGelu,
    "gelu_pytorch_tanh": TanhGelu,
    "gelu_python_tanh": TanhGelu,
    "relu": Relu,
    "tanh": Tanh,
}


class Layer(NamedTuple):
    """The parts of one layer, in the order of use."""

    query: nn.Linear
    key: nn.Linear
    value: nn.Linear
    mix: nn.Linear
    first_norm: nn.LayerNorm
    up: nn.Linear
    down: nn.Linear
    last_norm: nn.LayerNorm


class Parts(NamedTuple):
    """What the families name differently."""

    embeddings: Any
    first_position: int
    layers: Sequence[Layer]
    heads: int
    activation: str
    pooler: nn.Linear
    pooler_activation: str
    classifier: nn.Linear


def transformer_graph(model: Any, length: int) -> tuple[Graph, Features]:
    """The graph for texts of `length` tokens, special ones included, and what gives its inputs (N, length, hidden).

    Guarantee: `graph.value(features(ids, arange(length), types))` is the model's logits in evaluation mode, computed in
    float64.  A model with anything else in it raises NoRule, which names the operation.
    """
    parts = parts_of(model)
    graph = Graph()
    value = 0
    for layer in parts.layers:
        value = _add_layer(graph, value, layer, parts)
    add_head(graph, graph.add(Take(0, length), value), parts)
    return graph, features_of(parts)


def _add_layer(graph: Graph, value: int, layer: Layer, parts: Parts) -> int:
    asked = graph.add(queries(layer, parts), value)
    scores = graph.add(MatrixProduct(transposed=True), asked, graph.add(ToHeads(affine(layer.key), parts.heads), value))
    shares = graph.add(Softmax(), scores)
    mixed = graph.add(MatrixProduct(), shares, graph.add(ToHeads(affine(layer.value), parts.heads), value))
    return add_rest(graph, mixed, value, layer, parts)


def queries(layer: Layer, parts: Parts) -> ToHeads:
    """What tokens ask for, head by head, divided by the root of a head's width."""
    query = affine(layer.query)
    scale = (layer.query.out_features // parts.heads) ** -0.5
    return ToHeads(Affine(query.weight * scale, query.bias * scale), parts.heads)


def add_rest(graph: Graph, mixed: int, value: int, layer: Layer, parts: Parts) -> int:
    """Append a layer from what its heads found for the tokens `value` on; the number of its output."""
    attended = graph.add(Add(), graph.add(FromHeads(affine(layer.mix), parts.heads), mixed), value)
    middle = add_norm(graph, attended, layer.first_norm)
    fired = graph.add(activation(parts.activation), graph.add(affine(layer.up), middle))
    return add_norm(graph, graph.add(Add(), graph.add(affine(layer.down), fired), middle), layer.last_norm)


def add_head(graph: Graph, first: int, parts: Parts) -> None:
    """Append what makes logits of the first token (N, hidden)."""
    pooled = graph.add(affine(parts.pooler), first)
    graph.add(affine(parts.classifier), graph.add(activation(parts.pooler_activation), pooled))


def add_norm(graph: Graph, at: int, norm: nn.LayerNorm) -> int:
    """Append a normalization with these weights; the number of its output."""
    return add_layer_norm(graph, at, norm.weight.double(), norm.bias.double(), norm.eps)


def affine(layer: nn.Linear) -> Affine:
    """A layer of the model as an operation."""
    return Affine(layer.weight.double(), layer.bias.double())


def activation(name: str) -> Op:
    """The activation of this name; NoRule if it has no rule."""
    if name not in _ACTIVATIONS:
        raise NoRule(f"no bound rule for operation {name!r} of this model")
    return _ACTIVATIONS[name]()


# ---------------------------------------------------------------------- families


def parts_of(model: Any) -> Parts:
    """The parts of a model of a known family."""
    kind = type(model).__name__
    if kind not in _FAMILIES:
        raise NoRule(f"no bound rule for the network {kind!r}")
    config = model.config
    if getattr(config, "is_decoder", False):
        raise NoRule("no bound rule for operation 'causal attention' of this model")
    positions = getattr(config, "position_embedding_type", "absolute")
    if positions != "absolute":
        raise NoRule(f"no bound rule for operation '{positions} position embedding' of this model")
    parts = _FAMILIES[kind](model)
    layers = [part for layer in parts.layers for part in layer]
    check_modules(model, [*layers, parts.embeddings.LayerNorm, parts.pooler, parts.classifier])
    width = parts.embeddings.word_embeddings.embedding_dim
    if any(part.out_features != width for layer in parts.layers for part in (layer.query, layer.key, layer.value)):
        raise NoRule("no bound rule for attention from which heads were removed")
    return parts


def _bert(model: Any) -> Parts:
    return Parts(
        model.bert.embeddings, 0, _bert_layers(model.bert), model.config.num_attention_heads,
        str(model.config.hidden_act), model.bert.pooler.dense, "tanh", model.classifier,
    )  # fmt: skip


def _roberta(model: Any) -> Parts:
    return Parts(
        model.roberta.embeddings, model.roberta.embeddings.padding_idx + 1, _bert_layers(model.roberta),
        model.config.num_attention_heads, str(model.config.hidden_act), model.classifier.dense, "tanh",
        model.classifier.out_proj,
    )  # fmt: skip


def _distilbert(model: Any) -> Parts:
    layers = [
        Layer(
            layer.attention.q_lin, layer.attention.k_lin, layer.attention.v_lin, layer.attention.out_lin,
            layer.sa_layer_norm, layer.ffn.lin1, layer.ffn.lin2, layer.output_layer_norm,
        )
        for layer in model.distilbert.transformer.layer
    ]  # fmt: skip
    return Parts(
        model.distilbert.embeddings, 0, layers, model.config.n_heads, str(model.config.activation),
        model.pre_classifier, "relu", model.classifier,
    )  # fmt: skip


def _bert_layers(encoder: Any) -> list[Layer]:
    return [
        Layer(
            layer.attention.self.query, layer.attention.self.key, layer.attention.self.value,
            layer.attention.output.dense, layer.attention.output.LayerNorm, layer.intermediate.dense,
            layer.output.dense, layer.output.LayerNorm,
        )
        for layer in encoder.encoder.layer
    ]  # fmt: skip


_FAMILIES: Mapping[str, Callable[[Any], Parts]] = {
    "BertForSequenceClassification": _bert,
    "CamembertForSequenceClassification": _roberta,
    "DistilBertForSequenceClassification": _distilbert,
    "RobertaForSequenceClassification": _roberta,
    "XLMRobertaForSequenceClassification": _roberta,
}


# ---------------------------------------------------------------------- embeddings


def features_of(parts: Parts) -> Features:
    """What the embedding layer makes of tokens."""

    def features(tokens: Tensor, at: Tensor, types: Tensor) -> Tensor:
        norm = parts.embeddings.LayerNorm
        total = parts.embeddings.word_embeddings.weight[tokens].double() + surroundings(parts, tokens, at, types)
        return nn.functional.layer_norm(
            total, norm.normalized_shape, norm.weight.double(), norm.bias.double(), norm.eps
        )

    return features


def surroundings(parts: Parts, tokens: Tensor, at: Tensor, types: Tensor) -> Tensor:
    """What is added to the vectors of tokens for where they stand: position and type vectors, (..., hidden)."""
    embeddings, first = parts.embeddings, parts.first_position
    if first and bool((tokens == first - 1).any()):
        # such a model counts positions of other tokens only: later ones would move
        raise NoRule("no bound rule for the padding token in a text of this model")
    total: Tensor = embeddings.position_embeddings.weight[at + first].double()
    if hasattr(embeddings, "token_type_embeddings"):
        total = total + embeddings.token_type_embeddings.weight[types].double()
    return total
