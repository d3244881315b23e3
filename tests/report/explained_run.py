"""Invented explanations for the tests of the report, of texts that are made to be awkward too."""

from __future__ import annotations

import random
from typing import Any

from lexproof.text import Text


def explanation(surface: str, seed: int = 0) -> dict[str, Any]:
    """What a run keeps of an explanation by radius, swaps and LIME; the gradient is left out."""
    rng = random.Random(f"{seed}:{surface!a}")
    words = list(Text.parse(surface).words)
    safe = [rng.random() < 0.2 for _ in words]
    lower = [5.0 if own else rng.uniform(0.1, 1.0) for own in safe]
    least = min((r for r, own in zip(lower, safe, strict=True) if not own), default=0.0)
    drops = [round(rng.uniform(-0.2, 0.6), 3) if rng.random() < 0.6 else None for _ in words]
    return {
        "label": 1,
        "words": words,
        "norm": 2.0,
        "methods": {
            "radius": {
                "saliency": [0.0 if own else least / r for r, own in zip(lower, safe, strict=True)],
                "lower": lower,
                "diameter": [5.0] * len(words),
                "any_replacement": safe,
                "reason": "",
            },
            "swaps": {
                "saliency": drops,
                "substitute": [None if drop is None else f"<{word}>" for drop, word in zip(drops, words, strict=True)],
                "flips": [None if drop is None else drop > 0.4 for drop in drops],
                "reason": "",
            },
            "gradient": {"saliency": None, "reason": "no <gradients>"},
            "lime": {"saliency": [round(rng.uniform(-0.3, 0.3), 3) for _ in words], "reason": ""},
        },
    }


def explained(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same records, all but the errors with an explanation."""
    return [
        record if record["answer"] == "error" else {**record, "explanation": explanation(record["text"], number)}
        for number, record in enumerate(records)
    ]
