"""Encoders as functions of the vectors of a few open tokens; all other tokens of a text are constant.

Attention does not know the order of tokens (positions are part of the vectors), so in each row the open tokens are put
first: rows whose open tokens stand at different places share one graph.  In the last layer only the first token of the
text, which the classifier reads, is computed.

In the first layer what fixed tokens ask for and offer is constant.  So the share of the attention that a fixed token t
gives to the other fixed ones is divided among them always in the same way: they are one token, whose score is the
logarithm of the sum of their exponentials and whose value m_t is the mean that t sees of them.  Exactly,
    sum_j p_j v_j = sum over open k of p_k v_k + p_rest m_t,
    (p_k …, p_rest) = softmax(q_t k_k …, log sum over fixed j of exp q_t k_j):
a softmax of K + 1 numbers instead of all.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

import torch
from torch import Tensor

from lexproof.bounds.bilinear import MatrixProduct
from lexproof.bounds.graph import Graph
from lexproof.bounds.heads import ToHeads
from lexproof.bounds.layer_norm import Scale as Scaling
from lexproof.bounds.linear_ops import Add, Constant, Join, Slice, Take
from lexproof.bounds.softmax import Softmax
from lexproof.bounds.token_ops import Chosen, JoinTokens, Stretched, TimesConstant
from lexproof.victims.scale import Scale
from lexproof.victims.transformer_graph import Layer, Parts, activation, add_head, add_norm, add_rest, affine, queries


@dataclass(frozen=True, slots=True, eq=False)
class FixedTokens:
    """What is constant in each of N rows with K open tokens and F fixed ones."""

    where: Tensor  # (N, K, hidden), what open tokens are given for where they stand
    key: Tensor  # (N, heads, F, width), what the first layer makes of the fixed ones
    value: Tensor
    embedded: Tensor  # (N, F, hidden), what the embedding layer makes of them
    query: Tensor  # (N, heads, F, width)
    score: Tensor  # (N, heads, F, 1), of all fixed tokens as one, for each of them
    mean: Tensor  # (N, heads, F, width), what they offer as one

    @classmethod
    def of(cls, parts: Parts, where: Tensor, embedded: Tensor) -> FixedTokens:
        """With what the first layer makes of the fixed tokens."""
        first = parts.layers[0]
        key, value = (ToHeads(affine(layer), parts.heads).value(embedded) for layer in (first.key, first.value))
        query = queries(first, parts).value(embedded)
        scores = query @ key.mT
        score = torch.logsumexp(scores, -1, keepdim=True)
        return cls(where, key, value, embedded, query, score, scores.softmax(-1) @ value)

    @property
    def counts(self) -> tuple[int, int]:
        """The numbers of open and of fixed tokens."""
        return self.where.shape[1], self.embedded.shape[1]

    def take(self, rows: Tensor) -> FixedTokens:
        """These rows."""
        return FixedTokens(*(getattr(self, field.name)[rows] for field in fields(self)))

    def asking(self, at: Tensor) -> FixedTokens:
        """Only the fixed tokens `at` (N, T) ask; all of them are there to be attended to."""
        asked = (Chosen(at, self.counts[1]).value(of) for of in (self.embedded, self.query, self.score, self.mean))
        return FixedTokens(self.where, self.key, self.value, *asked)


class Beginning(NamedTuple):
    """A graph so far, and the numbers of the open tokens' vectors, keys, values and queries; they are its last ones."""

    graph: Graph
    tokens: int
    key: int
    value: int
    query: int


