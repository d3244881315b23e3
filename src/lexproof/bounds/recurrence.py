"""What a recurrent step reads: a part of one position of the network's input, and the state before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from lexproof.bounds.graph import Box, LinearOp, Pulled


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
