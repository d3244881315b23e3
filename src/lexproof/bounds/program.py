"""A network with the swaps of texts as its input: what a victim hands to the provers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from lexproof.bounds.graph import Graph
from lexproof.bounds.region import SwapRegion


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A graph, a region with one row a text, and which swap each change of the region stands for.

    Guarantee: `graph.value` of a text's input is the victim's logits, up to half of `rounding`; the region's changes
    are all swaps of the text that can change the logits.  `swaps[n, p, j]` is (position, choice), choice 0 where there
    is none.
    """

    graph: Graph
    region: SwapRegion
    swaps: NDArray[np.int32]  # (N, P, J, 2)

    def budgeted(self, budget: int) -> Program:
        """The same texts with another budget of swaps."""
        return replace(self, region=replace(self.region, budget=torch.full_like(self.region.budget, budget)))
