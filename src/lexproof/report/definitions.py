"""Definitions: what each number means, printed beside it.  A summary may bring its own wording for any of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DEFINITIONS: dict[str, str] = {
    "clean": "Share of all texts that are classified correctly as they stand.",
    "aua": "Accuracy under attack: share of all texts that are classified correctly and that the attack did not break.",
    "certified": "Share of all texts that are classified correctly and proven safe: no allowed text changes the label.",
    "success": "Attack success: broken texts as a share of the correctly classified ones.",
    "closed": "Share of texts whose minimum number of swaps is known exactly, or proven not to exist.",
    "minimum": "Mean minimum number of swaps over the texts that are broken; two numbers where some minima are open.",
    "share": "Mean share of the allowed texts that flip the label, drawn uniformly or counted completely.",
    "above": "Share of the correctly classified texts with PR > 0.9: over 90% of the allowed texts keep the label.",
    "queries": "Mean number of texts the classifier had to score for one answer; repeats are answered from memory.",
}


def definition(summary: Mapping[str, Any], name: str) -> str:
    """The wording of the summary, or else the one above."""
    own = (summary.get("definitions") or {}).get(name)
    return str(own or DEFINITIONS.get(name, ""))


def further(summary: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Definitions that the summary brings for numbers other than those above."""
    own = summary.get("definitions") or {}
    return tuple((str(name), str(text)) for name, text in own.items() if name not in DEFINITIONS)
