"""An invented run for the tests of the report: every status, every field, all numbers consistent with each other.

Nothing in it was measured.  The summary is computed from the records, so that page and records can be compared.
"""

from __future__ import annotations

import random
from typing import Any

from scipy.stats import beta

from lexproof.text import Text

LABELS = ["negative", "positive"]
SUBSTITUTES = {
    "good": ["decent", "nice", "fine"],
    "bad": ["poor", "lousy"],
    "charming": ["lovely", "cute"],
    "dull": ["boring", "tedious"],
    "clever": ["smart", "crafty"],
    "story": ["tale", "plot"],
    "film": ["movie", "picture"],
    "slow": ["sluggish", "gradual"],
    "moving": ["touching", "poignant"],
    "often": ["frequently"],
    "funny": ["amusing", "comical"],
    "acting": ["performances"],
}
OPENINGS = (
    "a charming and often funny film",
    "the story is dull, and the acting is worse",
    "slow at first but moving in the end",
    "bad jokes, good intentions",
    "clever, warm and never slow",
    "there is a good film somewhere in this dull story",
)
MIDDLES = (
    "that knows what it wants to say",
    "with acting that carries every scene",
    "although the plot often wanders",
    "which is more than the trailer promised",
    "and the last act is bad enough to spoil it",
)
ENDINGS = (
    "; see it with friends.",
    ", if you have two hours to spare!",
    " — a moving surprise.",
    ". I would not sit through it again.",
    ", though the jokes are good.",
)
KINDS = ("wrong", "exact", "exact", "exact", "open", "open", "unsettled", "robust", "robust")


def share_of(k: int, n: int, confidence: float = 0.95) -> dict[str, Any]:
    """A share with its Clopper-Pearson interval."""
    if n == 0:
        return {"value": None, "low": 0.0, "high": 1.0, "n": 0, "k": 0, "confidence": confidence}
    tail = (1 - confidence) / 2
    low = 0.0 if k == 0 else float(beta.ppf(tail, k, n - k + 1))
    high = 1.0 if k == n else float(beta.ppf(1 - tail, k + 1, n - k))
    return {"value": k / n, "low": low, "high": high, "n": n, "k": k, "confidence": confidence}


def records(n: int = 60, seed: int = 0) -> list[dict[str, Any]]:
    """`n` invented records, the last but one an error if there are enough of them."""
    rng = random.Random(seed)
    made = [_record(i, rng) for i in range(n)]
    if n > 10:
        made[-2] = _error(n - 2)
    return made


