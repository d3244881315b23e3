"""Facts: what was run, on what, with which settings; enough to run it again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from lexproof.report.numerals import count, duration, percent, plural
from lexproof.report.visible import visible


def facts(summary: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Terms and values of the configuration, without those that the summary does not state."""
    victim = summary.get("victim") or {}
    found = (
        ("Classifier", _named(victim)),
        ("Defense", _defense(victim.get("defense"))),
        ("Earlier defenses", ", ".join(map(_defense, victim.get("earlier_defenses") or ()))),
        ("Labels", ", ".join(str(label) for label in victim.get("labels") or ())),
        ("Fingerprint", victim.get("fingerprint")),
        ("Texts", _texts(summary.get("data") or {})),
        ("Attack", summary.get("attack")),
        ("Limit", _limit(summary)),
        ("Similarity", _similarity(summary)),
        ("Budget", _budget(summary)),
        ("Saliency", ", ".join(summary.get("explain") or ())),
        ("Seed", summary.get("seed")),
        ("Created", _moment(summary.get("created"))),
        ("Time", None if summary.get("seconds") is None else duration(summary["seconds"])),
        ("Lexproof", summary.get("lexproof")),
    )
    return tuple((term, visible(str(value))) for term, value in found if value not in (None, ""))


def byline(summary: Mapping[str, Any]) -> str:
    """The line under the headline: texts, attack, limit, date."""
    texts = _texts(summary.get("data") or {})
    attack = summary.get("attack")
    pieces = (texts, f"attack {attack}" if attack else "", _limit(summary), _moment(summary.get("created")))
    return visible(" · ".join(piece for piece in pieces if piece))


def candidates(summary: Mapping[str, Any]) -> str:
    """The specification of the substitutes as JSON, one setting a line."""
    spec = summary.get("candidates")
    return "" if not spec else visible(json.dumps(spec, indent=2, ensure_ascii=False))


def caveats(summary: Mapping[str, Any]) -> tuple[str, ...]:
    """What must be said beside the figures, as sentences."""
    said = (summary.get("victim") or {}).get("caveats") or ()
    return tuple(visible(f"{sentence[:1].upper()}{sentence[1:]}.") for sentence in map(str, said))


def _defense(stated: Mapping[str, Any] | None) -> str:
    """Name and settings, as `lexproof harden` takes them."""
    spec = dict(stated or {})
    name = spec.pop("name", "")
    settings = "&".join(f"{key}={value}" for key, value in spec.items())
    return f"{name}?{settings}" if name and settings else str(name)


def _named(victim: Mapping[str, Any]) -> str:
    name, kind = victim.get("name") or "", victim.get("kind") or ""
    return f"{name} ({kind})" if name and kind else str(name or kind)


def _texts(data: Mapping[str, Any]) -> str:
    if data.get("n") is None:
        return ""
    return f"{plural(data['n'], 'text')} from {data['name']}" if data.get("name") else plural(data["n"], "text")


def _limit(summary: Mapping[str, Any]) -> str:
    limits = []
    if summary.get("max_swaps") is not None:
        limits.append(f"at most {plural(summary['max_swaps'], 'swap')}")
    if summary.get("max_share") is not None:
        least = f" (or {summary['least_swaps']})" if summary.get("least_swaps", 1) > 1 else ""
        limits.append(f"at most {percent(summary['max_share'])} of the words swapped{least}")
    if summary.get("max_candidates") is not None:
        limits.append(f"at most {plural(summary['max_candidates'], 'substitute')} a word")
    return ", ".join(limits)


def _similarity(summary: Mapping[str, Any]) -> str:
    """The condition on whole texts, if there is one."""
    if summary.get("floor") is None:
        return ""
    window = "" if summary.get("window") is None else f" in {plural(summary['window'], 'word')} around each swap"
    short = "" if summary.get("short_floor") is None else f" ({summary['short_floor']:.4g} for shorter texts)"
    encoder = f" by {summary['encoder']}" if summary.get("encoder") else ""
    return f"{summary.get('measure', 'cosine')} at least {summary['floor']:.4g}{window}{short}{encoder}"


def _budget(summary: Mapping[str, Any]) -> str:
    """Model inputs that a text may cost."""
    limits = []
    if summary.get("max_queries") is not None:
        limits.append(f"at most {plural(summary['max_queries'], 'model input')} a text")
    if summary.get("queries_per_word") is not None:
        limits.append(f"at most {plural(summary['queries_per_word'], 'model input')} a word of the text")
    return ", ".join(limits)


def _moment(created: str | None) -> str:
    if not created:
        return ""
    try:
        moment = datetime.fromisoformat(created)
    except ValueError:
        return str(created)
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return f"{aware:%Y-%m-%d %H:%M} UTC"


def bad_rows(summary: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Rows of the data that could not be used: where, and why."""
    rows = (summary.get("data") or {}).get("bad_rows") or ()
    return tuple((count(bad["line"]), visible(str(bad["reason"]))) for bad in rows)
