"""Exact rows of the matrix A for word models: every word of a vocabulary at every position of a text.

Guarantee: a word is known to flip a text exactly if the victim gives the text with that word at one of its positions,
as a string, another label.  Margins beyond the victim's rounding are settled by their sign, all others by the string.

Words that the model reads as the same token are evaluated once.  Words of several tokens, and texts whose words could
run together with a word put between them, are scored as strings.  Where a budget ends the work, what is known by then
stands, and every word that is not known to flip the text stays possible.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import inf, log1p
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from lexproof.answers import Cost
from lexproof.points import BoolArray, FloatArray
from lexproof.running import Limits
from lexproof.single_words.flips import NOWHERE, Positions, TextFlips
from lexproof.space import Space
from lexproof.text import Text
from lexproof.victims.word_space import WordBound
from lexproof.victims.word_sweep import sweep_of
from lexproof.victims.words import WordVictim

Index = NDArray[np.int64]
S = TypeVar("S", Index, list[tuple[int, int]])

_STRINGS = 1024  # scored at once
_WORTH = 0.9  # share of words still open below which it pays to copy their rows of the table
_NO_LIMITS = Limits()


class WordSweep:
    """A vocabulary, ready to be put into the texts of a word model."""

    def __init__(self, victim: WordVictim, words: Sequence[str]) -> None:
        self.victim, self.words = victim, tuple(words)
        pieces = [victim.vocabulary.piece(word) for word in words]
        self._is_single: BoolArray = np.array([len(piece.ids) == 1 for piece in pieces], np.bool_)
        ids = np.array([piece.ids[0] for piece in pieces if len(piece.ids) == 1], np.int64)
        tokens, self._first, self._token = np.unique(ids, return_index=True, return_inverse=True)
        self._single: Index = np.flatnonzero(self._is_single)
        with torch.inference_mode():
            self._sweep = sweep_of(victim.net, torch.from_numpy(tokens))
        # how a word behaves beside its neighbors depends on these ends alone: one word of each kind stands for all
        kinds = {piece.ends: word for word, piece in zip(reversed(words), reversed(pieces), strict=True)}
        self._kinds = tuple(kinds.values())
        self._near = _near(victim.classes, victim.rounding) + 2 * self._sweep.error

    def rows(
        self, texts: Sequence[tuple[int, Text, int]], limits: Limits = _NO_LIMITS
    ) -> Iterator[tuple[int, TextFlips]]:
        """The rows of texts given with a key and their label, in this order.

        The operations of a sweep are many and small: where the network allows it, texts are swept side by side.
        """
        workers = torch.get_num_threads() if self._sweep.in_threads else 1
        if workers == 1:
            yield from ((key, self.row(text, label, limits)) for key, text, label in texts)
            return
        pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))
        try:
            found = deque((key, pool.submit(self.row, text, label, limits)) for key, text, label in texts)
            while found:  # a row that is handed out is not kept
                key, row = found.popleft()
                yield key, row.result()
        finally:
            pool.shutdown(cancel_futures=True)
            torch.set_num_threads(workers)  # the workers have set the number for threads to come

    def row(self, text: Text, label: int, limits: Limits = _NO_LIMITS) -> TextFlips:
        """What each word does to a text that the victim gives this label."""
        spent = _Meter(limits)
        position = np.full(len(self.words), NOWHERE, np.int32)
        bound = self._bound(text)
        if bound is None:
            self._strings(text, label, np.arange(len(self.words)), position, spent)
        else:
            position[self._single] = self._tokens(text, label, bound, spent)[self._token]
            self._strings(text, label, np.flatnonzero(~self._is_single), position, spent)
        known = position != NOWHERE
        possible = np.full(len(known), len(text) > 0) if spent.is_over else known
        return TextFlips(label, position, possible, spent.cost)

    def _bound(self, text: Text) -> WordBound | None:
        """Where the words of the text stand among its tokens; None if they have to be read as strings."""
        choices = [[other for other in self._kinds if other != word] for word in text.words]
        bound = self.victim.bind(Space(text, choices, 1))
        plain = all(len(self.victim.vocabulary.piece(word).ids) == 1 for word in text.words)
        return bound if bound.is_local and plain else None

    def _tokens(self, text: Text, label: int, bound: WordBound, spent: _Meter) -> Positions:
        """For each distinct token a word of the text where it flips it."""
        ids = torch.from_numpy(bound.columns.ids.astype(np.int64))
        read = np.flatnonzero(bound.columns.start < len(ids))  # words past the length limit change nothing
        found = np.full(len(self._first), NOWHERE, np.int32)
        open_ = np.arange(len(found))
        near: list[tuple[Index, Index]] = []
        for at in _blocks(read, self._sweep.together):
            left = np.flatnonzero(found == NOWHERE)
            open_ = left if len(left) < _WORTH * len(open_) else open_
            if not len(left) or not spent.allows(len(at) * len(open_)):
                break
            margin = self._margins(ids, bound.columns.start[at], open_, label)  # (P, W)
            flips = margin < -self._near
            place = flips.argmax(axis=0)
            here = flips[place, np.arange(len(open_))] & (found[open_] == NOWHERE)
            found[open_[here]] = at[place[here]]
            row, column = np.nonzero(np.abs(margin) <= self._near)
            near.append((at[row], open_[column]))
        self._settle(text, label, near, found, spent)
        return found

    def _margins(self, ids: torch.Tensor, starts: Index, chosen: Index, label: int) -> FloatArray:
        with torch.inference_mode():
            logits = self._sweep.logits(ids, torch.from_numpy(starts), torch.from_numpy(chosen))
            own = logits[:, :, label].clone()
            logits[:, :, label] = -torch.inf
            return np.asarray((own - logits.amax(2)).numpy())

    def _settle(
        self, text: Text, label: int, near: Iterable[tuple[Index, Index]], found: Positions, spent: _Meter
    ) -> None:
        """Score as strings what lies within rounding, of tokens that no clear margin settles."""
        pairs = [
            (position, token)
            for positions, tokens in near
            for position, token in zip(positions.tolist(), tokens.tolist(), strict=True)
            if found[token] == NOWHERE
        ]
        words = self._single[self._first]
        for group in _blocks(pairs, _STRINGS):
            if not spent.allows(len(group)):
                return
            flips = self._flips(text, label, [(position, int(words[token])) for position, token in group])
            for (position, token), flip in zip(group, flips, strict=True):
                if flip and found[token] == NOWHERE:
                    found[token] = position

    def _strings(self, text: Text, label: int, words: Index, position: Positions, spent: _Meter) -> None:
        """Score these words as strings, position after position, each until it flips the text."""
        for place in range(len(text)):
            for group in _blocks(words[position[words] == NOWHERE], _STRINGS):
                if not spent.allows(len(group)):
                    return
                position[group[self._flips(text, label, [(place, word) for word in group.tolist()])]] = place

    def _flips(self, text: Text, label: int, pairs: Sequence[tuple[int, int]]) -> BoolArray:
        texts = [text.swap({position: self.words[word]}).input for position, word in pairs]
        with self._sweep.lock:
            return np.asarray(self.victim.predict(texts) != label)


class _Meter:
    """What a text has cost, and whether its budget is over."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._begun, self._queries = limits, time.perf_counter(), 0
        self.is_over = False

    def allows(self, queries: int) -> bool:
        """Whether so many more inputs may be evaluated; they count as asked."""
        most, time_limit = self._limits.max_queries, self._limits.time_limit
        self.is_over |= most is not None and self._queries + queries > most
        self.is_over |= time_limit is not None and self._queries > 0 and self.cost.seconds > time_limit
        self._queries += 0 if self.is_over else queries
        return not self.is_over

    @property
    def cost(self) -> Cost:
        """Inputs and seconds so far."""
        return Cost(queries=self._queries, seconds=time.perf_counter() - self._begun)


def _blocks(items: S, size: int) -> Iterator[S]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _near(classes: int, rounding: float) -> float:
    """How small a margin of logits may be while that of scores is within rounding.

    With the larger score p >= 1 / classes, a margin of m in logits is one of p (1 - exp(-|m|)) in scores.
    """
    return inf if classes * rounding >= 1 else -log1p(-classes * rounding)
