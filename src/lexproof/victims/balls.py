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


def has_embedding(victim: Victim) -> bool:
    """Whether a victim has word vectors that may move."""
    return victim.kind in _WORD_MODELS or victim.kind == "transformer"


def opened(victim: Victim, items: Sequence[Item]) -> Opened:
    """The networks of these items; NoRule for a victim without word vectors, or with operations without a rule."""
    if victim.kind in _WORD_MODELS:
        return _opened_words(victim, items)
    if victim.kind == "transformer":
        return _opened_transformer(victim, items)
    raise NoRule(
        f"no embedding to move in: expected a victim with word vectors (mlp, cnn, lstm, bilstm, transformer), "
        f"got a {victim.kind!r} victim"
    )


def _opened_words(victim: Victim, items: Sequence[Item]) -> Opened:
    from lexproof.victims.ball_cnn import cnn_balls
    from lexproof.victims.ball_lstm import lstm_balls
    from lexproof.victims.ball_mlp import mlp_balls
    from lexproof.victims.cnn import CnnNet
    from lexproof.victims.lstm import BiLstmNet, LstmNet
    from lexproof.victims.mlp import MlpNet
    from lexproof.victims.open_tokens import word_model_tokens
    from lexproof.victims.scale import Scale
    from lexproof.victims.vocabulary import PAD
    from lexproof.victims.words import WordVictim

    assert isinstance(victim, WordVictim)
    scale = Scale.of(victim.net.embedding.weight[PAD + 1 :])
    tokens = [word_model_tokens(victim, item.text, item.words) for item in items]
    read = [number for number, own in enumerate(tokens) if len(own.places)]
    own = [tokens[number] for number in read]
    net = victim.net
    if isinstance(net, MlpNet):
        found = mlp_balls(net, scale, own)
    elif isinstance(net, CnnNet):
        found = cnn_balls(net, scale, own)
    elif isinstance(net, LstmNet | BiLstmNet):
        found = lstm_balls(net, scale, own)
    else:
        raise NoRule(f"no bound rule for the network {type(net).__name__!r}")
    return Opened([Group([read[k] for k in rows], network) for rows, network in found], tokens, scale)


def _opened_transformer(victim: Victim, items: Sequence[Item]) -> Opened:
    from lexproof.victims.ball_transformer import transformer_balls, transformer_scale, transformer_tokens
    from lexproof.victims.transformer import Transformer

    assert isinstance(victim, Transformer)
    tokens = [transformer_tokens(victim, item.text, item.words) for item in items]
    read = [number for number, own in enumerate(tokens) if len(own.places)]
    scale = transformer_scale(victim)
    found = transformer_balls(victim, scale, [tokens[number] for number in read])
    return Opened([Group([read[k] for k in rows], network) for rows, network in found], tokens, scale)
