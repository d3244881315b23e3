"""Transformers as functions of the word-piece vectors of a few words, in scaled coordinates.

What moves is the row of the embedding table of each open token; its position and type vectors are added and all is
normalized as the model does it.  Special tokens never move.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from lexproof.bounds.backward import Check, Relaxation, linear_relaxation
from lexproof.bounds.ball import BallRegion
from lexproof.bounds.ball_network import BallNetwork
from lexproof.bounds.graph import Box, Graph
from lexproof.errors import NoRule
from lexproof.text import Text
from lexproof.victims.open_encoder import FixedTokens, OpenEncoder
from lexproof.victims.open_tokens import OpenTokens, first_of_run, untouched
from lexproof.victims.scale import Scale
from lexproof.victims.transformer import Transformer
from lexproof.victims.transformer_bind import surface
from lexproof.victims.transformer_encoding import Row
from lexproof.victims.transformer_graph import Parts, features_of, parts_of, surroundings
from lexproof.victims.transformer_guard import check_logits

_ROWS = 512  # tokens of the first layer that are bounded at once
_CELLS = 1 << 18  # numbers that the forms of one pass may hold at the value that is bounded


_Maker = Callable[[FixedTokens, Tensor], Graph]


def transformer_scale(victim: Transformer) -> Scale:
    """The scale of the vectors of all tokens that the tokenizer knows, but for padding."""
    tokenizer = victim.encoder.tokenizer
    known = sorted(set(tokenizer.get_vocab().values()) - {tokenizer.pad_token_id})
    return Scale.of(victim.model.get_input_embeddings().weight[known])


def transformer_tokens(victim: Transformer, text: Text, words: Sequence[int]) -> OpenTokens:
    """The tokens that share a character with one of these words."""
    space = untouched(text)
    written, spans = surface(space, space.origin, victim.encoder.mask)
    given = written if text.premise is None else (text.premise, written)
    (row,), (tokens,) = victim.encoder.encode([given]), victim.encoder.spans([given])
    runs = {
        word: [at for at, (a, b) in enumerate(tokens) if max(a, spans[word][0]) < min(b, spans[word][1])]
        for word in words
    }
    open_ = sorted({at for run in runs.values() for at in run})
    without = [word for word, run in runs.items() if not run]
    room = victim.encoder.room_after(text.premise) if without else None
    missing = [
        word
        for word in without
        if room is None or victim.encoder.tokens_before(written, spans[first_of_run(text, word)][0]) < room
    ]
    ids, types = np.array(row.ids, np.int64), np.array(row.types, np.int64)
    return OpenTokens(ids, np.array(open_, np.int64), types, tuple(missing))


def transformer_balls(
    victim: Transformer, scale: Scale, tokens: Sequence[OpenTokens]
) -> list[tuple[list[int], BallNetwork]]:
    """The networks of these rows, each with the numbers of its rows.

    Rows of one number of tokens and of open ones share a network, unless the first token, which is the one that the
    classifier reads, is open in one and fixed in the other.  NoRule names an operation of the model without a rule.
    """
    parts = parts_of(victim.model)
    padding = victim.encoder.tokenizer.pad_token_id
    groups: dict[tuple[int, int, bool], list[int]] = defaultdict(list)
    for number, own in enumerate(tokens):
        if padding is not None and (own.ids[own.places] == padding).any():
            raise NoRule("no bound rule for the padding token among the words that move")
        groups[len(own.ids), len(own.places), bool((own.places == 0).any())].append(number)
    networks = [(rows, _network(parts, scale, [tokens[row] for row in rows])) for rows in groups.values()]
    for numbers, network in networks:
        rows = [Row(tokens[number].ids.tolist(), tokens[number].types.tolist()) for number in numbers]
        check_logits(victim, rows, network.graph(torch.arange(len(rows))).value(network.center))
    return networks


def _network(parts: Parts, scale: Scale, tokens: Sequence[OpenTokens]) -> BallNetwork:
    """The network of rows of one structure."""
    ids, types, places = (
        torch.from_numpy(np.stack([getattr(own, name) for own in tokens])) for name in ("ids", "types", "places")
    )
    closed = torch.ones_like(ids, dtype=torch.bool).scatter(1, places, value=False)
    rest = closed.nonzero()[:, 1].reshape(len(ids), -1)
    with torch.no_grad():
        vectors = parts.embeddings.word_embeddings.weight[ids.gather(1, places)]
        where = surroundings(parts, ids, places, types.gather(1, places))
        embedded = features_of(parts)(ids.gather(1, rest), rest, types.gather(1, rest))
        fixed = FixedTokens.of(parts, where, embedded)
    encoder = OpenEncoder(parts, scale, first_moves=bool((places[0] == 0).any()))
    return TransformerBalls(encoder, fixed, scale, scale.scaled(vectors))


class TransformerBalls:
    """Rows of one number of tokens and of open ones; see `BallNetwork`."""

    def __init__(self, encoder: OpenEncoder, fixed: FixedTokens, scale: Scale, center: Tensor) -> None:
        self._encoder = encoder
        self._fixed = fixed
        self.center = center
        self.low = torch.zeros_like(center)
        self.high = scale.top.expand_as(center)

    def graph(self, rows: Tensor) -> Graph:
        """The operations for these rows."""
        return OpenGraph(self._encoder, self._fixed.take(rows))

    def relaxation(self, graph: Graph, region: BallRegion, check: Check | None = None) -> Relaxation:
        """Boxes by the backward bound.

        A token of the first layer depends on the open tokens alone, not on other tokens, so each is bounded as a row of
        its own: forms of it are as wide as one token, not as all of them.  From the second layer on all of them count.
        """
        assert isinstance(graph, OpenGraph)
        known = graph.first_layer(region, check) if self._encoder.depth > 1 else []
        return linear_relaxation(graph, region, check, known)


class OpenGraph(Graph):
    """The graph of rows, which remembers what is fixed in them."""

    def __init__(self, encoder: OpenEncoder, fixed: FixedTokens) -> None:
        super().__init__()
        self.nodes = encoder.graph(fixed).nodes
        self._encoder = encoder
        self._fixed = fixed

    def first_layer(self, region: BallRegion, check: Check | None) -> list[Box]:
        """Boxes of all values up to what the second layer makes of single tokens."""
        beginning = linear_relaxation(self._encoder.embedding(self._fixed).graph, region, check)
        known = list(beginning.boxes)
        for at in range(len(known) - 3, len(known)):
            known[at] = _by_units(beginning, at, check)
        makers = zip((self._encoder.open_token, self._encoder.fixed_token), self._fixed.counts, strict=True)
        blocks = [self._tokens(region, known, make, count, check) for make, count in makers if count]
        last = self._encoder.made_next
        # each block ends with its tokens and what is made of them: side by side these are what the next layer reads
        together = [_joined(boxes) for boxes in zip(*(block[-last - 1 :] for block in blocks), strict=True)]
        return [*known, *(box for block in blocks for box in block[:-last]), *together]

    def _tokens(
        self, region: BallRegion, known: Sequence[Box], make: _Maker, count: int, check: Check | None
    ) -> list[Box]:
        """Boxes of the first layer's values at so many tokens, and of what the second layer makes of each alone."""
        rows = torch.arange(len(region.center)).repeat_interleave(count)
        at = torch.arange(count).repeat(len(region.center))
        chunks = zip(torch.split(rows, _ROWS), torch.split(at, _ROWS), strict=True)
        found = [self._alone(region, known, make, *chunk, check) for chunk in chunks]
        ends = ((torch.cat([box[end] for box in boxes]) for end in (0, 1)) for boxes in zip(*found, strict=True))
        return [Box(*(_side_by_side(end, count) for end in both)) for both in ends]

    def _alone(
        self, region: BallRegion, known: Sequence[Box], make: _Maker, rows: Tensor, at: Tensor, check: Check | None
    ) -> list[Box]:
        """Boxes of one token of each of these rows, from the first value on that is not known."""
        graph = make(self._fixed.take(rows), at[:, None])
        balls = BallRegion(region.center[rows], region.radius[rows], region.norm, region.low[rows], region.high[rows])
        found = linear_relaxation(graph, balls, check, [Box(box.low[rows], box.high[rows]) for box in known])
        boxes = list(found.boxes)
        for number in range(len(boxes) - self._encoder.made_next, len(boxes)):
            boxes[number] = _by_units(found, number, check)
        return boxes[len(known) :]


