"""Answers: what the verbs return.  Frozen, checked before they are handed out, and equal after a JSON round trip.

| answer  | says | evidence |
|---|---|---|
| Broken  | there is a flip | the witness text |
| Robust  | there is none within `radius` swaps | certificate |
| Minimum | exactly `swaps` swaps are needed | witness, and certificate for `swaps - 1` |
| Bracket | the minimum lies in `lower … upper` (None: no flip is known) | witness, and certificate for `lower - 1` |
| Share   | this share of the points flips | counts and confidence |
| ShareCurve | the same for every number of swaps | a Share for each number of swaps |
| Unknown | nothing could be settled, and why | - |
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar

from lexproof.errors import InputError
from lexproof.space import Change


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What an answer cost: model inputs, repeats answered from memory, and seconds.

    `queries` are distinct inputs, but for an enumeration that is too large to remember: what it asks counts again.
    """

    queries: int = 0
    cached: int = 0
    seconds: float = 0.0

    @property
    def logical(self) -> int:
        """Questions asked, repeats included."""
        return self.queries + self.cached

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            queries=self.queries + other.queries,
            cached=self.cached + other.cached,
            seconds=self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One part of a proof: texts with `first … last` swaps keep their label.

    `enumeration`: all `points` of them were scored; `margin` is the least difference of scores.
    `interval`, `linear`, `branch-and-bound`, `milp`: every difference of logits exceeds `margin`; `detail` holds what a
    checker needs to derive that again.
    """

    method: str
    first: int
    last: int
    margin: float
    points: int = 0
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Why no flip exists within `radius` swaps: steps that together cover 0 … radius swaps.

    Each step's margin exceeds `rounding`, the stated bound on the victim's floating-point error (twice that for
    differences of logits, which the softmax halves).  Replay: `lexproof.recheck(certificate, victim, space)`.
    A flip is any label but `label`, or exactly `target` if there is one.
    """

    label: int
    target: int | None
    radius: int
    rounding: float
    victim: str
    space: str
    steps: tuple[Step, ...]

    @property
    def method(self) -> str:
        """The methods used, the one that reached farthest first."""
        return " + ".join(dict.fromkeys(step.method for step in reversed(self.steps)))

    @property
    def points(self) -> int:
        """Texts that were scored."""
        return sum(step.points for step in self.steps)

    @property
    def margin(self) -> float:
        """The least margin of a step: of scores where texts were scored, of logits where they were bounded."""
        return min((step.margin for step in self.steps), default=math.inf)

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary; `certificate_from` gives back an equal certificate."""
        return {"method": self.method, "points": self.points, **asdict(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Base of all answers."""

    kind: ClassVar[str] = "answer"
    cost: Cost = field(default_factory=Cost)

    @property
    def queries(self) -> int:
        """Unique model inputs."""
        return self.cost.queries

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary; `from_json` gives back an equal answer."""
        record = {"answer": self.kind, **asdict(self)}
        cost = record.pop("cost")
        certificate = getattr(self, "certificate", None)
        if certificate is not None:
            record["certificate"] = certificate.to_json()
        return {**record, **cost, "logical": self.cost.logical}


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken(Answer):
    """A flip exists: `witness` is a text of the space that the victim does not give the label."""

    kind: ClassVar[str] = "broken"
    witness: str
    changed: tuple[Change, ...]
    witness_predicted: int

    @property
    def swaps(self) -> int:
        """Number of swapped words."""
        return len(self.changed)

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary."""
        return {**Answer.to_json(self), "swaps": self.swaps}


@dataclass(frozen=True, slots=True, kw_only=True)
class Robust(Answer):
    """No text within `radius` swaps is a flip."""

    kind: ClassVar[str] = "robust"
    radius: int
    certificate: Certificate


