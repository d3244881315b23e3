"""A network as a function of a few open words: one value for each layer and slot that these words reach.

A *slot* is a place of a layer whose value (N, F) may change, counted from the open words of each row, so that rows with
words anywhere in texts of any length have one graph.  What the rest of the text adds is a constant of the row, its
*base*.  A backward pass from a slot visits only the slots that it depends on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from lexproof.bounds.graph import Box, LinearOp, Pulled, inner
from lexproof.bounds.maxpool import MaxPool, Planes
from lexproof.bounds.region import Region


@dataclass(frozen=True, slots=True, eq=False)
class OpenWords(LinearOp):
    """base + sum_k W_k x_k over consecutive open words k = start, start + 1, …: (N, K, d) to (N, F).

    `weight` is (F, k, d), the same for all rows, or (N, F, k, d).
    """

    name: ClassVar[str] = "first layer of open words"
    weight: Tensor
    base: Tensor  # (N, F)
    start: int
    words: int  # K

    def of_rows(self, rows: Tensor) -> OpenWords:
        """The operation of these rows."""
        weight = self.weight if self.weight.ndim == 3 else self.weight[rows]
        return OpenWords(weight, self.base[rows], self.start, self.words)

    def of_units(self, units: Tensor) -> OpenWords:
        """These units (N, U) of each row."""
        row = torch.arange(len(units))[:, None]
        own = self.weight[units] if self.weight.ndim == 3 else self.weight[row, units]
        return OpenWords(own, self.base.gather(1, units), self.start, self.words)

    def _part(self, given: Tensor) -> Tensor:
        """The words that are read: a view of (..., K, d)."""
        return given[..., self.start : self.start + self.weight.shape[-2], :]

    def _sum(self, given: Tensor, weight: Tensor) -> Tensor:
        return (self._part(given).flatten(1)[:, None] @ weight.flatten(-2).mT).squeeze(1)

    def value(self, *inputs: Tensor) -> Tensor:
        """The sum."""
        return self._sum(inputs[0], self.weight) + self.base

    def interval(self, *boxes: Box) -> Box:
        """Center and radius."""
        (box,) = boxes
        middle = self.value((box.low + box.high) / 2)
        spread = self._sum((box.high - box.low) / 2, self.weight.abs())
        return Box(middle - spread, middle + spread)

    def pull(self, form: Tensor) -> Pulled:
        """W' form for the words that are read, 0 for the others."""
        wide = form.new_zeros(*form.shape[:2], self.words, self.weight.shape[-1])
        return Pulled((wide,), self.pull_into(form, wide).constant)

    def pull_into(self, form: Tensor, wide: Tensor) -> Pulled:
        """The same, added to `wide` (N, S, K, d) in place."""
        part = self._part(wide)
        part += (form @ self.weight.flatten(-2)).reshape(part.shape)
        return Pulled((), inner(form, self.base))

    def budgeted(self, region: Region) -> Box:
        """The exact range of each unit over the region, each by itself."""
        shape = (len(self.base), self.weight.shape[-3], self.words, self.weight.shape[-1])
        forms = self.base.new_zeros(shape)
        self._part(forms).copy_(self.weight)
        return Box(self.base + region.minimum(forms), self.base - region.minimum(-forms))


