"""What every run says about itself: the victim, the data, the moment and the versions."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from lexproof.victims.base import Victim

BadRows = Sequence[tuple[int, str]]
"""(line, reason) of rows of the data file that could not be read."""


def about_victim(victim: Victim) -> dict[str, Any]:
    """Name, kind, labels and fingerprint."""
    return {
        "name": victim.name or victim.kind,
        "kind": victim.kind,
        "labels": list(victim.labels),
        "fingerprint": victim.fingerprint,
    }


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
