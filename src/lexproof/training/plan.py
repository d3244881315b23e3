"""A training apart from its texts: the defense, the defender's substitutes, the checkpoint, and where it starts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lexproof.candidates import Source
from lexproof.errors import InputError
from lexproof.text import Input, Text
from lexproof.training.checkpoint import Checkpoint
from lexproof.training.defense import Defense, Setting
from lexproof.training.learner import Learner
from lexproof.training.loop import Busy, Progress, fit
from lexproof.training.recipe import Recipe
from lexproof.training.task import Classify
from lexproof.victims.base import Victim

_DRAWS = 1  # second part of the seed of what a defense draws, so that batches stay those of plain training


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Plain training by default.  `start` is a victim to go on from, of the kind that is trained."""

    defense: Defense = field(default_factory=Defense)
    synonyms: Source | None = None
    checkpoint: Path | None = None
    start: Victim | None = None
    seed: int = 0
    progress: Progress | None = None

    def run(
        self,
        learner: Learner,
        recipe: Recipe,
        train: tuple[Sequence[Input], Sequence[int]],
        valid: tuple[Sequence[Input], Sequence[int]] | None,
        frozen: Any = None,
    ) -> dict[str, Any]:
        """Train the learner; returns what to record.

        The checkpoint stays: a training that is over is read from it at once, until the model is saved.
        """
        if self.synonyms is not None:
            _check_synonyms(self.synonyms, train[0])
        setting = Setting(
            learner=learner,
            inputs=train[0],
            gold=train[1],
            epochs=recipe.epochs,
            seed=self.seed,
            rng=np.random.default_rng([self.seed, _DRAWS]),
            synonyms=self.synonyms,
            valid=valid,
            **({"told": self.progress.busy} if isinstance(self.progress, Busy) else {}),
        )
        task = Classify(setting, self.defense, recipe)
        checkpoint = (
            None if self.checkpoint is None else Checkpoint(self.checkpoint, self._fingerprint(setting, recipe))
        )
        record = fit(task, recipe, seed=self.seed, progress=self.progress, frozen=frozen, checkpoint=checkpoint)
        return record | {"seed": self.seed, "texts": len(train[0]), **self.record}

    @property
    def record(self) -> dict[str, Any]:
        """The defense and the substitutes it was trained with, nothing for plain training; what it goes on from."""
        before = {} if self.start is None else {"start": self._known_start}
        if type(self.defense) is Defense:
            return before
        synonyms = None if self.synonyms is None else {**self.synonyms.spec, "fingerprint": self.synonyms.fingerprint}
        return {"defense": self.defense.spec, "synonyms": synonyms, **before}

    @property
    def _known_start(self) -> dict[str, Any]:
        """Which model it goes on from, and what that was defended with: the weights remember it, and so must we."""
        assert self.start is not None
        known: Mapping[str, Any] = getattr(self.start, "training", {})
        kept = {name: known[name] for name in ("defense", "synonyms", "start") if name in known}
        return {"fingerprint": self.start.fingerprint, **kept}

    def _fingerprint(self, setting: Setting, recipe: Recipe) -> str:
        """Hash of all that the weights depend on: a checkpoint of another training is refused."""
        head: Mapping[str, Any] = {
            "defense": self.defense.spec,
            "synonyms": None if self.synonyms is None else self.synonyms.fingerprint,
            "recipe": asdict(recipe),
            "kind": setting.learner.kind,
            "seed": self.seed,
            "start": setting.learner.snapshot().fingerprint,
            "train": [list(setting.inputs), list(map(int, setting.gold))],
            "valid": None if setting.valid is None else [list(setting.valid[0]), list(map(int, setting.valid[1]))],
        }
        return hashlib.sha256(json.dumps(head, sort_keys=True).encode()).hexdigest()[:16]


def _check_synonyms(synonyms: Source, inputs: Sequence[Input]) -> None:
    """InputError if no word of the training texts has a substitute: the defense would be plain training."""
    for given in inputs:
        text = Text.parse(given) if isinstance(given, str) else Text.parse(given[1], premise=given[0])
        if any(synonyms(text)):
            return
    raise InputError("expected synonyms of some words of the training texts, got none for any; name others")