def _joined(boxes: Sequence[Box]) -> Box:
    """Boxes of open tokens and of fixed ones as one."""
    return Box(torch.cat([box.low for box in boxes], -2), torch.cat([box.high for box in boxes], -2))


def _side_by_side(value: Tensor, tokens: int) -> Tensor:
    """Values of single tokens (rows * tokens, ..., 1, c) as values of all of them: (rows, ..., tokens, c)."""
    single = value.squeeze(-2)
    return single.reshape(len(single) // tokens, tokens, *single.shape[1:]).movedim(1, -2)


def _by_units(relaxation: Relaxation, at: int, check: Check | None) -> Box:
    """The box of a value, every unit by the backward bound."""
    box = relaxation.boxes[at]
    shape = box.low.shape
    size = shape[1:].numel()
    ends = []
    for part in torch.split(torch.eye(size, dtype=torch.float64), max(1, _CELLS // (2 * shape[0] * size))):
        if check is not None:
            check()
        both = torch.cat([part, -part]).expand(shape[0], -1, -1).reshape(shape[0], 2 * len(part), *shape[1:])
        ends.append(relaxation.lower(at, both).tensor_split(2, 1))
    low, high = (torch.cat(each, 1).reshape(shape) for each in zip(*ends, strict=True))
    return box.meet(Box(low, -high))
