"""Scale: tick marks at round numbers."""

from __future__ import annotations

from dataclasses import dataclass

_STEPS = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick mark: where, and what it says."""

    at: float
    label: str


def whole_ticks(end: int, most: int = 10) -> tuple[int, ...]:
    """Multiples of 1, 2 or 5 times a power of ten from 0 to `end`, at most `most` + 1 of them."""
    scale = 1
    while True:
        for step in _STEPS:
            if end <= most * step * scale:
                return tuple(range(0, end + 1, step * scale))
        scale *= 10
