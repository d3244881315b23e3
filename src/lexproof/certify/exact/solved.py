"""What an exact solver answers: a bracket on the smallest number of swaps, with a witness above and a proof below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """A bracket lower <= R <= upper, R being the smallest number of swaps with some margin_k <= theta.

    No point with fewer than `lower` swaps is adversarial: this is proven.  `swaps` are candidate indexes of an
    adversarial point with `upper` swaps, evaluated exactly; `upper` is None if no such point is known.  A solver that
    was asked for at most `max_swaps` swaps and proved that there is none answers lower = max_swaps + 1.

    `reason` is empty if the question is answered, else it says why the solver stopped.  `proof` is a tree of plain
    JSON values for "no point with fewer than `lower` swaps is adversarial", or None if none was recorded.
    """

    lower: int
    upper: int | None
    swaps: tuple[int, ...]
    nodes: int
    seconds: float
    reason: str
    proof: Any = None

    @property
    def is_closed(self) -> bool:
        """Whether both ends are equal: `upper` is the exact minimum."""
        return self.upper == self.lower