class OpenEncoder:
    """Makes the graphs; `first_moves` says whether the first token of the text is open.

    NoRule if an activation of the model has no rule.
    """

    def __init__(self, parts: Parts, scale: Scale, *, first_moves: bool) -> None:
        for name in (parts.activation, parts.pooler_activation):
            activation(name)
        self._parts = parts
        self._scale = scale
        self._first_moves = first_moves

    @property
    def depth(self) -> int:
        """The number of layers."""
        return len(self._parts.layers)

    def graph(self, fixed: FixedTokens) -> Graph:
        """From scaled vectors (N, K, d) to logits (N, classes)."""
        begun = self.embedding(fixed)
        graph, (open_, rest) = begun.graph, fixed.counts
        first = torch.zeros(len(fixed.where), 1, dtype=torch.int64)
        if self.depth > 1:
            everyone = torch.arange(open_).expand(len(first), -1)
            parts = [self._open_tokens(begun, fixed, everyone), *([self._fixed_tokens(begun, fixed)] if rest else [])]
            value = graph.add(JoinTokens((open_, rest) if rest else (open_,)), *parts)
        elif self._first_moves:
            value = self._open_tokens(begun, fixed, first)
        else:
            value = self._fixed_tokens(begun, fixed.asking(first))
        for number, layer in enumerate(self._parts.layers[1:], 2):
            reader = Chosen(first + (0 if self._first_moves else open_), open_ + rest) if number == self.depth else None
            value = self._layer(graph, value, layer, reader)
        add_head(graph, graph.add(Take(0, 1), value), self._parts)
        return graph

    def embedding(self, fixed: FixedTokens) -> Beginning:
        """The beginning of every graph: all that concerns open tokens alone."""
        graph = Graph()
        words = graph.add(Scaling(self._scale.width, self._scale.low), 0)
        placed = graph.add(Add(), words, graph.add(Constant(fixed.where)))
        value = add_norm(graph, placed, self._parts.embeddings.LayerNorm)
        offered = self._offered(graph, value, self._parts.layers[0])
        return Beginning(graph, value, *offered, graph.add(queries(self._parts.layers[0], self._parts), value))

    def open_token(self, fixed: FixedTokens, at: Tensor) -> Graph:
        """The first layer for one open token (N, 1) in each row, and what the second layer makes of it."""
        begun = self.embedding(fixed)
        return self._next(begun.graph, self._open_tokens(begun, fixed, at))

    def fixed_token(self, fixed: FixedTokens, at: Tensor) -> Graph:
        """The same for one fixed token."""
        begun = self.embedding(fixed)
        return self._next(begun.graph, self._fixed_tokens(begun, fixed.asking(at)))

    @property
    def made_next(self) -> int:
        """How many values the second layer makes of each token alone: keys, values and, if all tokens ask, queries."""
        return 3 if self.depth > 2 else 2

    def _next(self, graph: Graph, value: int) -> Graph:
        self._offered(graph, value, self._parts.layers[1])
        if self.made_next > 2:
            graph.add(queries(self._parts.layers[1], self._parts), value)
        return graph

    def _offered(self, graph: Graph, value: int, layer: Layer) -> tuple[int, int]:
        """Keys and values of tokens."""
        key, content = (ToHeads(affine(each), self._parts.heads) for each in (layer.key, layer.value))
        return graph.add(key, value), graph.add(content, value)

    def _open_tokens(self, begun: Beginning, fixed: FixedTokens, at: Tensor) -> int:
        """The first layer for open tokens, which attend to open and fixed ones side by side."""
        graph, open_, rest = begun.graph, fixed.counts[0], fixed.key.shape[-2]
        asking = graph.add(Chosen(at, open_), begun.query)
        near = graph.add(MatrixProduct(transposed=True), asking, begun.key)
        far = graph.add(TimesConstant(fixed.key.mT), asking)
        shares = graph.add(Softmax(), graph.add(Join((open_, rest)), near, far))
        moved = graph.add(MatrixProduct(), graph.add(Slice(0, open_, open_ + rest), shares), begun.value)
        still = graph.add(TimesConstant(fixed.value), graph.add(Slice(open_, open_ + rest, open_ + rest), shares))
        mixed = graph.add(Add(), moved, still)
        return add_rest(graph, mixed, graph.add(Chosen(at, open_), begun.tokens), self._parts.layers[0], self._parts)

    def _fixed_tokens(self, begun: Beginning, fixed: FixedTokens) -> int:
        """The first layer for fixed tokens, to which the fixed ones are one."""
        graph, open_ = begun.graph, fixed.counts[0]
        near = graph.add(TimesConstant(fixed.query.mT, turned=True), begun.key)
        shares = graph.add(Softmax(), graph.add(Join((open_, 1)), near, graph.add(Constant(fixed.score))))
        moved = graph.add(MatrixProduct(), graph.add(Slice(0, open_, open_ + 1), shares), begun.value)
        still = graph.add(Stretched(fixed.mean), graph.add(Slice(open_, open_ + 1, open_ + 1), shares))
        mixed = graph.add(Add(), moved, still)
        return add_rest(graph, mixed, graph.add(Constant(fixed.embedded)), self._parts.layers[0], self._parts)

    def _layer(self, graph: Graph, value: int, layer: Layer, reader: Chosen | None) -> int:
        """A later layer, for all tokens or for the one that is read."""
        key, content = self._offered(graph, value, layer)
        asked = value if reader is None else graph.add(reader, value)
        query = graph.add(queries(layer, self._parts), asked)
        shares = graph.add(Softmax(), graph.add(MatrixProduct(transposed=True), query, key))
        mixed = graph.add(MatrixProduct(), shares, content)
        return add_rest(graph, mixed, asked, layer, self._parts)
