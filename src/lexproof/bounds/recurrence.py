"""What a recurrent step reads: a word, or a part of one position of the network's input, and the state before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from lexproof.bounds.graph import Box, LinearOp, Pulled, inner


@dataclass(frozen=True, slots=True, eq=False)
class Recurrent(LinearOp):
    """x[at, start : start + out] + W h: the inputs are x (N, L, F) and the state h (N, in); W is (out, in)."""

    name: ClassVar[str] = "recurrent step"
    weight: Tensor
    at: int
    start: int
    length: int
    width: int  # F

    def value(self, *inputs: Tensor) -> Tensor:
        """What arrives at the gates."""
        return self._part(inputs[0]) + inputs[1] @ self.weight.T

    def interval(self, *boxes: Box) -> Box:
        """The word's box and the state's: center and radius."""
        given, state = boxes
        middle = (state.low + state.high) / 2 @ self.weight.T
        spread = (state.high - state.low) / 2 @ self.weight.abs().T
        return Box(self._part(given.low) + middle - spread, self._part(given.high) + middle + spread)

    def pull(self, form: Tensor) -> Pulled:
        """The form itself at its part of the input, and W' form of the state."""
        wide = form.new_zeros(*form.shape[:2], self.length, self.width)
        self._part(wide).copy_(form)
        return Pulled((wide, form @ self.weight), form.new_zeros(form.shape[:2]))

    def pull_into(self, form: Tensor, wide: Tensor) -> Pulled:
        """The same, but the form of the input is added to `wide` (N, S, L, F) in place: a small part of it."""
        self._part(wide).add_(form)
        return Pulled((form @ self.weight,), form.new_zeros(form.shape[:2]))

    def _part(self, given: Tensor) -> Tensor:
        return given[..., self.at, self.start : self.start + len(self.weight)]


@dataclass(frozen=True, slots=True, eq=False)
class OpenStep(LinearOp):
    """base + E x_k + W h: the inputs are the open words x (N, K, d), where some row reads one, and the state h (N, in).

    Row n reads the open word k with `reads[n, k]` = 1; a row of zeros reads none, its word is part of its base.
    Without E (out, d) no row reads an open word, without W (out, in) the state is part of the base.
    """

    name: ClassVar[str] = "recurrent step of open words"
    base: Tensor  # (N, out)
    entry: Tensor | None  # E
    reads: Tensor  # (N, K)
    weight: Tensor | None  # W

    def of_rows(self, rows: Tensor) -> OpenStep:
        """The step of these rows."""
        return OpenStep(self.base[rows], self.entry, self.reads[rows], self.weight)

    def value(self, *inputs: Tensor) -> Tensor:
        """What arrives at the gates."""
        return self.base + self._sum(inputs, self.entry, self.weight)

    def interval(self, *boxes: Box) -> Box:
        """Center and radius."""
        middle = self.value(*(box.low / 2 + box.high / 2 for box in boxes))
        sizes = (None if matrix is None else matrix.abs() for matrix in (self.entry, self.weight))
        spread = self._sum([box.high / 2 - box.low / 2 for box in boxes], *sizes)
        return Box(middle - spread, middle + spread)

    def pull(self, form: Tensor) -> Pulled:
        """E' form for the word that is read, W' form for the state."""
        forms = []
        if self.entry is not None:
            forms.append((form @ self.entry)[:, :, None] * self.reads[:, None, :, None])
        if self.weight is not None:
            forms.append(form @ self.weight)
        return Pulled(tuple(forms), inner(form, self.base))

    def _sum(self, inputs: Sequence[Tensor], entry: Tensor | None, weight: Tensor | None) -> Tensor:
        total = torch.zeros_like(self.base)
        if entry is not None:
            total = total + torch.einsum("nk,nkd->nd", self.reads, inputs[0]) @ entry.T
        return total if weight is None else total + inputs[-1] @ weight.T
