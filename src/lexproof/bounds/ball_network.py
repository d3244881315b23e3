"""A network as a function of the words that may move: what a victim hands to the search for a safe radius."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from lexproof.bounds.backward import Check, Relaxation
from lexproof.bounds.ball import BallRegion
from lexproof.bounds.graph import Graph


class Evaluated(Protocol):
    """Something that gives logits."""

    def value(self, given: Tensor) -> Tensor:
        """The logits (M, classes) of vectors (M, K, d); differentiable."""
        ...


class Movable(Protocol):
    """Rows of one structure: in each the vectors of K tokens are the input, in coordinates scaled to [0, 1].

    Guarantee: for each row and all x between `low` and `high`, `graph(rows).value(x)` is the victim's logits for the
    text whose K open tokens have the vectors x, computed in float64.
    """

    @property
    def center(self) -> Tensor:
        """The vectors of the texts as they are: (N, K, d)."""
        ...

    @property
    def low(self) -> Tensor:
        """The least value of each coordinate that any word has: (N, K, d)."""
        ...

    @property
    def high(self) -> Tensor:
        """The largest one."""
        ...

    def graph(self, rows: Tensor) -> Evaluated:
        """What evaluates these rows (M,), in this order; a row may be asked for more than once."""
        ...


class BallNetwork(Movable, Protocol):
    """Such rows that can be bounded, too."""

    def graph(self, rows: Tensor) -> Graph:
        """The operations for these rows; what is fixed in them is constant."""
        ...

    def relaxation(self, graph: Graph, region: BallRegion, check: Check | None = None) -> Relaxation:
        """Boxes of all values of such a graph over a region of as many rows."""
        ...
