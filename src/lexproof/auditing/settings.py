"""Everything an audit can be told, with its defaults; recorded in the run folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from lexproof.candidates.similarity import Measure
from lexproof.certify.cascade import PROVERS, check_provers
from lexproof.constraints import Constraints
from lexproof.errors import InputError
from lexproof.explaining import Explainer
from lexproof.statistics.intervals import check_confidence

_SAMPLES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How each text is examined.

    `attack`: name with settings, for the upper ends of brackets; None: `best`, or `decision` for labels only.
    `max_share` / `max_swaps`: at most this share of the words, and this many, may be swapped; `max_candidates`,
    `least_swaps`, `floor`, `window`, `short_floor`, `measure`, `queries_per_word`: see `Constraints`.
    `provers`: for the lower ends, tried from cheap to dear; `max_points`: texts scored for the lower end of a bracket
    (single swaps always are), `max_nodes`: nodes of branch and bound.
    `samples`: texts drawn for the share that flips (0: do not count; None: 500, or 0 with a floor, where each draw
    costs a sentence encoder many milliseconds), `confidence` of its interval.
    `max_queries`, `time_limit`: budget of one text; only the time limit makes answers depend on the machine.
    `explain`: methods by which each text is also explained, outside of that budget (safe radii have a time limit of
    their own, as long); None: not at all.
    """

    attack: str | None = None
    max_share: float | None = 0.25
    max_swaps: int | None = None
    max_candidates: int | None = None
    least_swaps: int = 1
    floor: float | None = None
    window: int | None = None
    short_floor: float | None = None
    measure: Measure = "cosine"
    queries_per_word: int | None = None
    provers: tuple[str, ...] = PROVERS
    max_points: int = 20_000
    max_nodes: int | None = 20_000
    samples: int | None = None
    confidence: float = 0.95
    max_queries: int | None = None
    time_limit: float | None = 60.0
    seed: int = 0
    explain: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "provers", check_provers(self.provers))
        check_confidence(self.confidence)
        for name in ("max_points", "max_nodes", "samples", "seed", "max_queries"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise InputError(f"expected {name} >= 0, got {value}")
        if self.time_limit is not None and not self.time_limit > 0:
            raise InputError(f"expected time_limit > 0, got {self.time_limit}")
        _ = self.constraints, self.explainer  # which check themselves

    @property
    def draws(self) -> int:
        """Texts drawn for the share that flips."""
        if self.samples is not None:
            return self.samples
        return _SAMPLES if self.floor is None else 0

    @property
    def constraints(self) -> Constraints:
        """What the adversary may do."""
        return Constraints(**{field.name: getattr(self, field.name) for field in fields(Constraints)})

    @property
    def explainer(self) -> Explainer | None:
        """What explains each text, if anything does."""
        if self.explain is None:
            return None
        return Explainer(methods=tuple(self.explain), seed=self.seed, time_limit=self.time_limit)

    def to_json(self) -> dict[str, Any]:
        """Everything that a run records; `explain` only if something is to be explained, as runs always were."""
        return {name: value for name, value in asdict(self).items() if name != "explain" or value is not None}
