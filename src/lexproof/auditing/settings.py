"""Everything an audit can be told, with its defaults; recorded in the run folder."""

from __future__ import annotations

from dataclasses import dataclass

from lexproof.errors import InputError
from lexproof.statistics.intervals import check_confidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How each text is examined.

    `max_share` / `max_swaps`: at most this share of the words, and this many, may be swapped.
    `max_points`: texts enumerated for the lower end of a bracket (single swaps are always enumerated).
    `samples`: texts drawn for the share that flips (0: do not count), `confidence` of its interval.
    `max_queries`, `time_limit`: budget of one text; only the time limit makes answers depend on the machine.
    """

    attack: str = "textfooler"
    max_share: float | None = 0.25
    max_swaps: int | None = None
    max_points: int = 20_000
    samples: int = 500
    confidence: float = 0.95
    max_queries: int | None = None
    time_limit: float | None = 60.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_confidence(self.confidence)
        for name, least in (("max_points", 0), ("samples", 0), ("seed", 0), ("max_swaps", 0), ("max_queries", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise InputError(f"expected {name} >= {least}, got {value}")
        if self.max_share is not None and not 0 < self.max_share <= 1:
            raise InputError(f"expected max_share in (0, 1], got {self.max_share}")
        if self.time_limit is not None and self.time_limit <= 0:
            raise InputError(f"expected time_limit > 0, got {self.time_limit}")