def _record(i: int, rng: random.Random) -> dict[str, Any]:
    surface = rng.choice(OPENINGS) + " " + rng.choice(MIDDLES) + rng.choice(ENDINGS)
    text = Text.parse(surface)
    open_positions = [k for k, word in enumerate(text.words) if word in SUBSTITUTES]
    limit = min(max(1, len(text) // 4), len(open_positions))
    kind = rng.choice(KINDS)
    label = rng.randrange(2)
    lower, upper = _bracket(kind, limit, rng)
    predicted = 1 - label if kind == "wrong" else label
    top = round(rng.uniform(0.55, 0.99), 3)
    changed = _changes(text, open_positions, upper or 0, rng)
    witness = str(text.swap({c["position"]: c["new"] for c in changed})) if upper is not None else None
    breakers = [_change(text, rng.choice(open_positions), rng)] if kind == "exact" and upper == 1 else []
    value = {"robust": 0.0, "unsettled": 0.0}.get(kind, rng.betavariate(0.7, 6))
    answer = {"wrong": "minimum", "exact": "minimum", "robust": "robust"}.get(kind, "bracket")
    return {
        "id": i,
        "text": surface,
        "premise": None,
        "label": label,
        "predicted": predicted,
        "scores": [top, round(1 - top, 3)] if predicted == 0 else [round(1 - top, 3), top],
        "answer": answer,
        "lower": lower,
        "upper": upper,
        "swaps": upper,
        "witness": witness,
        "witness_predicted": None if upper is None else 1 - label,
        "changed": changed,
        "words": len(text),
        "open": len(open_positions),
        "max_swaps": limit,
        "points": str(rng.randrange(40, 10**6) if i % 7 else 10**41 + i),
        "certificate": _certificate(lower - 1, rng) if lower > 1 else None,
        "reason": "stopped at 20000 points" if answer == "bracket" else "",
        "breakers": [*changed, *(b for b in breakers if b not in changed)] if upper == 1 else breakers,
        "share": None if kind == "wrong" else _share(value, limit, kind, rng),
        "queries": rng.randrange(20, 4000),
        "cached": rng.randrange(0, 200),
        "seconds": round(rng.uniform(0.01, 3), 3),
        "seed": 0,
    }


def _bracket(kind: str, limit: int, rng: random.Random) -> tuple[int, int | None]:
    if kind == "wrong":
        return 0, 0
    if kind == "robust":
        return limit + 1, None
    if kind == "unsettled":
        return rng.randint(1, limit), None
    upper = min(limit, rng.choice((1, 1, 2, 2, 3)))
    if kind == "exact":
        return upper, upper
    upper = max(2, upper)
    return rng.randint(1, upper - 1), upper


def _change(text: Text, position: int, rng: random.Random) -> dict[str, Any]:
    old = text.words[position]
    return {"position": position, "old": old, "new": rng.choice(SUBSTITUTES[old])}


def _changes(text: Text, positions: list[int], number: int, rng: random.Random) -> list[dict[str, Any]]:
    return [_change(text, k, rng) for k in sorted(rng.sample(positions, min(number, len(positions))))]


def _certificate(radius: int, rng: random.Random) -> dict[str, Any]:
    return {
        "method": rng.choice(("enumeration", "enumeration", "linear")),
        "radius": radius,
        "points": rng.randrange(20, 20000),
        "margin": round(rng.uniform(0.01, 0.6), 4),
        "rounding": 1e-05,
        "victim": "ab12cd34",
        "space": f"{rng.randrange(16**8):08x}",
    }


def _share(value: float, radius: int, kind: str, rng: random.Random) -> dict[str, Any]:
    n = 5000
    flips = round(value * n)
    bounds = share_of(flips, n, 0.995)
    exact = kind == "robust"
    return {
        "value": flips / n,
        "low": flips / n if exact else bounds["low"],
        "high": flips / n if exact else bounds["high"],
        "confidence": 1.0 if exact else 0.995,
        "n": n,
        "flips": flips,
        "method": "exact" if exact else rng.choice(("clopper-pearson", "hoeffding")),
        "radius": radius,
    }


def _error(i: int) -> dict[str, Any]:
    return {
        "id": i,
        "text": "a row that could not be answered",
        "premise": None,
        "label": 1,
        "predicted": None,
        "scores": [],
        "answer": "error",
        "lower": None,
        "upper": None,
        "swaps": None,
        "witness": None,
        "witness_predicted": None,
        "changed": [],
        "words": 7,
        "open": 0,
        "max_swaps": 0,
        "points": None,
        "certificate": None,
        "reason": "expected finite scores, got [nan, nan]",
        "breakers": [],
        "share": None,
        "queries": 1,
        "cached": 0,
        "seconds": 0.001,
        "seed": 0,
    }


def _holds(record: dict[str, Any], swaps: int, *, proven: bool) -> bool:
    if record["answer"] == "error" or record["predicted"] != record["label"]:
        return False
    if proven:
        return record["answer"] == "robust" or record["lower"] > swaps
    return record["upper"] is None or record["upper"] > swaps


def _dangerous(made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for record in made:
        alone = {(change["old"], change["new"]) for change in record["breakers"]}
        for pair in sorted(alone | {(change["old"], change["new"]) for change in record["changed"]}):
            empty = {"old": pair[0], "new": pair[1], "texts": 0, "alone": 0, "examples": []}
            entry = found.setdefault(pair, empty)
            entry["texts"] += 1
            entry["alone"] += pair in alone
            entry["examples"] = [*entry["examples"], record["id"]][:3]
    return sorted(found.values(), key=lambda entry: (-entry["texts"], -entry["alone"], entry["old"], entry["new"]))


def _median(values: list[int]) -> int:
    return sorted(values)[len(values) // 2] if values else 0


def _means(made: list[dict[str, Any]]) -> dict[str, Any]:
    broken = [r for r in made if r["upper"]]
    queries = [r["queries"] for r in made]
    return {
        "minimum": {
            "mean_lower": sum(r["lower"] for r in broken) / len(broken) if broken else None,
            "mean_upper": sum(r["upper"] for r in broken) / len(broken) if broken else None,
            "n": len(broken),
            "closed": sum(r["lower"] == r["upper"] for r in broken),
        },
        "queries": {
            "mean": sum(queries) / len(made) if made else None,
            "median": _median(queries),
            "total": sum(queries),
        },
        "share": _shares(made),
    }


def _shares(made: list[dict[str, Any]]) -> dict[str, Any]:
    counted = [r for r in made if r["share"]]
    values = [r["share"]["value"] for r in counted]
    exact = sum(r["share"]["method"] == "exact" for r in counted)
    return {
        "mean": sum(values) / len(values) if values else None,
        "n": len(values),
        "above": {**_above(values), "threshold": 0.9, "exact": exact, "settled": exact},
        "classes": [
            {"label": label, "above": _above([r["share"]["value"] for r in counted if r["label"] == label])}
            for label in sorted({r["label"] for r in counted})
        ],
    }


def _above(shares: list[float]) -> dict[str, Any]:
    return share_of(sum(1 - share > 0.9 for share in shares), len(shares))


def summary(made: list[dict[str, Any]]) -> dict[str, Any]:
    """The summary of invented records."""
    n = len(made)
    right = sum(_holds(record, 0, proven=False) for record in made)
    end = max((record["max_swaps"] for record in made), default=0)
    standing = sum(_holds(record, end, proven=False) for record in made)
    closed = sum(r["answer"] in ("minimum", "robust") for r in made)
    return {
        "schema": 1,
        "lexproof": "0.1.0",
        "title": "an invented classifier on invented texts",
        "created": "2026-11-15T21:00:00Z",
        "seed": 0,
        "seconds": 31.2,
        "finished": True,
        "victim": {"name": "invented-cnn", "kind": "cnn", "labels": LABELS, "fingerprint": "ab12cd34ef56ab78"},
        "data": {"name": "invented", "n": n, "bad_rows": [{"line": 7, "reason": "label 5 is not one of 0, 1"}]},
        "candidates": {"name": "default", "top": 8, "minimum_cosine": 0.7, "stop_words": False},
        "attack": "textfooler",
        "max_share": 0.25,
        "max_swaps": None,
        "clean": share_of(right, n),
        "aua": share_of(standing, n),
        "certified": share_of(sum(_holds(record, end, proven=True) for record in made), n),
        "success": share_of(right - standing, right),
        "closed": share_of(closed, n),
        "curve": [
            {
                "swaps": swaps,
                "attacked": share_of(sum(_holds(r, swaps, proven=False) for r in made), n),
                "certified": share_of(sum(_holds(r, swaps, proven=True) for r in made), n),
            }
            for swaps in range(end + 1)
        ],
        **_means(made),
        "dangerous": _dangerous(made),
        "definitions": {"flip": "The predicted label differs from the gold label."},
    }
