"""First layers over words: sums of what each word contributes, with exact ranges under a budget of swaps.

A first affine layer is applied to every candidate word once, before any bound is taken: the region's vectors are then
the contributions of words, and the layer is a mere sum of them.  So its range is exact (the word-set box), where a box
of word vectors would first forget which coordinates go together.

Under a budget of r swaps a sum over positions moves by at most its r best contributions: per unit, the sum of the r
least (largest) of the positions' least (largest) changes.  That is the exact range of each unit by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from lexproof.bounds.graph import Box, LinearOp, Pulled
from lexproof.bounds.region import Region, SwapRegion, least_sum_of_positions


def _swaps(region: Region) -> SwapRegion:
    assert isinstance(region, SwapRegion), "contributions of words are made for swaps"
    return region


@dataclass(frozen=True, slots=True, eq=False)
class SumOfWords(LinearOp):
    """The sum of all positions plus a bias: (N, L, H) to (N, H)."""

    name: ClassVar[str] = "sum over words"
    bias: Tensor
    length: int

    def value(self, *inputs: Tensor) -> Tensor:
        """The sum."""
        return inputs[0].sum(1) + self.bias

    def interval(self, *boxes: Box) -> Box:
        """End by end, without a budget."""
        return Box(self.value(boxes[0].low), self.value(boxes[0].high))

    def pull(self, form: Tensor) -> Pulled:
        """The same form of each position."""
        return Pulled((form[:, :, None].expand(-1, -1, self.length, -1),), form @ self.bias)

    def budgeted(self, region: Region) -> Box:
        """The exact range of each unit: (N, H)."""
        swaps = _swaps(region)
        middle = self.value(swaps.original)
        lows, highs = (part.transpose(1, 2) for part in swaps.ends())
        return Box(
            middle + least_sum_of_positions(lows, swaps.budget), middle - least_sum_of_positions(-highs, swaps.budget)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Windows(LinearOp):
    """Convolutions of several widths as sums of contributions: (N, L, sum of width * F) to (N, L, sum of F).

    Position i holds for each branch, and in it for each k < width, what the word adds to the output at i + left - k.
    """

    name: ClassVar[str] = "convolution"
    widths: tuple[int, ...]
    filters: int
    bias: Tensor  # (sum of F,)

    def _blocks(self) -> list[tuple[int, int]]:
        """(branch, offset of the output from the position) of each block of F features."""
        return [(b, (width - 1) // 2 - k) for b, width in enumerate(self.widths) for k in range(width)]

    def value(self, *inputs: Tensor) -> Tensor:
        """The outputs of all branches side by side."""
        blocks = inputs[0].reshape(*inputs[0].shape[:2], -1, self.filters)  # (N, L, blocks, F)
        sums: list[Tensor | None] = [None] * len(self.widths)
        for at, (branch, offset) in enumerate(self._blocks()):
            moved, before = _shifted(blocks[:, :, at], offset), sums[branch]
            sums[branch] = moved if before is None else before + moved
        return torch.cat([part for part in sums if part is not None], 2) + self.bias

    def interval(self, *boxes: Box) -> Box:
        """End by end, without a budget."""
        return Box(self.value(boxes[0].low), self.value(boxes[0].high))

    def pull(self, form: Tensor) -> Pulled:
        """Each contribution has the form of the output that it adds to."""
        n, s, length, _ = form.shape
        parts = form.reshape(n * s, length, len(self.widths), self.filters)
        blocks = [_shifted(parts[:, :, branch], -offset) for branch, offset in self._blocks()]
        return Pulled((torch.cat(blocks, 2).reshape(n, s, length, -1),), (form @ self.bias).sum(2))

    def budgeted(self, region: Region) -> Box:
        """The exact range of each output: of the words in its window the best `budget`."""
        swaps = _swaps(region)
        middle = self.value(swaps.original)
        lows, highs = swaps.ends()
        return Box(middle + self._least(swaps, lows), middle - self._least(swaps, -highs))

    def _least(self, swaps: SwapRegion, best: Tensor) -> Tensor:
        """The least sum of at most `budget` of the best contributions (N, P, d) in each window: (N, L, sum of F)."""
        at = swaps.places[:, :, None].expand(-1, -1, best.shape[2])
        spread = torch.zeros_like(swaps.original).scatter_add(1, at, best)
        windows: list[list[Tensor]] = [[] for _ in self.widths]
        for number, (branch, offset) in enumerate(self._blocks()):
            windows[branch].append(_shifted(spread[:, :, number * self.filters : (number + 1) * self.filters], offset))
        return torch.cat([least_sum_of_positions(torch.stack(part, 3), swaps.budget) for part in windows], 2)


def _shifted(part: Tensor, offset: int) -> Tensor:
    """What stands at position i moved to i + offset, zeros where nothing comes from: (N, L, F)."""
    if offset == 0:
        return part
    length = part.shape[1]
    kept = max(0, length - abs(offset))
    moved = torch.zeros_like(part)
    if offset > 0:
        moved[:, length - kept :] = part[:, :kept]
    else:
        moved[:, :kept] = part[:, length - kept :]
    return moved
