"""What the checker says about a certificate and about each of its steps."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Status = Literal["verified", "derived again", "too large", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedStep:
    """One step: `how` it was looked at, and what was wrong if anything was.

    `verified`: by scoring every text, or by recomputing every bound of its proof tree.  `derived again`: by the method
    that made it, so an error of that method would not be noticed.  `too large`: not looked at.
    """

    method: str
    first: int
    last: int
    status: Status
    how: str
    reason: str = ""
    texts: int = 0  # that were scored
    regions: int = 0  # of a proof tree that were looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A certificate: `verified` if every step is, `derived again` if the others are, else `refused` and why."""

    status: Status
    reason: str
    radius: int | None
    steps: tuple[CheckedStep, ...]
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong with it."""
        return self.status in ("verified", "derived again")

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary."""
        return {**asdict(self), "steps": [asdict(step) for step in self.steps]}
