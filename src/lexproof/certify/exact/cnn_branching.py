"""Word branching on a batch of regions: which single swaps remain to be fixed, and what stays free below each.

A region is a path of fixed swaps with margin `base`, free candidates, and a budget k, with an additive bound:

    margin(K) >= base + sum over c in K of gain(c)      for every set K of at most k free candidates, one a position

Order its free candidates by gain, most harmful first.  Every non-empty K has a first member c; the rest of K comes
later, at other positions.  So the children "fix c, keep what comes later at other positions, budget k - 1" cover every
K exactly once, and

    margin(K) >= base + gain(c) + the k - 1 least of min(0, gain) over later positions other than c's.

If that exceeds the limit, the child is proven as a whole.  In a child that is not, a later candidate d is dropped if
base + gain(c) + gain(d) + the k - 2 least of the positions other than c's and d's exceeds it: every K that has c first
and contains d is then proven.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lexproof.certify.exact.cnn_net import Index
from lexproof.points import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class Children:
    """What remains to be looked at below each region: its first candidates in the order of harm."""

    row: Index  # (M,) of the parent, in order; within a parent the most harmful first
    candidate: Index  # (M,) that is fixed
    free: BoolArray  # (M, S) what stays free
    bound: FloatArray  # (M,) the parent's bound of the child


def branch(base: FloatArray, gain: FloatArray, position: Index, budget: int, limit: float) -> Children:
    """The children of regions with these gains (B, S), infinite where a candidate is not free.

    With a child all those before it are returned, proven or not (a few are): what is left out is the end of the order.
    """
    active = int(np.isfinite(gain).sum(axis=1).max(initial=0))
    order = np.argsort(gain, axis=1, kind="stable")[:, :active]
    ranked = np.take_along_axis(gain, order, axis=1)
    harm = np.minimum(ranked, 0.0)
    # later gains are no less than the child's own, so this keeps all that the sharper test below would
    row, rank = np.nonzero(base[:, None] + ranked + (budget - 1) * harm <= limit)
    later = np.arange(active) > rank[:, None]
    # the first of its position after the child, and not of the child's own position
    leading = later & (_previous(position[order])[row] < rank[:, None])
    among = np.cumsum(leading, axis=1)
    tail = np.where(leading & (among < budget), harm[row], 0.0).sum(axis=1)
    start = base[row] + ranked[row, rank]
    some = np.flatnonzero(_up_to_last(row, start + tail <= limit))
    row, rank, start, tail, leading = row[some], rank[some], start[some], tail[some], leading[some]
    last = np.where(leading & (among[some] == budget - 1), harm[row], 0.0).sum(axis=1)  # the k - 1st least
    at = position[order[row]]
    own = _by_position(leading, at, harm[row])
    kept = later[some] & (at != position[order[row, rank]][:, None])
    kept &= (start + tail)[:, None] + ranked[row] - np.minimum(own, last[:, None]) <= limit
    free = np.zeros((len(row), gain.shape[1]), np.bool_)
    np.put_along_axis(free, order[row], kept, axis=1)
    return Children(row, order[row, rank], free, start + tail)


def _by_position(leading: BoolArray, at: Index, harm: FloatArray) -> FloatArray:
    """The harm (M, S) of the leading candidate at each candidate's position."""
    table = np.zeros((len(at), int(at.max(initial=0)) + 1))
    row, rank = np.nonzero(leading)
    table[row, at[row, rank]] = harm[row, rank]
    return np.take_along_axis(table, at, axis=1)


def _up_to_last(row: Index, is_open: BoolArray) -> BoolArray:
    """Which entries are not after the last open one of their row (rows in order)."""
    last = np.full(int(row.max(initial=-1)) + 1, -1)
    last[row[is_open]] = np.flatnonzero(is_open)  # of several assignments the last one holds
    return np.asarray(np.arange(len(row)) <= last[row])


def _previous(position: Index) -> Index:
    """The rank of the previous candidate at the same position, -1 if there is none: (B, S)."""
    together = np.argsort(position, axis=1, kind="stable")
    grouped = np.take_along_axis(position, together, axis=1)
    before = np.full(position.shape, -1)
    before[:, 1:] = np.where(grouped[:, 1:] == grouped[:, :-1], together[:, :-1], -1)
    previous = np.empty_like(before)
    np.put_along_axis(previous, together, before, axis=1)
    return previous
