"""One JSON record a text: what a run stores, the report shows and `--json` prints."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from lexproof.answers import Minimum
from lexproof.asking import Answered
from lexproof.auditing.question import MOST_COUNTED_SWAPS, Finding
from lexproof.errors import ModelError
from lexproof.explaining import Explainer
from lexproof.space import Space
from lexproof.victims.base import Victim

_MOST_BREAKERS = 1000  # listed a text; a record should not outgrow its text

Record = dict[str, Any]


def record_of(answered: Answered[Finding], seed: int) -> Record:
    """The record of an answered text, or of one that the victim could not answer."""
    space = answered.item.space
    cost = answered.outcome.cost
    record: Record = {
        "id": answered.item.key,
        "text": str(space.original),
        "premise": space.original.premise,
        "label": None if answered.error is not None and answered.item.label is None else answered.goal.label,
        "predicted": None,
        "scores": None,
        "answer": "error",
        "lower": 0,
        "upper": None,
        "swaps": None,
        "witness": None,
        "witness_predicted": None,
        "changed": [],
        "words": space.n,
        "open": len(space.open),
        "max_swaps": space.max_swaps,
        "points": size_of(space),
        "certificate": None,
        "reason": "" if answered.error is None else str(answered.error),
        "breakers": [],
        "share": None,
        "queries": cost.queries,
        "cached": cost.cached,
        "seconds": round(cost.seconds, 6),
        "seed": seed,
    }
    if answered.answer is not None:
        record.update(_finding(answered.answer, space))
    return record


def explanation_of(explainer: Explainer, victim: Victim, answered: Answered[Finding]) -> Record | None:
    """Why the victim reads an answered text as it does; without times, which would differ from run to run."""
    if answered.error is not None:
        return None
    try:
        found = explainer.explain(victim, answered.item.space).saliency_json()
    except ModelError as error:  # the text itself was answered: that stands
        return {"label": None, "words": [], "methods": {}, "reason": str(error)}
    for method in found["methods"].values():
        del method["seconds"]
    return found


def size_of(space: Space) -> str | None:
    """The exact number of points as decimal digits; None where the number is too long to be of use."""
    return str(space.size) if space.max_swaps <= MOST_COUNTED_SWAPS else None


def _finding(finding: Finding, space: Space) -> Record:
    bracket = finding.bracket
    upper = bracket.upper
    robust = upper is None and bracket.lower > space.max_swaps
    kind = "minimum" if isinstance(bracket, Minimum) else "robust" if robust else "bracket"
    return {
        "predicted": None if finding.scores is None else int(finding.scores.argmax()),
        "scores": None if finding.scores is None else [round(float(score), 6) for score in finding.scores],
        "answer": kind,
        "lower": bracket.lower,
        "upper": upper,
        "swaps": upper,
        "witness": bracket.witness,
        "witness_predicted": bracket.witness_predicted,
        "changed": [asdict(change) for change in bracket.changed],
        "certificate": None if bracket.certificate is None else bracket.certificate.to_json(),
        "reason": "" if isinstance(bracket, Minimum) else bracket.reason,
        "breakers": [asdict(change) for change in finding.breakers[:_MOST_BREAKERS]],
        "share": None if finding.share is None else _share(finding.share.to_json()),
    }


def _share(record: Record) -> Record:
    keys = ("value", "low", "high", "confidence", "n", "flips", "method", "radius")
    return {key: record[key] for key in keys}
