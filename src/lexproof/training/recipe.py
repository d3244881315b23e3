"""Recipes: the numbers that a training is run by."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any

from lexproof.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How to train: `patience` is the number of epochs without a better one after which training stops."""

    epochs: int = 10
    batch_size: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    patience: int = 3
    largest_norm: float = 5.0

    def __post_init__(self) -> None:
        check_numbers(self)
        for name in ("epochs", "batch_size", "learning_rate", "patience", "largest_norm"):
            if not getattr(self, name) > 0:
                raise InputError(f"expected {name} > 0, got {getattr(self, name)!r}")
        if not self.weight_decay >= 0:
            raise InputError(f"expected weight_decay >= 0, got {self.weight_decay!r}")

    def pace(self, step: int, steps: int) -> float:
        """The share of the learning rate at step 0, 1, … of so many."""
        return 1.0


def check_numbers(recipe: Any) -> None:
    """InputError if a field of a dataclass that is declared as int or float holds anything else."""
    for field in fields(recipe):
        value = getattr(recipe, field.name)
        if field.type == "int" and type(value) is not int:
            raise InputError(f"expected {field.name} to be a whole number, got {value!r}")
        if field.type == "float" and (not isinstance(value, Real) or isinstance(value, bool) or math.isinf(value)):
            raise InputError(f"expected {field.name} to be a number, got {value!r}")
