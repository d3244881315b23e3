"""Beam search over exact margins: a first witness, usually a smallest one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lexproof.certify.exact.additive import AdditiveNet, Floats, Ints
from lexproof.certify.exact.small import first_adversarial

_WIDTH = 16
_CELLS = 1 << 21  # hidden values computed at once


def beam(
    net: AdditiveNet,
    theta: float,
    most: int,
    is_time_up: Callable[[], bool],
    start: Ints | None = None,
    width: int = _WIDTH,
) -> tuple[int, ...] | None:
    """Swaps of an adversarial point with as few swaps as the beam finds, at most `most`; None if it finds none.

    The beam holds the `width` points of least margin, at first those of `start` (points, swaps), by default the text
    itself; the first level at which one of their neighbors is adversarial ends the search.
    """
    chosen: Ints = np.zeros((1, 0), np.int64) if start is None else start
    # points are told apart by sums of random numbers: the order of swaps does not matter
    tags = np.random.default_rng(0).integers(1 << 48, size=len(net.position))
    for _ in range(chosen.shape[1], most):
        if is_time_up():
            return None
        margins = _neighbors(net, chosen)
        order = least(margins, 4 * width)
        order = order[np.isfinite(margins.flat[order])]
        if not len(order):
            return None
        rows, added = np.divmod(order, len(net.position))
        points = np.concatenate((chosen[rows], added[:, None]), axis=1)
        if (witness := first_adversarial(net, theta, points, margins.flat[order])) is not None:
            return witness
        _, first = np.unique(tags[points].sum(axis=1), return_index=True)
        chosen = points[np.sort(first)[:width]]
    return None


def least(values: Floats, count: int = _WIDTH) -> Ints:
    """Flat numbers of the least values, in order."""
    part = np.argpartition(values, count, axis=None)[:count] if values.size > count else np.arange(values.size)
    return part[np.argsort(values.flat[part], kind="stable")]


def _neighbors(net: AdditiveNet, chosen: Ints) -> Floats:
    """Least margin of every point with one more candidate, infinite where the position is taken: (B, S)."""
    hidden = net.z0 + net.change[chosen].sum(axis=1)
    margins = np.empty((len(chosen), len(net.position)))
    rows = max(1, _CELLS // max(1, net.change.size))
    for begin in range(0, len(chosen), rows):
        after = hidden[begin : begin + rows, None] + net.change
        np.maximum(after, 0.0, out=after)
        margins[begin : begin + rows] = (after @ net.weight.T + net.bias).min(axis=2)
    taken = net.position[chosen]  # (B, level)
    if taken.size:
        margins[(taken[:, :, None] == net.position).any(axis=1)] = np.inf
    return margins
