"""How a bracket of the safe radius is asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lexproof.errors import InputError

UPPERS = ("descent", "words", "mcts")
NORMS = {"1": 1.0, "l1": 1.0, "2": 2.0, "l2": 2.0, "inf": math.inf, "linf": math.inf}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to bracket a radius.

    `uppers` are the ways to an upper end: `descent` in the ball, `words` of the vocabulary, any one open word by all
    others, `mcts` all open words by the nearest ones.  The lower end is within `tolerance` of what the bounds certify.
    `time_limit` is in seconds a text; what is proven by then is kept.  `neighbors`: how many of the nearest words are
    tried; None for all words in the place of one of an `mlp` or `cnn`, which is quick, and for the nearest thousand
    otherwise.
    """

    norm: float = 2.0
    uppers: tuple[str, ...] = ("descent", "words")
    tolerance: float = 0.01
    seed: int = 0
    time_limit: float | None = None
    neighbors: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "norm", norm_of(self.norm))
        for name in self.uppers:
            if name not in UPPERS:
                raise InputError(f"expected upper ends out of {', '.join(UPPERS)}, got {name!r}")
        if not 0 < self.tolerance < 1:
            raise InputError(f"expected a tolerance between 0 and 1, got {self.tolerance!r}")
        if self.time_limit is not None and not self.time_limit >= 0:
            raise InputError(f"expected time_limit >= 0, got {self.time_limit!r}")
        if self.neighbors is not None and self.neighbors < 1:
            raise InputError(f"expected neighbors >= 1, got {self.neighbors!r}")


def norm_of(given: float | str) -> float:
    """1, 2 or inf, by number or name."""
    name = str(given).lower().removesuffix(".0")
    if name not in NORMS:
        raise InputError(f"expected the norm 1, 2 or inf, got {given!r}")
    return NORMS[name]
