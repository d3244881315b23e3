"""Headline: the result in one plain sentence, and the few facts worth knowing next.

Each figure is computed from counts of the summary, so that the sentence and the charts cannot disagree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lexproof.report.evidence import pair
from lexproof.report.numerals import count, percent, plural


def headline(summary: Mapping[str, Any]) -> str:
    """What one swapped word does to the texts that the classifier gets right."""
    clean = summary.get("clean") or {}
    if not clean.get("n"):
        return "No text was audited, so nothing is known yet."
    right = clean["k"]
    if not right:
        return f"This classifier gets none of the {plural(clean['n'], 'text')} right, so no swap is needed to fool it."
    first = next((point for point in summary.get("curve") or () if point["swaps"] == 1), None)
    if first is None:
        return f"This classifier gets {count(right)} of {plural(clean['n'], 'text')} right; no swap was tried."
    return _first_swap(right, right - first["attacked"]["k"], first["certified"]["k"])


def _first_swap(right: int, broken: int, proven: int) -> str:
    if broken == right:
        return "Swapping one word is enough to fool this classifier on every text it gets right."
    if proven == right:
        return "Swapping one word cannot fool this classifier on any text it gets right: each is proven safe."
    safe = _proven_part(right, broken, proven)
    if not broken:
        return f"No single swap is known to fool this classifier on the {plural(right, 'text')} it gets right; {safe}"
    fooled = f"{percent(broken / right)} of the {plural(right, 'text')} it gets right"
    return f"Swapping one word is enough to fool this classifier on {fooled}; {safe}"


def _proven_part(right: int, broken: int, proven: int) -> str:
    if not proven:
        return "none of the others is proven safe." if broken else "none is proven safe."
    share = percent(proven / right)
    if broken + proven == right:
        return f"the other {share} are proven safe against every single swap."
    return f"{share} are proven safe against every single swap."


def takeaways(summary: Mapping[str, Any]) -> tuple[str, ...]:
    """At most four sentences, each left out where the summary has nothing to say."""
    found = (_accuracy(summary), _minimum(summary), _closed(summary), _worst_swap(summary))
    return tuple(sentence for sentence in found if sentence)


def _accuracy(summary: Mapping[str, Any]) -> str:
    clean, attacked, certified = (summary.get(name) for name in ("clean", "aua", "certified"))
    if not clean or not clean["n"] or not attacked or not certified:
        return ""
    right = f"{count(clean['k'])} of {plural(clean['n'], 'text')} right"
    where = f"between {percent(certified['value'])} (proven) and {percent(attacked['value'])} (not broken)"
    if certified["k"] == attacked["k"]:  # every text is settled
        where = f"exactly {percent(attacked['value'])}"
    return f"Without swaps it gets {right}; with all allowed swaps its accuracy on these texts is {where}."


def _minimum(summary: Mapping[str, Any]) -> str:
    minimum = summary.get("minimum")
    if not minimum or not minimum.get("n") or minimum.get("mean_lower") is None:
        return ""
    ends = " to ".join(dict.fromkeys(f"{minimum[key]:.1f}" for key in ("mean_lower", "mean_upper")))
    return f"Where a flip is known, {ends} swaps are needed on average ({plural(minimum['n'], 'text')})."


def _closed(summary: Mapping[str, Any]) -> str:
    closed = summary.get("closed")
    if not closed or not closed["n"]:
        return ""
    known = f"{count(closed['k'])} of {plural(closed['n'], 'text')} ({percent(closed['value'])})"
    return f"The question is settled for {known}: the minimum is known exactly, or proven not to exist."


def _worst_swap(summary: Mapping[str, Any]) -> str:
    dangerous = summary.get("dangerous")
    if not dangerous:
        return ""
    worst = dangerous[0]
    texts, alone = plural(worst["texts"], "text"), worst.get("alone") or 0
    if alone == worst["texts"]:
        effect = f"it fools {texts} on its own"
    else:
        effect = f"it helps to fool {texts}" + (f", and fools {count(alone)} on its own" if alone else "")
    return f"The swap to look at first is {pair(worst)}: {effect}."
