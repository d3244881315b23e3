"""Status: what is known of one text, in six words that the filters, charts and rows share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lexproof.errors import InputError

STATUSES: dict[str, tuple[str, str]] = {
    "wrong": ("misclassified", "Misclassified as it stands"),
    "exact": ("exact", "Broken, minimum exact"),
    "open": ("open", "Broken, minimum open"),
    "unsettled": ("not settled", "No flip known, not settled"),
    "robust": ("proven safe", "Proven safe"),
    "error": ("error", "Not answered"),
}
"""Status to the word on a row and the words in the filter, in the order in which they are offered."""

CLOSED = frozenset({"wrong", "exact", "robust"})
"""Statuses in which nothing is left open."""

ANSWERS = ("minimum", "bracket", "robust", "error")


def status(record: Mapping[str, Any]) -> str:
    """The status of a record; InputError if its answer is none that a run records."""
    answer = record.get("answer")
    if answer not in ANSWERS:
        raise InputError(f"expected 'answer' to be one of {', '.join(ANSWERS)}, got {answer!r} in {record.get('id')!r}")
    if answer in ("robust", "error"):
        return str(answer)
    upper = record.get("upper")
    if upper is None:
        return "robust" if _beyond_space(record) else "unsettled"
    if upper == 0:
        return "wrong"
    return "exact" if answer == "minimum" or record.get("lower") == upper else "open"


def _beyond_space(record: Mapping[str, Any]) -> bool:
    # a bracket that starts above the allowed number of swaps says that the whole space holds no flip
    lower, limit = record.get("lower"), record.get("max_swaps")
    return lower is not None and limit is not None and lower > limit