@dataclass(frozen=True, slots=True, eq=False)
class SumOfSlots(LinearOp):
    """base + sum_k W_k h_k over the slots h_k (N, in) that it reads: (N, out).

    Each weight is (out, in), the same for all rows, or (N, out, in).
    """

    name: ClassVar[str] = "sum over slots"
    weights: tuple[Tensor, ...]
    base: Tensor  # (N, out)

    def of_rows(self, rows: Tensor) -> SumOfSlots:
        """The operation of these rows."""
        weights = tuple(weight if weight.ndim == 2 else weight[rows] for weight in self.weights)
        return SumOfSlots(weights, self.base[rows])

    def value(self, *inputs: Tensor) -> Tensor:
        """The sum."""
        return self.base + sum(_times(given, weight) for given, weight in zip(inputs, self.weights, strict=True))

    def interval(self, *boxes: Box) -> Box:
        """Center and radius."""
        middle = self.value(*((box.low + box.high) / 2 for box in boxes))
        spreads = [
            _times((box.high - box.low) / 2, weight.abs()) for box, weight in zip(boxes, self.weights, strict=True)
        ]
        spread = torch.stack([torch.zeros_like(middle), *spreads]).sum(0)
        return Box(middle - spread, middle + spread)

    def pull(self, form: Tensor) -> Pulled:
        """W_k' form of each slot."""
        return self.pull_onto(form, [None] * len(self.weights))

    def pull_onto(self, form: Tensor, sums: Sequence[Tensor | None]) -> Pulled:
        """The same, added in place to sums (N, S, in) of other forms of the slots where there are some."""
        forms = tuple(_added(own, form, weight) for own, weight in zip(sums, self.weights, strict=True))
        return Pulled(forms, inner(form, self.base))

    def pull_units(self, units: Tensor, signs: Tensor) -> Pulled:
        """The same for forms that are single units (N, U) with a sign: rows of the weights."""
        rows = (
            weight[units] if weight.ndim == 2 else weight.take_along_dim(units[:, :, None], 1)
            for weight in self.weights
        )
        return Pulled(tuple(own * signs[:, :, None] for own in rows), self.base.gather(1, units) * signs)


def _added(sum_: Tensor | None, form: Tensor, weight: Tensor) -> Tensor:
    """W' form, added to a sum in place if there is one: (N, S, out) to (N, S, in)."""
    if sum_ is None:
        return form @ weight
    if weight.ndim == 3:
        return sum_.baddbmm_(form, weight)
    sum_.view(-1, sum_.shape[2]).addmm_(form.reshape(-1, form.shape[2]), weight)
    return sum_


def _times(given: Tensor, weight: Tensor) -> Tensor:
    """W h: (N, in) to (N, out)."""
    return given @ weight.T if weight.ndim == 2 else (given[:, None] @ weight.mT).squeeze(1)


@dataclass(frozen=True, slots=True, eq=False)
class MaxOfSlots:
    """The largest of slots (N, F) and of a floor (N, F): max-pool, whose planes `MaxPool` proves."""

    name: ClassVar[str] = "max-pool"
    is_linear: ClassVar[bool] = False
    floor: Tensor

    def of_rows(self, rows: Tensor) -> MaxOfSlots:
        """The operation of these rows."""
        return MaxOfSlots(self.floor[rows])

    @property
    def _pool(self) -> MaxPool:
        return MaxPool(floor=self.floor)

    def value(self, *inputs: Tensor) -> Tensor:
        """The largest."""
        return self._pool.value(torch.stack(inputs, 1))

    def interval(self, *boxes: Box) -> Box:
        """Largest of the ends."""
        return self._pool.interval(_stacked(boxes))

    def unsettled(self, *boxes: Box) -> tuple[Tensor, ...]:
        """Slots that may attain the maximum."""
        return self._pool.unsettled(_stacked(boxes))[0].unbind(1)

    def slopes(self, *boxes: Box) -> Tensor | None:
        """As of max-pool."""
        return self._pool.slopes(_stacked(boxes))

    def relax(self, *boxes: Box, slopes: Tensor | None = None) -> SlotPlanes:
        """The planes of max-pool."""
        return SlotPlanes(self._pool.relax(_stacked(boxes), slopes=slopes))


def _stacked(boxes: tuple[Box, ...]) -> Box:
    return Box(torch.stack([box.low for box in boxes], 1), torch.stack([box.high for box in boxes], 1))


@dataclass(frozen=True, slots=True, eq=False)
class SlotPlanes:
    """The planes of max-pool, a form for each slot."""

    planes: Planes

    def pull(self, form: Tensor) -> Pulled:
        """Each slot its part."""
        (together,), constant = self.planes.pull(form)
        return Pulled(together.unbind(2), constant)
