"""Audit a data set: one record a text, a summary, a report, in a folder that survives any kind of death."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lexproof.asking import Item, answer_all
from lexproof.auditing.about import BadRows, about_data, about_victim, now, versions
from lexproof.auditing.folder import RunFolder, write_json
from lexproof.auditing.question import Examine
from lexproof.auditing.records import Record, explanation_of, record_of
from lexproof.auditing.settings import Settings
from lexproof.auditing.summary import summarize
from lexproof.candidates.similarity import Encoder, default_encoder
from lexproof.constraints import Rationed
from lexproof.errors import InputError, ModelError
from lexproof.questions import Minimize, attack_used, called, resolve_attack
from lexproof.space import Candidates
from lexproof.text import Input, Text
from lexproof.victims.base import Victim

Progress = Callable[[int, int, Record | None], None]
"""Called with (finished, total, record) after each text, and once with (already finished, total, None) at the start."""

_PREDICT = 256


@dataclass(frozen=True, slots=True)
class Subject:
    """What is audited: the victim, the texts with their labels, and what may be swapped."""

    victim: Victim
    texts: Sequence[Input]
    labels: Sequence[int] | None
    candidates: Candidates
    name: str = "texts"
    bad_rows: BadRows = field(default=())
    command: str = ""  # that asked for the audit, if one did
    encoder: Encoder | None = None  # of the similarity that the settings ask for, MiniLM if there is none

    def __post_init__(self) -> None:
        if not len(self.texts):
            raise InputError("expected at least one text, got an empty set")
        if self.labels is not None and len(self.labels) != len(self.texts):
            raise InputError(f"expected one label a text, got {len(self.labels)} labels for {len(self.texts)} texts")
        given = () if self.labels is None else self.labels
        wrong = [label for label in given if not 0 <= label < self.victim.classes]
        if wrong:
            raise InputError(f"expected labels from 0 to {self.victim.classes - 1}, got {wrong[0]}")

    def identity(self, settings: Settings) -> dict[str, Any]:
        """Everything the answers depend on; a run is only continued by an equal one."""
        labels = None if self.labels is None else [int(label) for label in self.labels]
        content = json.dumps([list(self.texts), labels]).encode()
        return {
            "victim": self.victim.fingerprint,
            "data": {"n": len(self.texts), "sha256": hashlib.sha256(content).hexdigest()},
            "candidates": spec_of(self.candidates),
            "settings": json.loads(json.dumps(settings.to_json())),
            "encoder": self.encoder_name(settings),
            "lexproof": version("lexproof"),
        }

    def encoder_name(self, settings: Settings) -> str | None:
        """The sentence encoder, if texts are compared."""
        return None if settings.floor is None else (self.encoder or default_encoder()).name


@dataclass(frozen=True, slots=True)
class Audit:
    """A finished (or interrupted) audit."""

    summary: dict[str, Any]
    records: tuple[Record, ...]
    folder: Path | None


def audit(
    victim: Victim,
    texts: Sequence[Input],
    labels: Sequence[int] | None = None,
    *,
    candidates: Candidates | None = None,
    out: str | Path | None = None,
    name: str = "texts",
    settings: Settings | None = None,
    bad_rows: BadRows = (),
    encoder: Encoder | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Audit:
    """Bracket the minimum number of swaps of every text, with witness and certificate, and sum it up.

    Without labels, the victim's own predictions count as gold.  With `out`, answers are written to a run folder as they
    are finished; `resume` continues it and gives the same answers as a run that was never interrupted.
    """
    if candidates is None:
        from lexproof.candidates import default

        candidates = default()
    subject = Subject(victim, texts, labels, candidates, name, bad_rows, encoder=encoder)
    run = start(subject, settings or Settings(), None if out is None else Path(out), resume=resume, overwrite=overwrite)
    try:
        examine(run, subject, progress)
        result = Audit(finish(run, subject), tuple(run.store.records()), run.store.folder)
    except BaseException:
        run.store.abandon()
        raise
    run.store.close()
    return result


@dataclass(slots=True)
class Run:
    """An audit in progress."""

    store: RunFolder
    settings: Settings
    started: float = field(default_factory=time.perf_counter)


def start(subject: Subject, settings: Settings, folder: Path | None, *, resume: bool, overwrite: bool) -> Run:
    """Open the run folder before anything is computed, so that a mistake costs nothing and leaves nothing behind."""
    attack = called(attack_used(settings.attack, subject.victim, Minimize.default))
    resolve_attack(attack, subject.victim)
    settings = replace(settings, attack=attack, samples=settings.draws)  # a run records what it used
    identity = subject.identity(settings)
    config = {
        "format": 1,
        "identity": identity,
        "data": subject.name,
        "victim": {"name": subject.victim.name, "kind": subject.victim.kind, "labels": list(subject.victim.labels)},
        "command": subject.command,
        "versions": versions(),
        "created": now(),
    }
    if resume and folder is not None and (folder / "config.json").exists():
        return Run(RunFolder.resume(folder, config), settings)
    return Run(RunFolder.create(folder, config, overwrite=overwrite), settings)


def examine(run: Run, subject: Subject, progress: Progress | None = None) -> None:
    """Answer every text that has no answer yet; each is stored the moment it is finished."""
    done = run.store.finished()
    total = len(subject.texts)
    finished, errors = len(done), 0
    if progress is not None:
        progress(finished, total, None)
    engine, explainer = Rationed(subject.victim, run.settings.constraints), run.settings.explainer
    for answered in answer_all(Examine(run.settings), subject.victim, _items(subject, run.settings, done), engine):
        record = record_of(answered, run.settings.seed)
        if explainer is not None:
            record["explanation"] = explanation_of(explainer, subject.victim, answered)
        run.store.add(record)
        finished += 1
        errors += answered.error is not None
        if answered.error is not None and errors >= 5 and errors > finished / 2:
            raise ModelError(f"{errors} of {finished} texts failed, stopping (the rest is kept): {answered.error}")
        if progress is not None:
            progress(finished, total, record)
    if errors == total and errors:
        raise ModelError(f"all {total} texts failed: {record['reason']}")


def finish(run: Run, subject: Subject) -> dict[str, Any]:
    """Sum up what is stored; write summary.json and report.html."""
    summary = {**_about(run, subject), **summarize(run.store.records())}
    summary["finished"] = summary["n"] + summary["errors"] == len(subject.texts)
    folder = run.store.folder
    if folder is not None and not run.store.is_waiting:
        from lexproof.report import write

        write_json(folder / "summary.json", summary)
        write(folder / "report.html", summary, run.store.records())
    return summary


def _about(run: Run, subject: Subject) -> dict[str, Any]:
    victim, settings = subject.victim, run.settings
    return {
        "schema": 1,
        "lexproof": version("lexproof"),
        "title": f"{victim.name or victim.kind} on {subject.name}",
        "created": now(),
        "command": subject.command,
        "seed": settings.seed,
        "seconds": round(time.perf_counter() - run.started, 3),
        "victim": about_victim(victim, subject.candidates),
        "data": about_data(subject.name, len(subject.texts), subject.bad_rows),
        "candidates": spec_of(subject.candidates),
        "encoder": subject.encoder_name(settings),
        **{key: value for key, value in settings.to_json().items() if key != "seed"},
    }


def _items(subject: Subject, settings: Settings, done: set[int]) -> Iterator[Item]:
    """The spaces still to be asked about, made one at a time as the engine has room."""
    for start_ in range(0, len(subject.texts), _PREDICT):
        block = [key for key in range(start_, min(start_ + _PREDICT, len(subject.texts))) if key not in done]
        labels = subject.labels
        guesses = subject.victim.try_predict([subject.texts[key] for key in block]) if labels is None and block else []
        for row, key in enumerate(block):
            given = subject.texts[key]
            text = Text.parse(given) if isinstance(given, str) else Text.parse(given[1], premise=given[0])
            space = settings.constraints.space(text, subject.candidates, subject.encoder)
            label = guesses[row] if labels is None else int(labels[key])
            yield Item(key, space, label if isinstance(label, int) else None)


def spec_of(candidates: Candidates) -> Any:
    """What to record of the candidates: their own description, or the name of the user's function."""
    named = candidates if hasattr(candidates, "__qualname__") else type(candidates)
    return getattr(candidates, "spec", f"{named.__module__}.{named.__qualname__}")
