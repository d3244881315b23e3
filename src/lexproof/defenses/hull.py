"""Convex hulls of word vectors: every token may move inside the hull that it spans with its substitutes.

Guarantee: a mixed vector is a convex combination of the vectors of the token itself and of its own substitutes, and of
nothing else; with all weight on the token itself the network reads the text as it is.

Symbols: B texts of at most L tokens, P of all B L tokens have a substitute ("open" tokens), each has up to K corners:
the token itself, then its substitutes.  Weights (P, K) are the softmax of logits (P, K) over the real corners.

A token that training hides as `<unk>` stays hidden: it has no substitutes in that batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lexproof.errors import InputError
from lexproof.space import Candidates
from lexproof.text import Text
from lexproof.training.defense import Setting
from lexproof.training.learner import Batch, Learner, Options, stacked

_CHUNK = 256  # texts that are looked up together


@dataclass(frozen=True, slots=True)
class Hull:
    """The open tokens of a batch and their corners."""

    at: Tensor
    """(P,) which tokens they are, out of B L."""
    ids: Tensor
    """(P, K) the corners as tokens, the token itself first."""
    is_real: Tensor
    """(P, K) which corners there are; the others fill up the row."""
    order: Tensor
    """(P, K) 0 for the token itself and for filling, 1 for a synonym, 2 for a synonym of a synonym."""

    def weights(self, logits: Tensor) -> Tensor:
        """Softmax over the real corners; the others have weight 0, and no gradient."""
        return logits.masked_fill(~self.is_real, -torch.inf).softmax(dim=-1)

    def mixed(self, base: Tensor, corners: Tensor, weights: Tensor) -> Tensor:
        """The vectors (B, L, d) of the tokens with those of the open ones replaced by weighted means of their corners.

        `corners` are vectors (P, K, d).
        """
        means = (weights[:, None] @ corners)[:, 0]  # (P, d)
        return base.flatten(0, 1).index_copy(0, self.at, means).view_as(base)


def vectors_of(learner: Learner, batch: Batch, hull: Hull) -> tuple[Tensor, Tensor]:
    """The vectors of the tokens (B, L, d) and of the corners (P, K, d), with gradients to the table."""
    return learner.vectors(batch.ids), learner.vectors(hull.ids)


@dataclass(frozen=True, slots=True)
class _Corners:
    """The substitutes of one text: token `at`, which is `origin`, may become `token`; places in ascending order."""

    at: NDArray[np.int32]
    token: NDArray[np.int32]
    order: NDArray[np.int32]
    origin: NDArray[np.int32]

    def where(self, kept: NDArray[np.bool_] | NDArray[np.int64]) -> _Corners:
        return _Corners(self.at[kept], self.token[kept], self.order[kept], self.origin[kept])


class Hulls:
    """The hulls of all training texts, looked up once: those of first order, and of second order if asked for.

    `most`: how many substitutes of a token are kept, the synonyms before their synonyms.
    """

    def __init__(self, setting: Setting, *, with_second: bool = False, most: int | None = None) -> None:
        first = setting.synonyms
        if first is None:
            raise InputError("expected synonyms to span convex hulls with, got none; give `synonyms`")
        sources = [first, second_order(first)] if with_second else [first]
        self._texts: list[_Corners] = []
        for begin in range(0, len(setting.inputs), _CHUNK):
            self._texts += _look_up(setting, sources, slice(begin, begin + _CHUNK), most)

    def of(self, batch: Batch) -> Hull:
        """The hull of a batch; tokens that are hidden in it are closed."""
        shown = []
        for ids, number in zip(batch.ids.numpy(), batch.numbers.tolist(), strict=True):
            own = self._texts[number]
            shown.append(own.where(ids[own.at] == own.origin))
        ids, is_real = stacked(batch, [_options(own, own.token) for own in shown])
        blank = replace(batch, ids=torch.zeros_like(batch.ids))
        order, _ = stacked(blank, [_options(own, own.order) for own in shown])
        is_open = is_real[:, :, 1:].any(dim=-1)  # (B, L)
        return Hull(is_open.flatten().nonzero()[:, 0], ids[is_open], is_real[is_open], order[is_open])


def second_order(candidates: Candidates) -> Candidates:
    """The substitutes of the substitutes of each word, each of them looked up as a text of its own.

    Without the word itself in any spelling of case, and without its own substitutes.
    """

    @cache
    def alone(word: str) -> tuple[str, ...]:
        return tuple(candidates(Text.from_words([word]))[0])

    @cache
    def second(word: str, options: tuple[str, ...]) -> list[str]:
        near = {word.lower(), *(option.lower() for option in options)}
        further = dict.fromkeys(other for option in options for other in alone(option))
        return [other for other in further if other.lower() not in near]

    def found(text: Text) -> list[list[str]]:
        return [second(word, tuple(options)) for word, options in zip(text.words, candidates(text), strict=True)]

    return found


def _look_up(setting: Setting, sources: Sequence[Candidates], part: slice, most: int | None) -> list[_Corners]:
    """The corners of some texts."""
    learner, inputs = setting.learner, setting.inputs[part]
    numbers, gold = np.arange(len(inputs)), np.asarray(setting.gold[part], np.int64)
    batch = learner.batch(learner.encode(inputs), inputs, gold, numbers, None)
    rows = batch.ids.numpy()[np.argsort(batch.numbers)]
    found = [learner.options(inputs, source) for source in sources]
    return [_merged(row, own, most) for row, own in zip(rows, zip(*found, strict=True), strict=True)]


def _merged(ids: NDArray[np.int64], found: Sequence[Options], most: int | None) -> _Corners:
    """Distinct corners of each token, those of lower order first."""
    at = np.concatenate([own.at for own in found]).astype(np.int32)
    token = np.concatenate([own.token for own in found]).astype(np.int32)
    order = np.repeat(np.arange(1, len(found) + 1, dtype=np.int32), [len(own.at) for own in found])
    read = at < len(ids)
    at, token, order = at[read], token[read], order[read]
    corners = _Corners(at, token, order, ids[at].astype(np.int32))
    _, firsts = np.unique(at.astype(np.int64) << 32 | token, return_index=True)
    firsts = np.sort(firsts)  # as they were found
    corners = corners.where(firsts[np.argsort(at[firsts], kind="stable")])
    corners = corners.where(corners.token != corners.origin)
    ranks = np.arange(len(corners.at)) - np.searchsorted(corners.at, corners.at)
    return corners if most is None else corners.where(ranks < most)


def _options(corners: _Corners, values: NDArray[np.int32]) -> Options:
    return Options(corners.at.astype(np.int64), values.astype(np.int64))
