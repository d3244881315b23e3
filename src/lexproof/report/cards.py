"""Cards: the numbers of a run, each with its interval, its n and its definition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lexproof.report.definitions import definition
from lexproof.report.numerals import NOTHING, confidence, count, interval, percent, plural

_SHARES = (
    ("clean", "Clean accuracy"),
    ("aua", "Accuracy under attack"),
    ("certified", "Proven accuracy"),
    ("success", "Attack success"),
    ("closed", "Settled texts"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A number, what it rests on, and what it means; `bar` is (low, value, high) in percent where there is one."""

    name: str
    title: str
    value: str
    basis: str
    definition: str
    bar: tuple[float, float, float] | None = None


def cards(summary: Mapping[str, Any]) -> tuple[Card, ...]:
    """The cards of those numbers that the summary has."""
    made = [_share_card(summary, name, title) for name, title in _SHARES if summary.get(name) is not None]
    others = (_minimum_card(summary), _flip_card(summary), _above_card(summary), _query_card(summary))
    return (*made, *(card for card in others if card is not None))


def above(summary: Mapping[str, Any]) -> str:
    """How many texts resist random swaps, in words; empty if the summary, of an older run, does not say."""
    share = (summary.get("share") or {}).get("above")
    return "" if not share or not share.get("n") else f"{percent(share['value'])} ({_basis(share)})"


def _share_card(summary: Mapping[str, Any], name: str, title: str) -> Card:
    return _interval_card(summary[name], name, title, definition(summary, name))


def _above_card(summary: Mapping[str, Any]) -> Card | None:
    share = (summary.get("share") or {}).get("above")
    if not share or not share.get("n"):
        return None
    return _interval_card(share, "above", "Resist random swaps", definition(summary, "above"))


def _interval_card(share: Mapping[str, Any], name: str, title: str, meaning: str) -> Card:
    if share.get("value") is None:
        basis, bar = "no text to measure it on", None
    else:
        basis = _basis(share)
        low, value, high = (round(100 * share[key], 2) for key in ("low", "value", "high"))
        bar = (low, value, high)
    return Card(
        name=name,
        title=title,
        value=percent(share.get("value")),
        basis=basis,
        definition=meaning,
        bar=bar,
    )


def _basis(share: Mapping[str, Any]) -> str:
    stated = f"{confidence(share['confidence'])} interval {interval(share['low'], share['high'])}"
    return f"{count(share['k'])} of {plural(share['n'], 'text')}; {stated}"


def _minimum_card(summary: Mapping[str, Any]) -> Card | None:
    minimum = summary.get("minimum")
    if minimum is None:
        return None
    if not minimum.get("n") or minimum.get("mean_lower") is None:
        value, basis = NOTHING, "no text is broken"
    else:
        ends = dict.fromkeys(f"{minimum[key]:.1f}" for key in ("mean_lower", "mean_upper"))
        value = " to ".join(ends)
        basis = f"{plural(minimum['n'], 'broken text')}, {count(minimum['closed'])} of them exact"
    return Card(
        name="minimum", title="Swaps needed", value=value, basis=basis, definition=definition(summary, "minimum")
    )


def _flip_card(summary: Mapping[str, Any]) -> Card | None:
    share = summary.get("share")
    if share is None or not share.get("n"):
        return None
    return Card(
        name="share",
        title="Swaps that flip",
        value=percent(share["mean"]),
        basis=f"mean over {plural(share['n'], 'text')}",
        definition=definition(summary, "share"),
    )


def _query_card(summary: Mapping[str, Any]) -> Card | None:
    queries = summary.get("queries")
    if queries is None or queries.get("mean") is None:
        return None
    return Card(
        name="queries",
        title="Queries a text",
        value=count(round(queries["mean"])),
        basis=f"median {count(round(queries['median']))}, {count(queries['total'])} in total",
        definition=definition(summary, "queries"),
    )
