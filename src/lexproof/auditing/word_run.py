"""A run of `lexproof words`: one record a text, kept the moment it is finished, a summary and a page.

Guarantee: a run that is interrupted and resumed gives the same answers as one that never was; answers of another
victim, other texts, words or settings are never mixed in.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lexproof.auditing.about import BadRows, about_data, about_victim, now, versions
from lexproof.auditing.folder import RunFolder, write_json
from lexproof.auditing.word_summary import DEFINITIONS, class_summaries, top_words, vocabulary_summary
from lexproof.search import Seed
from lexproof.single_words.accuracy import Gold, accuracies
from lexproof.single_words.answer import FlipWords
from lexproof.single_words.flips import TextFlips, flips_from
from lexproof.single_words.question import Asked, Progress, Settings, rows_of
from lexproof.text import Input, Text
from lexproof.victims.base import Victim

_FIRST = -1  # texts count from here downwards in the records of the first phase of EUBA


@dataclass(frozen=True, slots=True)
class WordSubject:
    """What is asked about: the victim, the texts with their labels, and the words."""

    victim: Victim
    texts: Sequence[Input]
    labels: Sequence[int] | None
    words: Sequence[str]
    source: str  # of the words
    name: str = "texts"
    bad_rows: BadRows = field(default=())
    command: str = ""
    seed: int = 0
    pool: Gold | None = None  # where texts that hold a word are looked for, if not among these texts

    @property
    def title(self) -> str:
        """The victim and the texts by name."""
        return f"{self.victim.name or self.victim.kind} on {self.name}"

    def identity(self, settings: Settings) -> dict[str, Any]:
        """Everything the rows depend on; a run is only continued by an equal one."""
        labels = None if self.labels is None else [int(label) for label in self.labels]
        return {
            "answer": "flip-words",
            "victim": self.victim.fingerprint,
            "data": {"n": len(self.texts), "sha256": _hash([list(self.texts), labels])},
            "words": {"n": len(self.words), "sha256": _hash(list(self.words))},
            "settings": _described(settings),
            "lexproof": version("lexproof"),
        }


@dataclass(slots=True)
class WordRun:
    """A run in progress."""

    store: RunFolder
    settings: Settings
    asked: Asked
    started: float = field(default_factory=time.perf_counter)

    def rows(self) -> dict[int, TextFlips]:
        """What is finished, by the number of the text."""
        return {record["id"]: flips_from(record) for record in self.store.records() if record["answer"] == "flips"}

    def first_phase(self) -> dict[int, TextFlips]:
        """What the first phase of EUBA left, by the number of the text: the second counts the flips of all of them."""
        records = (record for record in self.store.records() if record["answer"] == "phase1")
        return {_FIRST - record["id"]: flips_from(record) for record in records}

    def keep(self, key: int, row: TextFlips) -> None:
        """Store a finished text."""
        self.store.add({"id": key, "answer": "flips", **row.to_json()})

    def keep_first_phase(self, key: int, row: TextFlips) -> None:
        """Store what the first phase left of a text, beside its final row."""
        self.store.add({"id": _FIRST - key, "answer": "phase1", **row.to_json()})


@dataclass(frozen=True, slots=True)
class Found:
    """What a run amounts to so far: the answer itself, and what is shown of it."""

    answer: FlipWords
    summary: dict[str, Any]


def start(subject: WordSubject, settings: Settings, folder: Path | None, *, resume: bool, overwrite: bool) -> WordRun:
    """Open the run folder, then sort out the texts of D+; a mistake costs nothing and leaves nothing behind."""
    settings = settings.for_victim(subject.victim)
    victim = subject.victim
    config = {
        "format": 1,
        "identity": subject.identity(settings),
        "data": subject.name,
        "victim": {"name": victim.name, "kind": victim.kind, "labels": list(victim.labels)},
        "command": subject.command,
        "versions": versions(),
        "created": now(),
    }
    if resume and folder is not None and (folder / "config.json").exists():
        store = RunFolder.resume(folder, config)
    else:
        store = RunFolder.create(folder, config, overwrite=overwrite)
    started = time.perf_counter()
    try:
        return WordRun(store, settings, Asked.of(victim, subject.texts, subject.labels, subject.words), started)
    except BaseException:
        store.abandon()
        raise


def carry_on(run: WordRun, progress: Progress | None = None) -> None:
    """Answer every text of D+ that has no answer yet; each is stored the moment it is finished."""
    asked, settings, done = run.asked, run.settings, run.rows()
    phase1 = run.first_phase()
    for key, row in rows_of(asked, settings, done, progress, phase1=phase1, on_phase1=run.keep_first_phase):
        run.keep(key, row)


def finish(
    run: WordRun, subject: WordSubject, *, top: int, accuracy_texts: int, progress: Progress | None = None
) -> Found:
    """Sum up what is stored; write summary.json and report.html if there is a folder.

    `top`: words shown of each class; `accuracy_texts`: texts of either kind by which it is measured what
    becomes of accuracy, if all texts are finished; 0: it is not measured.
    """
    rows = run.rows()
    answer = run.asked.answer(run.settings, rows)
    chosen = top_words(answer, top)
    is_finished = len(rows) == len(run.asked.texts)
    measured = None
    if accuracy_texts and is_finished:
        words = {answer.words[word]: word for own in chosen.values() for word in own}
        gold = Gold([_parse(given) for given in subject.texts], subject.labels)
        seed = Seed(subject.seed, ("accuracy",))
        measured = accuracies(
            subject.victim,
            gold,
            rows,
            words,
            seed,
            pool=subject.pool,
            most=accuracy_texts,
            progress=_part(progress),
        )
    summary = {
        **_about(run, subject, answer),
        "finished": is_finished,
        "rho": answer.rho.to_json(),
        "classes": class_summaries(run.asked, answer, chosen, measured),
        "vocabulary": vocabulary_summary(answer, subject.source),
        "definitions": DEFINITIONS,
        "seconds": round(time.perf_counter() - run.started, 3),
    }
    folder = run.store.folder
    if folder is not None and not run.store.is_waiting:
        from lexproof.report.words import write_words

        write_json(folder / "summary.json", summary)
        write_words(folder / "report.html", summary)
    return Found(answer, summary)


def _part(progress: Progress | None) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, total: progress("accuracy", done, total)


def _about(run: WordRun, subject: WordSubject, answer: FlipWords) -> dict[str, Any]:
    return {
        "schema": 1,
        "answer": "flip-words",
        "lexproof": version("lexproof"),
        "title": subject.title,
        "created": now(),
        "command": subject.command,
        "seed": subject.seed,
        "victim": about_victim(subject.victim),
        "data": {
            **about_data(subject.name, len(subject.texts), subject.bad_rows),
            "is_labelled": subject.labels is not None,
        },
        **_described(run.settings),
        "method": answer.method,
        "n": answer.total,
        "correct": len(run.asked.texts),
        "misclassified": answer.misclassified,
        "errors": answer.errors,
        "queries": answer.cost.queries,
        "cached": answer.cost.cached,
    }


def _described(settings: Settings) -> dict[str, Any]:
    return {
        "method": settings.method,
        "patience": settings.patience,
        "certify": settings.certify,
        "max_queries": settings.limits.max_queries,
        "time_limit": settings.limits.time_limit,
    }


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _parse(given: Input) -> Text:
    return Text.parse(given) if isinstance(given, str) else Text.parse(given[1], premise=given[0])
