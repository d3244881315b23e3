"""From a victim and index sets of words to networks whose inputs are the vectors of these words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from lexproof.errors import NoRule
from lexproof.text import Text
from lexproof.victims.base import Victim

if TYPE_CHECKING:
    from lexproof.bounds.ball_network import BallNetwork
    from lexproof.victims.open_tokens import OpenTokens
    from lexproof.victims.scale import Scale

_WORD_MODELS = ("mlp", "cnn", "lstm", "bilstm")


class Item(NamedTuple):
    """A text and the words of it that may move."""

    text: Text
    words: tuple[int, ...]


class Group(NamedTuple):
    """Items of one structure, as rows of a network."""

    items: list[int]  # their numbers among those asked about
    network: BallNetwork


class Opened(NamedTuple):
    """All items, as groups; an item in no group has no open token that the victim reads."""

    groups: list[Group]
    tokens: list[OpenTokens]
    scale: Scale


def scale_of(victim: Victim) -> Scale:
    """The scale of a victim's word vectors; NoRule if it has none."""
    if victim.kind in _WORD_MODELS:
        from lexproof.victims.scale import Scale
        from lexproof.victims.vocabulary import PAD
        from lexproof.victims.words import WordVictim

        assert isinstance(victim, WordVictim)
        return Scale.of(victim.net.embedding.weight[PAD + 1 :])
    if victim.kind == "transformer":
        from lexproof.victims.ball_transformer import transformer_scale
        from lexproof.victims.transformer import Transformer

        assert isinstance(victim, Transformer)
        return transformer_scale(victim)
    raise NoRule(
        f"no embedding to move in: expected a victim with word vectors (mlp, cnn, lstm, bilstm, transformer), "
        f"got a {victim.kind!r} victim"
    )


def tokens_of(victim: Victim, item: Item) -> OpenTokens:
    """The tokens of an item, of a victim that has a scale."""
    if victim.kind == "transformer":
        from lexproof.victims.ball_transformer import transformer_tokens
        from lexproof.victims.transformer import Transformer

        assert isinstance(victim, Transformer)
        return transformer_tokens(victim, item.text, item.words)
    from lexproof.victims.open_tokens import word_model_tokens
    from lexproof.victims.words import WordVictim

    assert isinstance(victim, WordVictim)
    return word_model_tokens(victim, item.text, item.words)


def opened(victim: Victim, items: Sequence[Item]) -> Opened:
    """The networks of these items; NoRule for a victim without word vectors, or with operations without a rule."""
    scale = scale_of(victim)
    tokens = [tokens_of(victim, item) for item in items]
    read = [number for number, own in enumerate(tokens) if len(own.places)]
    found = _networks(victim, scale, [tokens[number] for number in read])
    return Opened([Group([read[k] for k in rows], network) for rows, network in found], tokens, scale)


def _networks(victim: Victim, scale: Scale, tokens: Sequence[OpenTokens]) -> list[tuple[list[int], BallNetwork]]:
    if victim.kind == "transformer":
        from lexproof.victims.ball_transformer import transformer_balls
        from lexproof.victims.transformer import Transformer

        assert isinstance(victim, Transformer)
        return transformer_balls(victim, scale, tokens)
    from lexproof.victims.ball_cnn import cnn_balls
    from lexproof.victims.ball_lstm import lstm_balls
    from lexproof.victims.ball_mlp import mlp_balls
    from lexproof.victims.cnn import CnnNet
    from lexproof.victims.lstm import BiLstmNet, LstmNet
    from lexproof.victims.mlp import MlpNet
    from lexproof.victims.words import WordVictim

    assert isinstance(victim, WordVictim)
    net = victim.net
    if isinstance(net, MlpNet):
        return mlp_balls(net, scale, tokens)
    if isinstance(net, CnnNet):
        return cnn_balls(net, scale, tokens)
    if isinstance(net, LstmNet | BiLstmNet):
        return lstm_balls(net, scale, tokens)
    raise NoRule(f"no bound rule for the network {type(net).__name__!r}")
