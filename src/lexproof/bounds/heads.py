"""Affine maps between tokens and the heads of attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from lexproof.bounds.graph import Box, LinearOp, Pulled
from lexproof.bounds.linear_ops import Affine
from lexproof.bounds.region import Region, SwapRegion


@dataclass(frozen=True, slots=True, eq=False)
class ToHeads(LinearOp):
    """An affine map of each token, cut into heads: (N, L, in) to (N, heads, L, out / heads)."""

    name: ClassVar[str] = "affine"
    affine: Affine
    heads: int

    def _cut(self, rows: Tensor) -> Tensor:
        return rows.reshape(*rows.shape[:-1], self.heads, rows.shape[-1] // self.heads).transpose(-2, -3)

    def value(self, *inputs: Tensor) -> Tensor:
        """Head by head."""
        return self._cut(self.affine.value(inputs[0]))

    def interval(self, *boxes: Box) -> Box:
        """That of the affine map."""
        low, high = self.affine.interval(*boxes)
        return Box(self._cut(low), self._cut(high))

    def pull(self, form: Tensor) -> Pulled:
        """The heads side by side, through the affine map."""
        return self.affine.pull(form.transpose(-2, -3).flatten(-2))

    def budgeted(self, region: Region) -> Box:
        """The exact range over swaps: a token's image depends on its own position only, so one swap reaches an end."""
        assert isinstance(region, SwapRegion), "tokens move by swaps"
        low = high = self.affine.value(region.original)
        if region.changes.shape[1] and region.changes.shape[2]:
            may = (region.budget > 0)[:, None, None]
            moves = region.changes @ self.affine.weight.T  # (N, P, J, out)
            at = region.places[:, :, None].expand(-1, -1, low.shape[2])
            low = low.scatter_add(1, at, torch.where(may, moves.amin(2).clamp(max=0), 0.0))
            high = high.scatter_add(1, at, torch.where(may, moves.amax(2).clamp(min=0), 0.0))
        return Box(self._cut(low), self._cut(high))


@dataclass(frozen=True, slots=True, eq=False)
class FromHeads(LinearOp):
    """The heads of each token side by side, then an affine map: (N, heads, L, in / heads) to (N, L, out)."""

    name: ClassVar[str] = "affine"
    affine: Affine
    heads: int

    def _joined(self, value: Tensor) -> Tensor:
        return value.transpose(-2, -3).flatten(-2)

    def value(self, *inputs: Tensor) -> Tensor:
        """Token by token."""
        return self.affine.value(self._joined(inputs[0]))

    def interval(self, *boxes: Box) -> Box:
        """That of the affine map."""
        return self.affine.interval(Box(self._joined(boxes[0].low), self._joined(boxes[0].high)))

    def pull(self, form: Tensor) -> Pulled:
        """Through the affine map, then cut into heads."""
        (joined,), constant = self.affine.pull(form)
        return Pulled((joined.reshape(*joined.shape[:-1], self.heads, -1).transpose(-2, -3),), constant)
