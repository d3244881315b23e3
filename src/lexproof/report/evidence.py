"""Evidence: what stands behind the answer of one text, in plain words.

Every statement is read off the record; where the record is silent, so is the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lexproof.report.numerals import NOTHING, confidence, count, duration, interval, percent, plural, score, small
from lexproof.report.visible import visible

_MOST_SHOWN = 100


def label_name(labels: Sequence[str], label: int | None) -> str:
    """The name of a label, or its number if it has none."""
    if label is None:
        return "unknown"
    return visible(str(labels[label])) if 0 <= label < len(labels) else f"label {label}"


def verdict(record: Mapping[str, Any], status: str, labels: Sequence[str]) -> str:
    """One sentence: what was found for this text."""
    label = label_name(labels, record.get("label"))
    if status == "error":
        return f"labeled {label}; could not be answered: {visible(record.get('reason') or 'no reason given')}"
    if status == "wrong":
        return f"labeled {label}, read as {label_name(labels, record.get('predicted'))} without any swap"
    if status == "robust":
        limit = record["max_swaps"]
        why = f"nothing up to {plural(limit, 'swap')} changes it" if limit else "no word of it can be swapped"
        return f"labeled {label}; {why}"
    ruled_out = max(record["lower"] - 1, 0)
    if status == "unsettled":
        excluded = f"; safe up to {plural(ruled_out, 'swap')}" if ruled_out else ""
        return f"labeled {label}; no flip is known{excluded}"
    swaps = record["upper"]
    fooled = label_name(labels, record.get("witness_predicted"))
    found = f"labeled {label}; {plural(swaps, 'swap')} {'makes' if swaps == 1 else 'make'} it {fooled}"
    if status == "exact":
        return found if swaps == 1 else f"{found}, and no fewer can"
    return f"{found}, perhaps fewer, but not fewer than {record['lower']}" if ruled_out else f"{found}, perhaps fewer"


def evidence(record: Mapping[str, Any], labels: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Terms and what the record says of them, without those of which it says nothing."""
    found = (
        ("Swaps", _changes(record.get("changed") or ())),
        ("Proof", _proof(record.get("certificate"))),
        ("Left open", visible(record.get("reason") or "")),
        ("Flips on its own", _changes(record.get("breakers") or ())),
        ("Share that flips", _share(record.get("share"))),
        ("Space", _space(record)),
        ("Scores", _scores(record.get("scores") or (), labels)),
        ("Cost", _cost(record)),
    )
    return tuple((term, text) for term, text in found if text)


def pair(change: Mapping[str, Any]) -> str:
    """A swap as "old → new", the form the search box finds it by."""
    return f"{visible(change['old'])} → {visible(change['new'])}"


def _changes(changes: Sequence[Mapping[str, Any]]) -> str:
    pairs = [pair(change) for change in changes[:_MOST_SHOWN]]
    if len(changes) > _MOST_SHOWN:
        pairs.append(f"and {count(len(changes) - _MOST_SHOWN)} more")
    return ", ".join(pairs)


def _proof(certificate: Mapping[str, Any] | None) -> str:
    if certificate is None:
        return ""
    # runs of the first version enumerated, and wrote the one step as the certificate itself
    steps = certificate.get("steps") or [{**certificate, "first": 0, "last": certificate["radius"]}]
    said = [_step(step, small(certificate["rounding"])) for step in steps]
    return " ".join([*said, visible(f"Victim {certificate['victim']}, space {certificate['space']}.")])


def _step(step: Mapping[str, Any], rounding: str) -> str:
    first, last = step["first"], step["last"]
    reach = f"at most {plural(last, 'swap')}" if first == 0 else f"{first} to {plural(last, 'swap')}"
    if first == last != 0:
        reach = plural(last, "swap")
    if step["method"] == "enumeration":
        texts, margin = plural(step["points"], "text"), small(step["margin"])
        return (
            f"Every text with {reach} was scored ({texts}); of those allowed, the least margin, {margin}, "
            f"exceeds the allowance for rounding, {rounding}."
        )
    margin = small(step["margin"])
    return f"No flip with {reach}, by {visible(str(step['method']))}: every margin of logits exceeds {margin}."


def share_value(share: Mapping[str, Any] | None) -> str:
    """The share that flips; a sample in which none or all flipped gives the bound it proves, not 0% or 100%."""
    if share is None:
        return NOTHING
    value, is_exact = share["value"], share["method"] == "exact"
    if is_exact or value not in (0, 1):
        return percent(value)
    bound = percent(share["high"] if value == 0 else share["low"])
    sign = "≤" if value == 0 else "≥"
    return bound if bound[0] in "<>" else f"{sign}{bound}"


def _share(share: Mapping[str, Any] | None) -> str:
    if share is None:
        return ""
    within = f"of the texts with at most {plural(share['radius'], 'swap')}"
    scored = f"{count(share['flips'])} of {plural(share['n'], 'text')}"
    if share["method"] == "exact":  # none: counted, or proven
        known = f"{scored}, counted completely" if share["flips"] else f"none of {plural(share['n'], 'text')} flips"
        return f"{share_value(share)} {within}: {known}."
    bounds = f"{interval(share['low'], share['high'])} with confidence {confidence(share['confidence'])}"
    return f"{share_value(share)} {within}: {scored} drawn; {bounds} ({visible(share['method'])})."


def _space(record: Mapping[str, Any]) -> str:
    if record.get("words") is None:
        return ""
    pieces = [plural(record["words"], "word")]
    if record.get("open") is not None:
        pieces.append(f"{count(record['open'])} with substitutes")
    if record.get("max_swaps") is not None:
        pieces.append(f"at most {plural(record['max_swaps'], 'swap')}")
    if record.get("points") is not None:
        pieces.append(f"{count(record['points'])} texts")
    return ", ".join(pieces)


def _scores(scores: Sequence[float], labels: Sequence[str]) -> str:
    return ", ".join(f"{label_name(labels, i)} {score(value)}" for i, value in enumerate(scores))


def _cost(record: Mapping[str, Any]) -> str:
    pieces = []
    if record.get("queries") is not None:
        pieces.append(f"{count(record['queries'])} queries")
    if record.get("cached"):
        pieces.append(f"{count(record['cached'])} answered from memory")
    if record.get("seconds") is not None:
        pieces.append(duration(record["seconds"]))
    if record.get("seed") is not None:
        pieces.append(f"seed {record['seed']}")
    return ", ".join(pieces)
