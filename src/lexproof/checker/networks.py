"""The weights of two kinds of model as plain float64 arrays, and what each candidate of a space adds to them.

Written from the definition of the models alone; `checking` compares the result with the victim's own scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lexproof.checker.tokens import Index, TokenSwaps
from lexproof.points import FloatArray

if TYPE_CHECKING:
    from lexproof.victims.words import WordVictim


@dataclass(frozen=True, slots=True)
class Perceptron:
    """hidden(K) = start + sum of change[c] over the candidates c of K; logits = relu(hidden) @ weight.T + bias."""

    start: FloatArray  # (H,)
    change: FloatArray  # (S, H)
    position: Index  # (S,) token that a candidate changes
    weight: FloatArray  # (classes, H)
    bias: FloatArray  # (classes,)

    def features(self, chosen: list[int]) -> FloatArray:
        """The hidden layer after the ReLU: (H,)."""
        hidden: FloatArray = np.maximum(self.start + self.change[chosen].sum(axis=0), 0.0)
        return hidden


@dataclass(frozen=True, slots=True)
class Convolution:
    """value[t, u](K) = start[t, u] + sum of change[c, o, u] over candidates c of K with position[c] + first + o = t.

    Features are max(0, max over t); logits = features @ weight.T + bias.  Filters of all widths stand side by side.
    """

    start: FloatArray  # (L, U)
    change: FloatArray  # (S, W, U)
    position: Index  # (S,)
    first: int  # the first place that sees a token, counted from the token: never positive
    weight: FloatArray  # (classes, U)
    bias: FloatArray  # (classes,)

    def values(self, chosen: list[int]) -> FloatArray:
        """All values after some swaps: (L, U)."""
        values = self.start.copy()
        for c in chosen:
            for o in range(self.change.shape[1]):
                t = int(self.position[c]) + self.first + o
                if 0 <= t < len(values):
                    values[t] += self.change[c, o]
        return values

    def features(self, chosen: list[int]) -> FloatArray:
        """The largest value of each unit, or 0: (U,)."""
        features: FloatArray = np.maximum(self.values(chosen).max(axis=0), 0.0)
        return features


Network = Perceptron | Convolution


def network_of(victim: WordVictim, swaps: TokenSwaps) -> tuple[Network, TokenSwaps] | None:
    """The network of an `mlp`, or of a one-layer max-pool `cnn`, with its candidates in order; None for any other."""
    settings = victim.settings
    if victim.kind == "mlp":
        return _perceptron(victim, swaps), swaps
    if victim.kind == "cnn" and (getattr(settings, "layers", 0), getattr(settings, "pooling", "")) == (1, "max"):
        swaps = swaps.distinct()
        return _convolution(victim, swaps), swaps
    return None


def _weights(victim: WordVictim) -> dict[str, FloatArray]:
    return {name: tensor.double().numpy() for name, tensor in victim.net.state_dict().items()}


def _perceptron(victim: WordVictim, swaps: TokenSwaps) -> Perceptron:
    weights = _weights(victim)
    words = weights["embedding.weight"]
    is_flat = getattr(victim.settings, "pooling", "") == "flatten"
    share = 1.0 if is_flat else 1.0 / len(swaps.ids)  # of a token in the hidden layer
    start = weights["bias"].copy()
    for at, token in enumerate(swaps.ids):
        start += share * (words[token] @ weights["first"][at if is_flat else 0])
    change = np.zeros((len(swaps.at), len(start)))
    for c, (at, token) in enumerate(zip(swaps.at, swaps.token, strict=True)):
        change[c] = share * ((words[token] - words[swaps.ids[at]]) @ weights["first"][at if is_flat else 0])
    return Perceptron(start, change, swaps.at, weights["last.weight"], weights["last.bias"])


def _convolution(victim: WordVictim, swaps: TokenSwaps) -> Convolution:
    weights = _weights(victim)
    words = weights["embedding.weight"]
    read = words[swaps.ids]
    moved = words[swaps.token] - read[swaps.at]
    widths: tuple[int, ...] = getattr(victim.settings, "widths", ())
    first, last = -max(width // 2 for width in widths), max((width - 1) // 2 for width in widths)
    starts, changes = [], []
    for number, width in enumerate(widths):
        kernel = weights[f"branches.{number}.convs.0.weight"]  # (filters, dim, width)
        start = np.tile(weights[f"branches.{number}.convs.0.bias"], (len(read), 1))
        change = np.zeros((len(moved), last - first + 1, len(kernel)))
        for tap in range(width):
            away = (width - 1) // 2 - tap  # the place that reads a token by this tap, counted from the token
            for t in range(len(read)):
                if 0 <= t - away < len(read):
                    start[t] += kernel[:, :, tap] @ read[t - away]
            change[:, away - first] = moved @ kernel[:, :, tap].T
        starts.append(start)
        changes.append(change)
    return Convolution(
        np.concatenate(starts, axis=1),
        np.concatenate(changes, axis=2),
        swaps.at,
        first,
        weights["last.weight"],
        weights["last.bias"],
    )
