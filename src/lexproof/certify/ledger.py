"""What is known of one text while it is being proven: kept through any interruption."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lexproof.answers import Step
from lexproof.points import IntArray


@dataclass(slots=True)
class Ledger:
    """Steps that cover 0 … radius swaps, the flip with the fewest swaps, and why no more is known."""

    steps: list[Step] = field(default_factory=list)
    flip: IntArray | None = None
    reason: str = ""
    points: int = 0  # texts that were scored for the proof, also where that settled nothing

    @property
    def radius(self) -> int:
        """No text with so many swaps or fewer is a flip; -1: not even the text itself is settled."""
        return self.steps[-1].last if self.steps else -1

    @property
    def swaps(self) -> int | None:
        """The number of swaps of the flip."""
        return None if self.flip is None else int(np.count_nonzero(self.flip))

    def is_settled(self, upto: int) -> bool:
        """Whether all texts with up to so many swaps are proven, or the flip has the fewest swaps that a flip can."""
        return self.radius >= upto or (self.swaps is not None and self.swaps <= self.radius + 1)

    def enumerated(self, swaps: int, points: int, margin: float) -> None:
        """All texts with exactly so many swaps, one more than the radius, were scored."""
        assert swaps == self.radius + 1
        self.points += points
        last = self.steps[-1] if self.steps else None
        if last is not None and last.method == "enumeration":
            self.steps[-1] = Step(
                method="enumeration",
                first=last.first,
                last=swaps,
                margin=min(last.margin, margin),
                points=last.points + points,
            )
        else:
            self.steps.append(Step(method="enumeration", first=swaps, last=swaps, margin=margin, points=points))

    def proven(self, method: str, last: int, margin: float, detail: Mapping[str, Any] | None = None) -> None:
        """A method has proven all texts with up to `last` swaps; a margin that overflowed proves nothing."""
        if last > self.radius and math.isfinite(margin):
            found = Step(method=method, first=self.radius + 1, last=last, margin=margin, detail=dict(detail or {}))
            self.steps.append(found)

    def found(self, flip: IntArray) -> None:
        """A flip; kept if it has fewer swaps than the one known."""
        if self.swaps is None or np.count_nonzero(flip) < self.swaps:
            self.flip = flip
