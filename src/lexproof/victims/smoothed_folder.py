"""Smoothed victims as folders: `model.json`, the base in `base/`, and SAFER's graph of words in `sets.json`.

Guarantees: what is saved loads with the same scores and fingerprint; a folder is either complete or not there; nothing
in it can run code.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lexproof.errors import InputError, ModelError
from lexproof.victims.base import Victim
from lexproof.victims.folder import FORMAT, labels_and_training, read_json, replacing
from lexproof.victims.safer_sets import SynonymSets
from lexproof.victims.smoothed import RanMask, Safer, Smoothed

_BASE, _SETS = "base", "sets.json"


def save_smoothed(victim: Smoothed, folder: Path | str) -> None:
    """Write a smoothed victim; an older model there is replaced."""
    save: Callable[[Path], None] | None = getattr(victim.base, "save", None)
    if save is None:
        raise ModelError(f"expected a base that can be saved, got one of kind {victim.base.kind!r}")
    record = {
        "format": FORMAT,
        "kind": victim.kind,
        "labels": list(victim.labels),
        "config": victim.config,
        "training": victim.training,
    }
    with replacing(Path(folder)) as temporary:
        (temporary / "model.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        save(temporary / _BASE)
        if isinstance(victim, Safer):
            content = json.dumps({"size": victim.sets.size, "graph": victim.sets.graph}, indent=0)
            (temporary / _SETS).write_text(content + "\n", encoding="utf-8")


def load_smoothed(folder: Path, load_base: Callable[[Path], Victim], **settings: Any) -> Smoothed:
    """The victim that `save_smoothed` wrote; `settings` (samples, ensemble, seed) go before those it was saved with.

    ModelError says what is wrong with the folder.
    """
    record = read_json(folder / "model.json", dict)
    if record.get("format") != FORMAT:
        raise ModelError(f"expected format {FORMAT} in {str(folder)!r}/model.json, got {record.get('format')!r}")
    labels, training = labels_and_training(record, folder)
    config = record.get("config")
    if not isinstance(config, dict):
        raise ModelError(f"expected config as an object in {str(folder)!r}/model.json, got {config!r}")
    if not (folder / _BASE).is_dir():
        raise ModelError(f"expected the base model in {str(folder / _BASE)!r}, got none")
    base = load_base(folder / _BASE)
    if len(labels) != base.classes:
        raise ModelError(f"expected {base.classes} labels in {str(folder)!r}/model.json, got {len(labels)}")
    try:
        victim = _built(record.get("kind"), base, folder, config | settings)
    except (InputError, TypeError) as error:  # TypeError: a setting that is not known, or of another type
        raise ModelError(f"cannot load {str(folder)!r}: {error}") from error
    victim.labels, victim.training, victim.name = tuple(labels), training, folder.name
    return victim


def _built(kind: object, base: Victim, folder: Path, settings: dict[str, Any]) -> Smoothed:
    if kind == RanMask.kind:
        return RanMask(base, **settings)
    content = read_json(folder / _SETS, dict)
    graph = content.get("graph")
    if not isinstance(graph, dict) or not isinstance(content.get("size"), int):
        raise ModelError(f"expected 'graph' and 'size' in {str(folder / _SETS)!r}")
    return Safer(base, SynonymSets(graph, content["size"]), **settings)
