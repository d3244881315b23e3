"""Beam search for an adversarial set of candidates: quick, exact in what it finds, no proof of what it does not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lexproof.certify.exact.cnn_net import Index
from lexproof.certify.exact.cnn_rival import Rival
from lexproof.certify.exact.cnn_search import Effort
from lexproof.points import FloatArray


def beam(
    rivals: Sequence[Rival], theta: float, max_swaps: int, effort: Effort, width: int = 16
) -> tuple[int, ...] | None:
    """The smallest adversarial set that a beam of this width meets over all rivals, of at most `max_swaps`."""
    best: tuple[int, ...] | None = None
    for rival in rivals:
        found = _descend(rival, theta, max_swaps if best is None else len(best) - 1, effort, width)
        best = best if found is None else found
    return best


def _descend(rival: Rival, theta: float, depth: int, effort: Effort, width: int) -> tuple[int, ...] | None:
    position = rival.position
    paths: Index = np.zeros((1, 0), np.int64)
    for _ in range(depth):
        effort.check()
        used = (position[paths][:, :, None] == position).any(axis=1)
        row, candidate = np.nonzero(~used)
        if not len(row):
            return None
        values = rival.values(paths)
        margins = rival.margins(values)[row] + rival.singles(values, row, candidate)
        worst = int(margins.argmin())
        if margins[worst] <= theta:
            return (*paths[row[worst]].tolist(), int(candidate[worst]))
        paths = _best(np.column_stack([paths[row], candidate]), margins, width)
    return None


def _best(paths: Index, margins: FloatArray, width: int) -> Index:
    """The `width` sets of least margin, each once."""
    # a set of d swaps is met at most d times, from its subsets in the beam, so these are enough to choose from
    most = min(len(margins), width * paths.shape[1])
    order = np.argpartition(margins, most - 1)[:most]
    sets = np.sort(paths[order[np.argsort(margins[order], kind="stable")]], axis=1)
    first = np.sort(np.unique(sets, axis=0, return_index=True)[1])[:width]
    return np.asarray(sets[first])
