"""The proof tree: what the search found out, in plain JSON values, for a checker that repeats none of the search.

A proof of "no point with at most r swaps is adversarial" is

    {"rivals": [{"swaps": r_k, "tree": node}, ...]}        one entry a rival, in order, with r_k >= r.

A node speaks about a region: swaps F fixed, candidates C free, budget b, phases of some units.  The root of rival k has
F empty, all candidates free, b = r_k and no phases.  It claims margin_k > theta at every point of its region.

    {"points": b}
        Leaf; b is at most 2.  Evaluate F and F with every set of at most b free candidates at different positions.
    {"bound": {"shares": {"h": [s, ...]}, "slopes": {"h": e, ...}}}
        Leaf.  Recompute the bound of `relu_hull` over the region and find it > theta: ranges low_h, high_h of every
        unit from the free candidates and b; the shares s in per cent, one a free candidate in rising order of its
        number, for units with weight < 0, no phase and low < 0 < high (a unit that is not listed: 0); e for the other
        units with low < 0 < high (not listed: weight in phase +1, else 0), which must lie in [0, weight] without a
        phase, be <= weight in phase +1, be >= 0 in phase -1.  Any shares are sound.
    {"bound": ..., "drop": [c, ...], "then": node}
        For each c in turn: the bound over points that contain c, i.e. base + gain(c) + the b - 1 least of min(0, least
        gain) over the other positions, is > theta.  `then` is about the region without these candidates.
    {"position": p, "stays": node, "words": [[c, node], ...]}
        `stays`: the same region without the free candidates at p.  `words` lists every free candidate c at p, with a
        node for F + c, budget b - 1, no free candidate at p.
    {"phase": h, "off": node, "on": node}
        The region with hidden_h <= 0, and with hidden_h >= 0.
    {"empty": true}
        Leaf: some unit in phase +1 has high < -1e-9, or one in phase -1 has low > 1e-9, so the region has no points.

A checker sums in another order, so it should let a bound miss theta by the rounding of its own sums (1e-9 is ample for
weights and hidden values up to 1e3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lexproof.certify.exact.additive import Ints
from lexproof.certify.exact.ascent import Ascended
from lexproof.certify.exact.branching import Split
from lexproof.certify.exact.relu_hull import Additive, Dual, HullBound

_GRID = 100.0  # shares are kept in per cent: a proof is then a fraction of its size in full digits


class Recorder:
    """Keeps the tree of one search, up to `limit` nodes; a limit of 0 keeps nothing."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.count = 0
        self.root: dict[str, Any] = {}

    @property
    def tree(self) -> dict[str, Any] | None:
        """The tree, or None if it was not kept."""
        return self.root if self.limit else None

    def slot(self) -> dict[str, Any]:
        """An empty node, to be filled later."""
        return {}

    def rounded(self, hull: HullBound, found: Ascended) -> tuple[Dual, Additive]:
        """The dual values as they will be written, and the bound there; in full if rounding spoils a proof."""
        if not self.limit:
            return found.dual, found.bound
        dual = found.dual._replace(shares=np.round(found.dual.shares * _GRID) / _GRID)
        bound = hull.at(dual)
        if found.bound.value > hull.rival.theta >= bound.value:
            return found.dual, found.bound
        return dual, bound

    def leaf(self, slot: dict[str, Any], dual: Dual) -> None:
        """The region is proven by its bound."""
        self._fill(slot, lambda: {"bound": _written(dual)})

    def drop(self, slot: dict[str, Any], dual: Dual, candidates: Ints) -> dict[str, Any]:
        """Candidates leave the region; returns the slot of what is left."""
        then = self.slot()
        gone = np.sort(candidates).tolist()
        self._fill(slot, lambda: {"bound": _written(dual), "drop": gone, "then": then})
        return then

    def points(self, slot: dict[str, Any], budget: int) -> None:
        """All points were evaluated."""
        self._fill(slot, lambda: {"points": budget})

    def empty(self, slot: dict[str, Any]) -> None:
        """The region has no points."""
        self._fill(slot, lambda: {"empty": True})

    def split(self, slot: dict[str, Any], split: Split, slots: Sequence[dict[str, Any]]) -> None:
        """The region is the union of these parts."""
        names = [name for name, _ in split.parts]
        if split.kind == "phase":
            self._fill(slot, lambda: {"phase": split.where, "off": slots[0], "on": slots[1]})
        else:
            words = [[name, part] for name, part in zip(names[1:], slots[1:], strict=True)]
            self._fill(slot, lambda: {"position": split.where, "stays": slots[0], "words": words})

    def _fill(self, slot: dict[str, Any], node: Any) -> None:
        if not self.limit:
            return
        self.count += 1
        if self.count > self.limit:
            self.limit = 0
            self.root.clear()
        else:
            slot.update(node())


def _written(dual: Dual) -> dict[str, Any]:
    rows = np.round(dual.shares[:, np.argsort(dual.free)] * _GRID, 12).tolist()
    shares = {str(unit): [_number(s) for s in row] for unit, row in zip(dual.bent.tolist(), rows, strict=True)}
    slopes = {str(unit): e for unit, e in zip(dual.sloped.tolist(), dual.slopes.tolist(), strict=True)}
    return {"shares": shares, "slopes": slopes}


def _number(value: float) -> int | float:
    return int(value) if value == int(value) else value
