"""EUBA: words that flip a text, found by first-order estimates and early stopping; a lower bound on every kappa.

Phase 1 tries placements (position, word) in ascending order of their estimates (`first_order`), each word until it
flips the text, and stops after m misses in a row.  Phase 2 tries the words that have not flipped the text, those first
that flip the most texts of its class, each at its most promising position only, with the same stop.

Guarantee: every word known to flip a text was scored in it, as text, and decided by the victim.  Nothing is proven of
the others: they stay possible.  So the share of known flips is a lower bound on kappa and 1 - that on rho an upper one.
With m of at least n · V, `mask` and `no-mask` try everything, and what is found is exact.

Symbols: n words of a text, V words of the vocabulary, m = `patience`, u[i, w] the estimate.
Reference: Xu, Alnegheimish, Berti-Equille, Cuesta-Infante, Veeramachaneni, Single Word Change is All You Need,
Algorithm 1 and Sections 3 and 6.5; `top1` (each word at its best position only) and `no-mask` (estimates at the text
itself, from one pass) are its alternatives.
Deviations:
- phase 1 is done for all texts before phase 2, which counts the flips of all of them, so that no answer depends on the
  order of the texts or on what is searched beside them (the paper counts as it goes);
- a word is never tried where it already stands, and in phase 2 a placement that has missed in phase 1 counts as a miss
  without being asked again.
The authors' released code differs from their pseudocode, which is followed here: it takes misclassified texts in and
divides by all of them, counts misses by batches of 32, leaves out in phase 2 whatever was tried in phase 1, and places
words on sub-word tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from lexproof.answers import Cost
from lexproof.errors import InputError
from lexproof.running import Limits
from lexproof.search import Search
from lexproof.single_words.flips import Positions, TextFlips
from lexproof.single_words.phases import Found, Placements, Setting, phase_one, phase_two
from lexproof.single_words.placing import Placing, Placings, Progress, untold
from lexproof.text import Text
from lexproof.victims.base import Victim

VARIANTS = ("mask", "top1", "no-mask")

_NO_LIMITS = Limits()


def euba(
    victim: Victim,
    texts: Sequence[Text],
    labels: Sequence[int],
    words: Sequence[str],
    *,
    patience: int = 512,
    variant: str = "mask",
    phases: Sequence[int] = (1, 2),
    limits: Limits = _NO_LIMITS,
    phase1: Mapping[int, TextFlips] | None = None,
    on_phase1: Callable[[int, TextFlips], None] | None = None,
    finished: Collection[int] = (),
    progress: Progress | None = None,
) -> Iterator[tuple[int, TextFlips]]:
    """The rows of correctly classified texts, each with its index, as they are finished.

    `limits` are those of a text, both phases together.  `on_phase1` is given each row as phase 1 leaves it; a run that
    is given these as `phase1` does not repeat them and ends with the same flips, unless a limit stops it: the estimates
    are not kept, and a text pays for them again.  Texts that are `finished` get no row again; phase 2 of the others
    counts what phase 1 found in them, which is done again for those not in `phase1`.
    Of a text that is classified otherwise every word would count as a flip: leave it out.
    """
    if patience < 1:
        raise InputError(f"expected patience >= 1, got {patience}")
    if variant not in VARIANTS:
        raise InputError(f"expected a variant of {', '.join(VARIANTS)}, got {variant!r}")
    if not phases or not set(phases) <= {1, 2}:
        raise InputError(f"expected phases (1,), (2,) or (1, 2), got {tuple(phases)}")
    placings = Placings(victim, texts, labels, words)
    for at, row in (phase1 or {}).items():
        if not 0 <= at < len(texts) or len(row.position) != len(words) or row.label != labels[at]:
            raise InputError(f"expected rows of the same texts, labels and words, got another one for text {at}")
    setting = Setting(np.asarray(victim.word_vectors(words), np.float32), patience, variant)
    run = _Run(placings, setting, limits, on_phase1 or (lambda at, row: None), progress or untold)
    run.rows.update(phase1 or {})
    run.finished = frozenset(finished)
    return run.rows_of(frozenset(phases))


@dataclass(slots=True)
class _Run:
    """All texts, phase by phase."""

    placings: Placings
    setting: Setting
    limits: Limits
    on_phase1: Callable[[int, TextFlips], None]
    progress: Progress
    rows: dict[int, TextFlips] = field(default_factory=dict)
    best: dict[int, Placements] = field(default_factory=dict)
    finished: frozenset[int] = frozenset()

    def rows_of(self, phases: frozenset[int]) -> Iterator[tuple[int, TextFlips]]:
        """Phase 1 for texts that have no row yet, then phase 2 for all; rows are handed out after the last phase."""
        empty = self.placings.without_words()
        yield from ((at, row) for at, row in empty.items() if at not in self.finished)
        open_texts = [at for at in range(len(self.placings.texts)) if at not in empty]
        if 1 in phases:
            given = [at for at in open_texts if at in self.rows]
            if 2 not in phases:
                yield from ((at, self.rows[at]) for at in given if at not in self.finished)
            left = [at for at in open_texts if at not in self.rows]
            for done, (at, row) in enumerate(self._phase_one(left), len(given) + 1):
                self.progress("phase 1", done, len(open_texts))
                if 2 not in phases and at not in self.finished:
                    yield at, row
        if 2 in phases:
            left = [at for at in open_texts if at not in self.finished]
            for done, (at, row) in enumerate(self._phase_two(left), len(open_texts) - len(left) + 1):
                self.progress("phase 2", done, len(open_texts))
                yield at, row

    def _phase_one(self, which: Sequence[int]) -> Iterator[tuple[int, TextFlips]]:
        goals = self.placings.goals

        def search(at: int, placing: Placing) -> Search[Found]:
            return phase_one(placing, goals[at], self.setting)

        for at, outcome in self.placings.run(which, search, lambda at: self.limits):
            found: Found = outcome.claim
            if found.best is not None:
                self.best[at] = found.best
            row = self.rows[at] = self._row(at, found.position, outcome.cost)
            self.on_phase1(at, row)
            yield at, row

    def _phase_two(self, which: Sequence[int]) -> Iterator[tuple[int, TextFlips]]:
        goals, words = self.placings.goals, len(self.placings.words)
        flips = {goal.label: np.zeros(words, np.int64) for goal in goals}
        for row in self.rows.values():
            flips[row.label] += row.known
        ranked = {label: np.argsort(-count, kind="stable") for label, count in flips.items()}

        def search(at: int, placing: Placing) -> Search[Positions]:
            position = self.rows[at].position.copy() if at in self.rows else placing.nothing_known()
            found = Found(position, self.best.pop(at, None))
            return phase_two(placing, goals[at], self.setting, found, ranked[goals[at].label])

        for at, outcome in self.placings.run(which, search, self._limits_left):
            spent = self.rows[at].cost if at in self.rows else Cost()
            yield at, self._row(at, outcome.claim, spent + outcome.cost)

    def _limits_left(self, at: int) -> Limits:
        """What phase 1 has left of a text's budget."""
        if at not in self.rows:
            return self.limits
        queries, seconds, cost = self.limits.max_queries, self.limits.time_limit, self.rows[at].cost
        return Limits(
            max_queries=None if queries is None else max(0, queries - cost.queries),
            time_limit=None if seconds is None else max(0.0, seconds - cost.seconds),
        )

    def _row(self, at: int, position: Positions, cost: Cost) -> TextFlips:
        return TextFlips(self.placings.goals[at].label, position, self.placings[at].changes, cost)
