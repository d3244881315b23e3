"""Which single words break a classifier?  lp.flip_words, and the same in steps for callers that keep what is finished.

    found = flip_words(victim, texts, labels)
    found.rho, found.kappa("never"), found.top(10, label=1)

`exact` settles every pair of text and word; `euba` finds flips in order of promise and stops early, so that it bounds
kappa from below and rho from above; `certify` bounds the other side for the pairs that EUBA leaves open.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Literal, get_args

import numpy as np

from lexproof.engine import Limits
from lexproof.errors import InputError, ModelError
from lexproof.single_words.answer import FlipWords
from lexproof.single_words.flips import TextFlips
from lexproof.single_words.tally import Tally
from lexproof.single_words.vocabulary import WORD_MODELS, check_words, unknown_words, vocabulary_of
from lexproof.text import Input, Text
from lexproof.victims.base import Victim

Method = Literal["auto", "exact", "euba", "euba-top1", "euba-no-mask"]

METHODS = get_args(Method)

Progress = Callable[[str, int, int], None]
"""Called with (what is being done, finished texts, all texts)."""

_BLOCK = 256  # texts read at once
_VARIANTS = {"euba": "mask", "euba-top1": "top1", "euba-no-mask": "no-mask"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the words are tried.

    `method`: `exact`, EUBA with masks (`euba`), with each word's best position only (`euba-top1`), from the gradient of
    the text itself (`euba-no-mask`), or `auto`: exact for an mlp, a cnn and victims without gradients, else EUBA.
    `patience`: misses in a row after which a phase of EUBA stops, the paper's m.
    `certify`: bound the pairs that EUBA leaves open, where the victim shows its operations.
    `limits`: budget of one text; only a time limit makes answers depend on the machine.
    """

    method: Method = "auto"
    patience: int = 512
    certify: bool = False
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError(f"expected a method out of {', '.join(METHODS)}, got {self.method!r}")
        if self.patience < 1:
            raise InputError(f"expected patience of at least 1, got {self.patience}")

    def for_victim(self, victim: Victim) -> Settings:
        """The settings with a method that the victim can serve, or an error before anything runs."""
        method = self.method
        if method == "auto":
            is_quick = victim.kind in ("mlp", "cnn") or not victim.has_gradients
            method = "exact" if is_quick else "euba"
        if method != "exact" and not victim.has_gradients:
            raise InputError(f"expected a victim with gradients for {method}, got {victim.kind!r}; use method 'exact'")
        if self.certify and method != "exact" and victim.kind not in (*WORD_MODELS, "transformer"):
            raise InputError(f"expected a victim that shows its operations to certify, got {victim.kind!r}")
        return replace(self, method=method)


@dataclass(frozen=True, slots=True)
class Asked:
    """The texts of D+ by their number, and the vocabulary."""

    victim: Victim
    words: tuple[str, ...]
    texts: Mapping[int, Text]
    labels: Mapping[int, int]
    misclassified: int
    errors: int

    @classmethod
    def of(
        cls,
        victim: Victim,
        texts: Sequence[Input],
        labels: Sequence[int] | None = None,
        vocabulary: Sequence[str] | None = None,
    ) -> Asked:
        """Sort out the texts that are classified correctly; without labels all are, by the victim's own predictions."""
        if isinstance(texts, str) or isinstance(vocabulary, str):
            raise InputError("expected lists of texts and of words, got a string")
        _check_labels(victim, texts, labels)
        parsed = [_parse(given) for given in texts]
        words = vocabulary_of(victim, parsed) if vocabulary is None else check_words(vocabulary)
        chosen: dict[int, Text] = {}
        gold: dict[int, int] = {}
        missed = failed = 0
        for start in range(0, len(texts), _BLOCK):
            for key, guess in enumerate(victim.try_predict(texts[start : start + _BLOCK]), start):
                if isinstance(guess, ModelError):
                    failed += 1
                elif labels is not None and int(labels[key]) != guess:
                    missed += 1
                else:
                    chosen[key], gold[key] = parsed[key], guess
        if not chosen:
            raise InputError(
                f"expected texts that the model classifies correctly, got none of {len(texts)} ({missed} "
                f"misclassified, {failed} unreadable): kappa and rho are not defined; check the labels and the model"
            )
        return cls(victim, words, chosen, gold, missed, failed)

    def answer(self, settings: Settings, rows: Mapping[int, TextFlips]) -> FlipWords:
        """What these rows amount to."""
        tally = Tally(self.words, self.victim.labels)
        for key in sorted(rows):
            tally.add(key, rows[key])
        return tally.answer(
            settings.for_victim(self.victim).method + ("+bounds" if settings.certify else ""),
            misclassified=self.misclassified,
            errors=self.errors,
            unknown=unknown_words(self.victim, self.words),
        )


