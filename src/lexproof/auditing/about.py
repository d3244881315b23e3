"""What every run says about itself: the victim, the data, the moment and the versions."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from lexproof.victims.base import Victim

BadRows = Sequence[tuple[int, str]]
"""(line, reason) of rows of the data file that could not be read."""


def about_victim(victim: Victim, candidates: object = None) -> dict[str, Any]:
    """Name, kind, labels and fingerprint; of a defended one its defense, and what must be said beside its figures."""
    said: dict[str, Any] = {
        "name": victim.name or victim.kind,
        "kind": victim.kind,
        "labels": list(victim.labels),
        "fingerprint": victim.fingerprint,
    }
    training: Mapping[str, Any] = getattr(victim, "training", {})
    if training.get("defense"):
        said["defense"] = training["defense"]
    caveats = [*getattr(victim, "caveats", ()), *_shared(training, candidates)]
    return said | ({"caveats": caveats} if caveats else {})


def _shared(training: Mapping[str, Any], candidates: object) -> Iterator[str]:
    """Whether the victim was defended with the substitutes that it is attacked with."""
    known, used = training.get("synonyms") or {}, getattr(candidates, "spec", {})
    name = (training.get("defense") or {}).get("name")
    if not known or not used:
        return
    if known.get("fingerprint") == getattr(candidates, "fingerprint", None):
        yield (
            f"the defense ({name}) was trained on the very substitutes that are used here: attacker and defender share "
            "them, and against others it may hold less well"
        )
    elif shared := _origins(known) & _origins(used):
        sources = ", ".join(sorted({origin[0] for origin in shared}))
        yield (
            f"the defense ({name}) was trained on substitutes of the same source, {sources}, with other settings or "
            "beside others: attacker and defender share much, and against others it may hold less well"
        )


def _origins(spec: Mapping[str, Any]) -> set[tuple[str, ...]]:
    """Where substitutes come from: the name of each source, and the hashes of the data that it reads."""
    if "sources" in spec:
        return {origin for part in spec["sources"] for origin in _origins(part)}
    return {(str(spec.get("name")), *(str(spec.get(key)) for key in ("lexicon", "sha256", "model")))}


def about_data(name: str, n: int, bad_rows: BadRows) -> dict[str, Any]:
    """Name, number of texts, and what could not be read."""
    return {"name": name, "n": n, "bad_rows": [{"line": line, "reason": reason} for line, reason in bad_rows]}


def versions() -> dict[str, str]:
    """Of Python, numpy, and torch if the victim needs it."""
    torch = sys.modules.get("torch")
    used = {} if torch is None else {"torch": str(torch.__version__)}
    return {"python": platform.python_version(), "numpy": np.__version__, **used}


def now() -> str:
    """The moment, in UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
