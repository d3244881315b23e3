"""What a masked language model learns from: rows of word pieces, in batches, with some words hidden.

Only words of one piece are hidden.  Of those, 80 % become the mask, 10 % another word, and 10 % stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lexproof.errors import InputError
from lexproof.victims.word_rows import Index

IGNORED = -100
"""Stands where nothing was hidden."""

_BUCKET = 4096  # rows that are sorted by length together: little padding, and still a random order


def whole_words(tokenizer: Any) -> Index:
    """The numbers of the word pieces that are whole alphabetic words."""
    special = set(tokenizer.all_special_ids)
    vocabulary = tokenizer.get_vocab().items()
    found = [number for piece, number in vocabulary if piece.isalpha() and number not in special]
    return np.array(sorted(found), np.int64)


def cut(texts: Sequence[str], tokenizer: Any, length: int) -> list[Index]:
    """The texts as word pieces, cut into rows of at most `length`, the two special ones at the ends included."""
    first, last, room = tokenizer.cls_token_id, tokenizer.sep_token_id, length - 2
    rows = []
    for start in range(0, len(texts), 1000):
        read = tokenizer(list(texts[start : start + 1000]), add_special_tokens=False, verbose=False)
        for ids in read["input_ids"]:
            parts = (ids[at : at + room] for at in range(0, len(ids), room))
            rows += [np.array([first, *part, last], np.int64) for part in parts]
    return rows


class Rows:
    """Rows of word pieces to learn from; rows without a word that can be hidden are left out."""

    def __init__(self, rows: Sequence[Index], tokenizer: Any, vocabulary: int) -> None:
        self._padding, self._mask = tokenizer.pad_token_id, tokenizer.mask_token_id
        self._wholes = whole_words(tokenizer)
        self.is_whole = np.zeros(vocabulary, np.bool_)
        self.is_whole[self._wholes] = True
        self.rows = [row for row in rows if self.is_whole[row].any()]
        if not self.rows:
            raise InputError("expected texts with words that the tokenizer knows as a whole, got none")

    def batches(self, tokens: int, rng: np.random.Generator) -> Iterator[Index]:
        """Numbers of rows for ever, each once before any twice, in random order, rows of similar length together.

        A batch with its padding has at most `tokens` word pieces, or a single row.
        """
        lengths = np.array([len(row) for row in self.rows])
        while True:
            order = rng.permutation(len(lengths))
            for begin in range(0, len(order), _BUCKET):
                bucket = order[begin : begin + _BUCKET]
                bucket = bucket[np.argsort(lengths[bucket], kind="stable")]
                batches = _filled(bucket, lengths[bucket], tokens)
                yield from (batches[b] for b in rng.permutation(len(batches)).tolist())

    def hide(self, batch: Index, share: float, rng: np.random.Generator) -> tuple[Index, Index, Index]:
        """A batch with a share of its words hidden, at least one: pieces, 1 where there are some, what was hidden."""
        rows = [self.rows[row] for row in batch.tolist()]
        ids = np.full((len(rows), max(map(len, rows))), self._padding, np.int64)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = row
        is_piece = np.arange(ids.shape[1]) < np.array([len(row) for row in rows])[:, None]
        can = self.is_whole[ids] & is_piece
        chosen = can & (rng.random(ids.shape) < share)
        if not chosen.any():
            chosen.flat[int(rng.choice(np.flatnonzero(can)))] = True
        wanted = np.where(chosen, ids, IGNORED)
        draw = rng.random(ids.shape)
        ids[chosen & (draw < 0.8)] = self._mask
        other = chosen & (draw >= 0.9)
        ids[other] = rng.choice(self._wholes, int(other.sum()))
        return ids, is_piece.astype(np.int64), wanted


def _filled(bucket: Index, lengths: Index, tokens: int) -> list[Index]:
    """A bucket sorted by length, cut into batches that are as full as they may be."""
    batches, start = [], 0
    for stop in range(1, len(bucket) + 1):
        if stop == len(bucket) or (stop + 1 - start) * lengths[stop] > tokens:
            batches.append(bucket[start:stop])
            start = stop
    return batches
