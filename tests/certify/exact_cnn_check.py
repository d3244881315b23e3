"""Checks a recorded proof of `cnn_search` from the net alone: no search, no clock, nothing of the solver's state.

It relies on the additive bound (`cnn_cells`, `cnn_rival`) and on the definition of the net, and walks the tree by the
four rules stated in `cnn_search`, one region at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lexproof.certify.exact.cnn_net import Index, WindowedNet
from lexproof.certify.exact.cnn_rival import Rival, Values, rivals
from lexproof.certify.exact.cnn_search import GUARD
from lexproof.errors import EvidenceError
from lexproof.points import FloatArray


def check_proof(net: WindowedNet, proof: Any, theta: float) -> int:
    """The radius that a proof proves: no set of at most so many candidates is adversarial; or an EvidenceError."""
    radius, trees = proof["radius"], proof["rivals"]
    if len(trees) != len(net.bias):
        raise EvidenceError(f"expected a tree for each of {len(net.bias)} rivals, got {len(trees)}")
    everything = np.arange(net.candidates)
    for number, (rival, tree) in enumerate(zip(rivals(net, radius), trees, strict=True)):
        _Walk(net, rival, number, theta).region((), everything, radius, tree)
    return int(radius)


class _Walk:
    """The tree of one rival."""

    def __init__(self, net: WindowedNet, rival: Rival, number: int, theta: float) -> None:
        self._net, self._rival, self._number, self._theta = net, rival, number, theta

    def region(self, fixed: tuple[int, ...], free: Index, budget: int, tree: list[Any]) -> None:
        """Check the tree of a region."""
        self._evaluate([fixed])
        if budget == 0:
            return
        if budget == 1:
            self._evaluate([(*fixed, int(c)) for c in free])
            return
        values = self._rival.values(np.array([fixed], np.int64))
        base = float(self._rival.margins(values)[0])
        gain = self._gains(values, free, budget)
        for c, below in tree:
            at = np.flatnonzero(free == c)
            if not len(at):
                raise EvidenceError(f"expected a free candidate below {fixed}, got {c}")
            start = base + float(gain[at[0]])
            later = self._net.position[free] != self._net.position[c]
            later_gain, later_free = gain[later], free[later]
            kept = start + later_gain + self._others(later_free, later_gain, budget - 2) <= self._theta + GUARD
            self.region((*fixed, c), later_free[kept], budget - 1, below)
            free, gain = np.delete(free, at), np.delete(gain, at)
        least = base + float(np.sort(_harms(self._net.position[free], gain)[1])[:budget].sum())
        if not least > self._theta:
            raise EvidenceError(f"expected a bound above {self._theta} below {fixed}, got {least}")

    def _gains(self, values: Values, free: Index, budget: int) -> FloatArray:
        mask = np.zeros((1, self._net.candidates), np.bool_)
        mask[0, free] = True
        return np.asarray(self._rival.gains(values, mask, budget)[0, free])

    def _others(self, free: Index, gain: FloatArray, count: int) -> FloatArray:
        """Sum of the `count` least of min(0, gain) over the positions other than each candidate's own."""
        number, harm = _harms(self._net.position[free], gain)
        least = [float(np.sort(np.delete(harm, own))[:count].sum()) for own in range(len(harm))]
        return np.array(least)[number]

    def _evaluate(self, sets: list[tuple[int, ...]]) -> None:
        margins = self._net.margins(sets)[:, self._number]
        if not (margins > self._theta).all():
            worst = int(margins.argmin())
            raise EvidenceError(f"expected a margin above {self._theta} of {sets[worst]}, got {margins[worst]}")


def _harms(position: Index, gain: FloatArray) -> tuple[Index, FloatArray]:
    """The number of each candidate's position, and min(0, gain) of each of these positions."""
    opened, number = np.unique(position, return_inverse=True)
    harm = np.zeros(len(opened))
    np.minimum.at(harm, number, gain)
    return number, harm