def flip_words(
    victim: Victim,
    texts: Sequence[Input],
    labels: Sequence[int] | None = None,
    vocabulary: Sequence[str] | None = None,
    *,
    method: Method = "auto",
    patience: int = 512,
    certify: bool = False,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> FlipWords:
    """Kappa of every word and rho of the victim, over the texts that it classifies correctly.

    Without labels, the victim's own predictions count as gold.  `vocabulary` defaults to the words of letters that the
    model knows, or that the texts hold.  `method` and the rest: see `Settings`; `time_limit` is in seconds a text.
    """
    limits = Limits(None, time_limit)
    settings = Settings(method=method, patience=patience, certify=certify, limits=limits).for_victim(victim)
    asked = Asked.of(victim, texts, labels, vocabulary)
    return asked.answer(settings, dict(rows_of(asked, settings, progress=progress)))


def rows_of(
    asked: Asked,
    settings: Settings,
    done: Mapping[int, TextFlips] | None = None,
    progress: Progress | None = None,
    *,
    phase1: Mapping[int, TextFlips] | None = None,
    on_phase1: Callable[[int, TextFlips], None] | None = None,
) -> Iterator[tuple[int, TextFlips]]:
    """The row of each text of D+ that is not done yet, as it is finished.

    EUBA's second phase needs the rows that the first left of all texts: `on_phase1` is given each of them, and a run
    that goes on is to give them back as `phase1`, those of texts that are done included.  It ends with the same rows.
    """
    settings, done = settings.for_victim(asked.victim), done or {}
    left = [key for key in asked.texts if key not in done]
    told = progress or (lambda what, finished, total: None)
    if settings.method == "exact":
        found = _exact(asked, left, settings)
    else:
        found = _euba(asked, done, settings, told, phase1 or {}, on_phase1)
    for finished, (key, row) in enumerate(found, len(asked.texts) - len(left) + 1):
        yield key, _certified(asked, key, row, settings)
        if settings.method == "exact":  # EUBA tells of its phases itself
            told("exact", finished, len(asked.texts))


def _exact(asked: Asked, left: Sequence[int], settings: Settings) -> Iterator[tuple[int, TextFlips]]:
    if asked.victim.kind not in WORD_MODELS:
        from lexproof.single_words.brute import brute

        texts, labels = [asked.texts[key] for key in left], [asked.labels[key] for key in left]
        for at, row in brute(asked.victim, texts, labels, asked.words, limits=settings.limits):
            yield left[at], row
        return
    from lexproof.single_words.sweep import WordSweep
    from lexproof.victims.words import WordVictim

    assert isinstance(asked.victim, WordVictim)
    items = [(key, asked.texts[key], asked.labels[key]) for key in left]
    yield from WordSweep(asked.victim, asked.words).rows(items, settings.limits)


def _euba(
    asked: Asked,
    done: Mapping[int, TextFlips],
    settings: Settings,
    told: Progress,
    phase1: Mapping[int, TextFlips],
    on_phase1: Callable[[int, TextFlips], None] | None,
) -> Iterator[tuple[int, TextFlips]]:
    from lexproof.single_words.euba import euba

    keys = list(asked.texts)
    place = {key: at for at, key in enumerate(keys)}
    rows = euba(
        asked.victim,
        [asked.texts[key] for key in keys],
        [asked.labels[key] for key in keys],
        asked.words,
        patience=settings.patience,
        variant=_VARIANTS[settings.method],
        limits=settings.limits,
        phase1={place[key]: row for key, row in phase1.items()},
        on_phase1=None if on_phase1 is None else lambda at, row: on_phase1(keys[at], row),
        finished={place[key] for key in done},
        progress=told,
    )
    return ((keys[at], row) for at, row in rows)


def _certified(asked: Asked, key: int, row: TextFlips, settings: Settings) -> TextFlips:
    """The row with what bounds rule out, if that is asked for."""
    if not settings.certify or row.is_exact or asked.victim.kind not in (*WORD_MODELS, "transformer"):
        return row
    from lexproof.single_words.certified import provably_safe

    begun = time.perf_counter()
    limit = inf if settings.limits.time_limit is None else settings.limits.time_limit - row.cost.seconds
    safe = provably_safe(
        asked.victim,
        asked.texts[key],
        row.label,
        asked.words,
        row.possible & ~row.known,
        time_limit=limit,
    )
    cost = replace(row.cost, seconds=row.cost.seconds + time.perf_counter() - begun)
    return replace(row, possible=row.possible & ~safe, cost=cost)


def _check_labels(victim: Victim, texts: Sequence[Input], labels: Sequence[int] | None) -> None:
    if not len(texts):
        raise InputError("expected at least one text, got none")
    if labels is None:
        return
    if len(labels) != len(texts):
        raise InputError(f"expected one label a text, got {len(labels)} labels for {len(texts)} texts")
    wrong = [label for label in labels if not isinstance(label, int | np.integer) or not 0 <= label < victim.classes]
    if wrong:
        raise InputError(f"expected labels from 0 to {victim.classes - 1}, got {wrong[0]!r}")


def _parse(given: Input) -> Text:
    return Text.parse(given) if isinstance(given, str) else Text.parse(given[1], premise=given[0])
