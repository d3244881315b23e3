"""The swaps of several texts side by side, as the rectangular arrays that a region holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from lexproof.bounds.region import SwapRegion
from lexproof.victims.word_candidates import TokenCandidates


class Slots(NamedTuple):
    """The candidates of texts side by side: (N, P) places, (N, P, J) tokens and (N, P, J, 2) swaps, padded with 0."""

    places: np.ndarray[tuple[int, int], np.dtype[np.int64]]
    tokens: np.ndarray[tuple[int, int, int], np.dtype[np.int64]]
    swaps: np.ndarray[tuple[int, int, int, int], np.dtype[np.int32]]


def slots_of(texts: Sequence[TokenCandidates]) -> Slots:
    """The swaps of these texts, by the token they change."""
    found = [np.unique(text.at, return_inverse=True) for text in texts]
    width = max([len(places) for places, _ in found], default=0)
    ranks = [_ranks(rows) for _, rows in found]
    depth = max([int(rank.max(initial=-1)) + 1 for rank in ranks], default=0)
    count = len(texts)
    slots = Slots(
        np.zeros((count, width), np.int64),
        np.zeros((count, width, depth), np.int64),
        np.zeros((count, width, depth, 2), np.int32),
    )
    for n, (text, (places, rows), rank) in enumerate(zip(texts, found, ranks, strict=True)):
        slots.places[n, : len(places)] = places
        slots.tokens[n, rows, rank] = text.token
        slots.swaps[n, rows, rank, 0], slots.swaps[n, rows, rank, 1] = text.word, text.choice
    return slots


def _ranks(rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The number of each among those with the same row, for rows in ascending order."""
    starts = np.searchsorted(rows, rows)
    return np.arange(len(rows)) - starts


def region_of(original: Tensor, new: Tensor, slots: Slots, budget: int) -> SwapRegion:
    """The region of texts with features `original` (N, L, d) whose swaps have the features `new` (N, P, J, d)."""
    places = torch.from_numpy(slots.places)
    old = original.gather(1, places[:, :, None].expand(-1, -1, original.shape[2]))
    is_swap = torch.from_numpy(slots.swaps[..., 1:] > 0)
    changes = torch.where(is_swap, new - old[:, :, None], 0.0)
    return SwapRegion(original, places, changes, torch.full((len(original),), budget))