@dataclass(frozen=True, slots=True, kw_only=True)
class Minimum(Answer):
    """Exactly `swaps` swaps are needed: the witness has as many, the certificate rules out fewer.

    `swaps` = 0 is a text that is misclassified as it stands; it needs no certificate.
    """

    kind: ClassVar[str] = "minimum"
    witness: str
    changed: tuple[Change, ...]
    witness_predicted: int
    certificate: Certificate | None

    @property
    def swaps(self) -> int:
        """The exact minimum number of swaps."""
        return len(self.changed)

    lower = upper = swaps

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary."""
        return {**Answer.to_json(self), "swaps": self.swaps, "lower": self.swaps, "upper": self.swaps}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket(Answer):
    """The minimum number of swaps is at least `lower` and, if a witness is known, at most `upper`.

    `lower` = max_swaps + 1 with `upper` None says that the whole space holds no flip.
    """

    kind: ClassVar[str] = "bracket"
    lower: int
    upper: int | None
    witness: str | None
    changed: tuple[Change, ...]
    witness_predicted: int | None
    certificate: Certificate | None
    reason: str


class _Estimated:
    """A share that flips with an interval, seen from the other side."""

    __slots__ = ()
    value: float
    low: float
    high: float

    @property
    def robust(self) -> float:
        """The PDP paper's PR: the share of points that keep the label."""
        return 1.0 - self.value

    @property
    def robust_low(self) -> float:
        """Lower end of the interval of PR."""
        return 1.0 - self.high

    @property
    def robust_high(self) -> float:
        """Upper end of the interval of PR."""
        return 1.0 - self.low


@dataclass(frozen=True, slots=True, kw_only=True)
class Share(_Estimated, Answer):
    """The share of points that flip lies in [low, high] with probability at least `confidence`.

    `method` is `anytime`, `clopper-pearson` or `hoeffding` for `n` uniform draws; `exact` (low = value = high) if all
    `n` points of the space are settled, each scored or proven not to flip (`queries` says how many were scored);
    `partial` if the budget was spent after `n` of them: the interval allows for whatever the others do.
    `settled` says whether PR is `above` the `threshold`, or `below` (at most the threshold); empty if the interval of
    PR holds it, or none was asked about.
    """

    kind: ClassVar[str] = "share"
    value: float
    low: float
    high: float
    confidence: float
    n: int
    flips: int
    method: str
    radius: int
    seed: int | None = None
    threshold: float | None = None
    settled: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RadiusShare(_Estimated):
    """The share of the points with at most `radius` swaps that flip."""

    radius: int
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareCurve(Answer):
    """The share that flips at every radius, counted by number of swaps.

    `strata[k]` is about the points with exactly k swaps, `radii[r]` about those with at most r.  All these intervals
    hold together with probability at least `confidence`.
    """

    kind: ClassVar[str] = "share-curve"
    confidence: float
    strata: tuple[Share, ...]
    radii: tuple[RadiusShare, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown(Answer):
    """Nothing could be settled; `reason` says why."""

    kind: ClassVar[str] = "unknown"
    reason: str


_KINDS: dict[str, type[Answer]] = {c.kind: c for c in (Broken, Robust, Minimum, Bracket, Share, ShareCurve, Unknown)}


def from_json(record: Mapping[str, Any]) -> Answer:
    """The answer that `to_json` wrote; keys that belong to the run, not the answer, are ignored."""
    kind = record.get("answer")
    if kind not in _KINDS:
        raise InputError(f"expected 'answer' to be one of {', '.join(_KINDS)}, got {kind!r}")
    cls = _KINDS[kind]
    names = {f.name for f in fields(cls)} - {"cost"}
    later = {"threshold", "settled"}  # which records of earlier versions do not hold
    missing = sorted(names - later - record.keys())
    if missing:
        raise InputError(f"expected keys {', '.join(sorted(names))} for {kind!r}, missing {', '.join(missing)}")
    values = {name: record[name] for name in names if name in record}
    if "changed" in values:
        values["changed"] = tuple(Change(**change) for change in values["changed"])
    if values.get("certificate") is not None:
        values["certificate"] = certificate_from(values["certificate"])
    if "strata" in values:
        values["strata"] = tuple(Share(**{**share, "cost": Cost(**share["cost"])}) for share in values["strata"])
        values["radii"] = tuple(RadiusShare(**row) for row in values["radii"])
    cost = Cost(**{key: record[key] for key in ("queries", "cached", "seconds") if key in record})
    return cls(**values, cost=cost)


def certificate_from(record: Mapping[str, Any]) -> Certificate:
    """The certificate that an answer's JSON holds."""
    steps = tuple(Step(**step) for step in record["steps"])
    stated = {key: value for key, value in record.items() if key not in ("method", "points", "steps")}
    return Certificate(**stated, steps=steps)
