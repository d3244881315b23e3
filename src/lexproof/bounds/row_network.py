"""A `BallNetwork` whose rows differ only in constants of its operations."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from lexproof.bounds.backward import Check, Relaxation
from lexproof.bounds.ball import BallRegion
from lexproof.bounds.firing import firing_relaxation
from lexproof.bounds.graph import Graph


@dataclass(frozen=True, slots=True, eq=False)
class RowNetwork:
    """All rows as one graph; an operation with constants of its rows gives those of some rows by `of_rows`."""

    center: Tensor  # (N, K, d)
    low: Tensor
    high: Tensor
    whole: Graph

    def graph(self, rows: Tensor) -> Graph:
        """The operations for these rows."""
        graph = Graph()
        for node in self.whole.nodes:
            choose = getattr(node.op, "of_rows", None)
            graph.add(node.op if choose is None else choose(rows), *node.inputs)
        return graph

    def relaxation(self, graph: Graph, region: BallRegion, check: Check | None = None) -> Relaxation:
        """Boxes of all values, by the backward bound of every unit that is not settled."""
        return firing_relaxation(graph, region, check)
