"""An invented run in which every string that a user or a model controls tries to become markup, or to hide."""

from __future__ import annotations

from typing import Any

from synthetic_run import records, summary

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><!--<script>alert(2)//",
    '"><img src=x onerror=alert(3)>',
    "' onmouseover='alert(4)",
    "{{ 7 * 7 }} {% raw %} ${8 * 8}",
    "line\u2028separator\u2029",
    "nul\x00 escape\x1b",
    "override\u202etxt.exe",
    "half \ud83d pair",
    "مرحبا بالعالم 👩\u200d👩\u200d👧",
    "]]><svg onload=alert(5)>",
    "javascript:alert(6)",
)


def hostile_run(n: int = 30) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A run in which every string that a user or a model controls is hostile."""
    made = records(n)
    for i, record in enumerate(made):
        bad = HOSTILE[i % len(HOSTILE)]
        change = [{"position": 0, "old": bad, "new": bad}]
        record.update(text=f"{bad} good", premise=bad, reason=bad, changed=change, breakers=change)
        record["witness"] = record["witness"] and bad
        if record["certificate"]:
            record["certificate"].update(method=bad, victim=bad, space=bad)
        if record["share"]:
            record["share"]["method"] = bad
    total = summary(made)
    total["title"] = total["attack"] = total["command"] = HOSTILE[2]
    total["victim"] = {"name": HOSTILE[0], "kind": HOSTILE[1], "labels": [HOSTILE[2], HOSTILE[1]], "fingerprint": "'"}
    total["data"] = {"name": HOSTILE[0], "n": n, "bad_rows": [{"line": i, "reason": t} for i, t in enumerate(HOSTILE)]}
    total["candidates"] = {HOSTILE[0]: HOSTILE[1]}
    total["definitions"] = {"clean": HOSTILE[0], HOSTILE[1]: HOSTILE[2]}
    total["created"] = HOSTILE[0]
    return total, made
