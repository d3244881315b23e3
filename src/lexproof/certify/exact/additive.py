"""Networks whose first layer is additive over positions: one hidden ReLU layer over swapped words.

Flattened and averaged word vectors are of this kind: a swap adds a fixed vector to the hidden layer, whatever the other
words are.  Nothing here knows words: a candidate is a row of `change`, and its number is its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lexproof.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class AdditiveNet:
    """hidden(x') = z0 + sum of change[c] over the chosen candidates c;  margin_k = weight_k . relu(hidden) + bias_k.

    Candidate c stands at position[c], and at most one candidate of a position is chosen.  Positions need not be
    consecutive, candidates may be equal, and a change may be zero.  Everything is float64: with H units and at most n
    swaps a margin is off by less than (n + H + 2) 2^-52 times the sum of the absolute values of its terms.
    """

    z0: Floats  # (H,)
    change: Floats  # (S, H)
    position: Ints  # (S,)
    weight: Floats  # (K, H)
    bias: Floats  # (K,)

    def __post_init__(self) -> None:
        wide = {name: np.asarray(getattr(self, name), float) for name in ("z0", "change", "weight", "bias")}
        position = np.asarray(self.position, np.int64)
        units, rivals, candidates = wide["z0"].shape[-1:], wide["bias"].shape[-1:], position.shape
        shapes = {"z0": units, "change": (*candidates, *units), "weight": (*rivals, *units), "bias": rivals}
        for name, array in wide.items():
            if array.shape != shapes[name]:
                raise InputError(f"expected {name} of shape {shapes[name]}, got {array.shape}")
            if not np.isfinite(array).all():
                raise InputError(f"expected finite numbers in {name}, got a NaN or infinity")
            object.__setattr__(self, name, array)
        if not rivals or not rivals[0]:
            raise InputError("expected at least 1 rival class, got none")
        object.__setattr__(self, "position", position)

    @property
    def positions(self) -> int:
        """Number of positions that have a candidate: no point differs in more."""
        return len(np.unique(self.position))

    def hidden(self, swaps: Sequence[int]) -> Floats:
        """The hidden layer, before the ReLU, of the point with these candidates: (H,)."""
        hidden: Floats = self.z0 + self.change[list(swaps)].sum(axis=0)
        return hidden

    def margins(self, hidden: Floats) -> Floats:
        """Margins over each rival of hidden layers (..., H): (..., K)."""
        margins: Floats = np.maximum(hidden, 0.0) @ self.weight.T + self.bias
        return margins

    def is_adversarial(self, swaps: Sequence[int], theta: float) -> bool:
        """Whether these candidates make a point with some margin <= theta."""
        chosen = self.position[list(swaps)]
        return len(set(chosen.tolist())) == len(chosen) and bool(self.margins(self.hidden(swaps)).min() <= theta)


@dataclass(frozen=True, slots=True, eq=False)
class Rival:
    """One margin of a network, and the threshold at or below which a point is adversarial."""

    net: AdditiveNet
    row: int
    theta: float
    weight: Floats  # (H,)
    bias: float

    @classmethod
    def of(cls, net: AdditiveNet, row: int, theta: float) -> Rival:
        """The margin over rival number `row`."""
        return cls(net, row, theta, net.weight[row], float(net.bias[row]))

    def margin(self, hidden: Floats) -> Floats:
        """The margin of hidden layers (..., H): (...)."""
        margin: Floats = np.maximum(hidden, 0.0) @ self.weight + self.bias
        return margin
