"""Affine operations on tokens, some of which are the same for every input and differ from row to row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from lexproof.bounds.bilinear import times_rows
from lexproof.bounds.graph import Box, LinearOp, Pulled


@dataclass(frozen=True, slots=True, eq=False)
class Chosen(LinearOp):
    """Tokens `at` (N, T) of `count`, in each row its own: (N, ..., count, c) to (N, ..., T, c)."""

    name: ClassVar[str] = "choice of tokens"
    at: Tensor
    count: int

    def value(self, *inputs: Tensor) -> Tensor:
        """The tokens."""
        return inputs[0].gather(-2, self._wide(inputs[0]))

    def interval(self, *boxes: Box) -> Box:
        """Their boxes."""
        return Box(self.value(boxes[0].low), self.value(boxes[0].high))

    def pull(self, form: Tensor) -> Pulled:
        """Each token's form goes where the token came from."""
        given = form.new_zeros(*form.shape[:-2], self.count, form.shape[-1])
        return Pulled((given.scatter_add(-2, self._wide(form), form),), form.new_zeros(form.shape[:2]))

    def _wide(self, like: Tensor) -> Tensor:
        """The numbers, to go with a value or a form."""
        wide = self.at.reshape(len(self.at), *[1] * (like.ndim - 3), self.at.shape[1], 1)
        return wide.expand(*like.shape[:-2], self.at.shape[1], like.shape[-1])


@dataclass(frozen=True, slots=True, eq=False)
class JoinTokens(LinearOp):
    """Tokens of several inputs one after the other: (N, ..., counts[k], c) to (N, ..., sum of counts, c)."""

    name: ClassVar[str] = "join"
    counts: tuple[int, ...]

    def value(self, *inputs: Tensor) -> Tensor:
        """One after the other."""
        return torch.cat(inputs, -2)

    def interval(self, *boxes: Box) -> Box:
        """Box by box."""
        return Box(self.value(*(box.low for box in boxes)), self.value(*(box.high for box in boxes)))

    def pull(self, form: Tensor) -> Pulled:
        """Each its part."""
        return Pulled(tuple(torch.split(form, list(self.counts), -2)), form.new_zeros(form.shape[:2]))


@dataclass(frozen=True, slots=True, eq=False)
class TimesConstant(LinearOp):
    """The matrix product with a constant of each row: (N, ..., I, J) with (N, ..., J, K) gives (N, ..., I, K).

    With `turned` it is transposed: (N, ..., K, I).
    """

    name: ClassVar[str] = "product with a constant"
    matrix: Tensor
    turned: bool = False

    def _turned(self, of: Tensor) -> Tensor:
        return of.mT if self.turned else of

    def value(self, *inputs: Tensor) -> Tensor:
        """The product."""
        return self._turned(inputs[0] @ self.matrix)

    def interval(self, *boxes: Box) -> Box:
        """Center and radius, as of an affine map."""
        (box,) = boxes
        middle = self.value((box.low + box.high) / 2)
        spread = self._turned((box.high - box.low) / 2 @ self.matrix.abs())
        return Box(middle - spread, middle + spread)

    def pull(self, form: Tensor) -> Pulled:
        """<F, x M> = <F M', x>."""
        return Pulled((times_rows(self._turned(form), self.matrix.mT),), form.new_zeros(form.shape[:2]))


@dataclass(frozen=True, slots=True, eq=False)
class Stretched(LinearOp):
    """One number of each token times a constant vector of the token: (N, ..., T, 1) to (N, ..., T, c)."""

    name: ClassVar[str] = "product with a constant"
    along: Tensor  # (N, ..., T, c)

    def value(self, *inputs: Tensor) -> Tensor:
        """The vectors."""
        return inputs[0] * self.along

    def interval(self, *boxes: Box) -> Box:
        """The ends change places where the constant is negative."""
        one, other = self.value(boxes[0].low), self.value(boxes[0].high)
        return Box(torch.minimum(one, other), torch.maximum(one, other))

    def pull(self, form: Tensor) -> Pulled:
        """The inner product with the constant."""
        return Pulled(((form * self.along[:, None]).sum(-1, keepdim=True),), form.new_zeros(form.shape[:2]))
