"""What every run says about itself: the victim, the data, the moment and the versions."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from lexproof.victims.base import Victim

_SMOOTHED = ("safer", "ranmask")  # defenses that are a kind of victim around the trained one

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
    trainings = list(_trainings(victim))
    defenses = [_in_force(training["defense"], victim) for training in trainings if training.get("defense")]
    caveats = [*getattr(victim, "caveats", ())]
    if defenses and defenses[0]["name"] in _SMOOTHED and defenses[0]["name"] != victim.kind:
        name = defenses.pop(0)["name"]
        caveats.append(
            f"this is the base of a smoothed model ({name}): trained on randomised copies, it is asked here about each "
            "text once and as it is, so that it has not this defense"
        )
    if defenses:
        said["defense"] = defenses[0]
    if defenses[1:]:
        said["earlier_defenses"] = defenses[1:]
    caveats += [caveat for training in trainings for caveat in _shared(training, candidates)]
    return said | ({"caveats": caveats} if caveats else {})


def _trainings(victim: Victim) -> Iterator[Mapping[str, Any]]:
    """What is recorded of its training, and of the training of each model that it went on from."""
    training: Mapping[str, Any] = getattr(victim, "training", {})
    while training:
        yield training
        training = training.get("start") or {}


def _in_force(defense: Mapping[str, Any], victim: Victim) -> dict[str, Any]:
    """A defense with the settings that the victim has now: a smoothed one may be loaded with others."""
    config = getattr(victim, "config", {}) if defense.get("name") == victim.kind else {}
    return {**defense, **{name: config[name] for name in defense if name in config}}


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
