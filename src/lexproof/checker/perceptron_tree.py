"""Checks the proof tree of a perceptron: the cases leave nothing out, and the bound of every leaf holds.

A node is about a region (`perceptron_bound`); the root about all sets of at most `swaps` candidates.

| node | what is checked |
|---|---|
| {"points": b} | the region has a budget of at most 2; every point is evaluated |
| {"bound": m} | the bound with multipliers m exceeds the threshold |
| {"bound": m, "drop": [c, …], "then": node} | so does the bound over points with c, for each c; the rest is `then` |
| {"position": p, "stays": node, "words": [[c, node], …]} | every free candidate at p is listed, once |
| {"phase": unit, "off": node, "on": node} | both parts |
| {"empty": true} | a unit cannot have the phase that the region gives it |
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lexproof.checker.networks import Perceptron
from lexproof.checker.perceptron_bound import Margin, Ranges, Region
from lexproof.checker.sums import TOLERANCE
from lexproof.errors import EvidenceError

_POINTS_BUDGET = 2


def check_perceptron(net: Perceptron, label: int, rivals: list[int], proof: Any, radius: int, theta: float) -> int:
    """How many regions a proof has that no point with at most `radius` swaps has a margin of at most theta.

    Raises EvidenceError if it proves less.
    """
    trees = proof.get("rivals") if type(proof) is dict else None
    if type(trees) is not list or len(trees) != len(rivals):
        raise EvidenceError(f"expected a tree for each of {len(rivals)} rivals, got something else")
    most = min(radius, len(np.unique(net.position)))
    regions = 0
    for rival, tree in zip(rivals, trees, strict=True):
        swaps = tree.get("swaps") if type(tree) is dict else None
        if type(swaps) is not int or swaps < most or "tree" not in tree:
            raise EvidenceError(f"expected a tree for {most} swaps over class {rival}, got one for {swaps!r:.20}")
        margin = Margin(net.weight[label] - net.weight[rival], float(net.bias[label] - net.bias[rival]))
        root = Region(net.start, np.arange(len(net.position)), min(swaps, len(net.position)), _no_phase(net))
        regions += _Walk(net, margin, theta).all(root, tree["tree"])
    return regions


def _no_phase(net: Perceptron) -> Any:
    return np.zeros(len(net.start), np.int8)


class _Walk:
    """The tree of one rival."""

    def __init__(self, net: Perceptron, margin: Margin, theta: float) -> None:
        self._net, self._margin, self._enough = net, margin, theta - TOLERANCE
        self._left: list[tuple[Region, Any]] = []

    def all(self, region: Region, tree: Any) -> int:
        """The number of nodes, each of them checked; by a stack, since a tree may be nested deeply."""
        self._left = [(region, tree)]
        count = 0
        while self._left:
            self._node(*self._left.pop())
            count += 1
        return count

    def _node(self, region: Region, node: Any) -> None:
        keys = set(node) if type(node) is dict else set()
        if keys == {"points"}:
            self._points(region)
        elif keys == {"empty"}:
            if not Ranges(self._net, region).is_empty:
                raise EvidenceError("expected a region without points, got one that may have some")
        elif keys == {"bound"}:
            self._proven(Ranges(self._net, region).bound(self._margin, node["bound"]).least, "a region")
        elif keys == {"bound", "drop", "then"}:
            self._drop(region, node)
        elif keys == {"position", "stays", "words"}:
            self._position(region, node)
        elif keys == {"phase", "off", "on"}:
            unit = node["phase"]
            if type(unit) is not int or not 0 <= unit < len(region.hidden):
                raise EvidenceError(f"expected a unit from 0 to {len(region.hidden) - 1}, got {unit!r:.20}")
            self._left += [(region.with_phase(unit, -1), node["off"]), (region.with_phase(unit, 1), node["on"])]
        else:
            raise EvidenceError(f"expected a node of a proof tree, got one with {sorted(map(str, keys))!r:.60}")

    def _proven(self, value: float, what: str) -> None:
        if not value > self._enough:
            raise EvidenceError(f"expected a bound above {self._enough:.6g} for {what}, got {value:.6g}")

    def _points(self, region: Region) -> None:
        change, position = self._net.change[region.free], self._net.position[region.free]
        budget = min(region.budget, len(np.unique(position)))
        if budget > _POINTS_BUDGET:
            raise EvidenceError(f"expected points of at most {_POINTS_BUDGET} swaps, got {budget}")
        self._evaluate(region.hidden[None])
        if budget > 0:
            self._evaluate(region.hidden + change)
        if budget > 1:
            for c in range(len(change)):
                later = position > position[c]
                self._evaluate(region.hidden + change[c] + change[later])

    def _evaluate(self, hidden: Any) -> None:
        if len(hidden):
            self._proven(float(self._margin.of(hidden).min()), "a point")

    def _drop(self, region: Region, node: dict[str, Any]) -> None:
        bound = Ranges(self._net, region).bound(self._margin, node["bound"])
        for c in _candidates(node["drop"]):
            at = np.flatnonzero(region.free == c)
            if not len(at):
                raise EvidenceError(f"expected free candidates to be dropped, got {c}")
            self._proven(bound.least_with(int(at[0])), f"points with candidate {c}")
        self._left.append((region.without(np.isin(region.free, node["drop"])), node["then"]))

    def _position(self, region: Region, node: dict[str, Any]) -> None:
        if type(node["position"]) is not int or abs(node["position"]) >= 2**31:
            raise EvidenceError(f"expected the number of a position, got {node['position']!r:.20}")
        here = self._net.position[region.free] == node["position"]
        words = node["words"]
        if type(words) is not list or not all(type(word) is list and len(word) == 2 for word in words):
            raise EvidenceError("expected words as pairs of a candidate and a node, got something else")
        listed = _candidates([word[0] for word in words])
        if sorted(listed) != region.free[here].tolist():
            raise EvidenceError(
                f"expected candidates {region.free[here].tolist()} at position {node['position']}, got {listed}"
            )
        rest = region.without(here)
        self._left.append((rest, node["stays"]))
        if region.budget > 0:
            for c, below in words:
                part = Region(region.hidden + self._net.change[c], rest.free, region.budget - 1, region.phase)
                self._left.append((part, below))


def _candidates(given: Any) -> list[int]:
    if type(given) is not list or not all(type(c) is int and 0 <= c < 2**31 for c in given):
        raise EvidenceError("expected a list of candidate numbers, got something else")
    return given
