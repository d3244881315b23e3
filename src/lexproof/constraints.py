"""Constraints: what an adversary may do to a text, whatever the attack.

    similarity     the whole text stays at least `floor` similar to the original
    substitutes    at most K a word
    modified words at most a share of the words of the text, or so many
    queries        at most Q/L model inputs a word: Q = queries_per_word * L, where L counts all words of the text

The first three fix the space, before any model or search sees it; the last is the budget of the search.  A part that is
not set does not limit.

Reference: Li et al. 2021, Searching for an Effective Defender, Section 3.1.  Deviations: a share of the words is
rounded down, to at least one word (its released code rounds up); texts are compared with the original, never with the
text before the last step, since the space is fixed; the encoder is MiniLM instead of the Universal Sentence Encoder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any

from lexproof.candidates.similarity import Encoder, Measure, SimilarText, check_similarity, default_encoder
from lexproof.engine import Engine, Outcome, Task
from lexproof.errors import InputError, UnknownName
from lexproof.space import Candidates, Space, allowed_swaps
from lexproof.text import Text
from lexproof.victims.base import Victim

_SIMILARITY = ("floor", "window", "short_floor", "measure")


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraints:
    """Limits of an adversary; None does not limit.

    `max_candidates`: the first K substitutes of each word.
    `max_share`: of the words may be swapped, rounded down, but at least `least_swaps`; `max_swaps`: so many.
    `floor`, `window`, `short_floor`, `measure`: similarity of the whole text (see `SimilarText`).
    `queries_per_word`: model inputs for each word of the text, swappable or not.
    """

    max_candidates: int | None = None
    max_share: float | None = None
    least_swaps: int = 1
    max_swaps: int | None = None
    floor: float | None = None
    window: int | None = None
    short_floor: float | None = None
    measure: Measure = "cosine"
    queries_per_word: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("max_candidates", 1), ("least_swaps", 1), ("max_swaps", 0), ("queries_per_word", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise InputError(f"expected {name} >= {least}, got {value}")
        if self.max_share is not None and not 0 < self.max_share <= 1:
            raise InputError(f"expected max_share in (0, 1], got {self.max_share}")
        if self.floor is None and (self.window, self.short_floor) != (None, None):
            raise InputError("expected a floor with a window, got none; set how similar the windows must be")
        check_similarity(1.0 if self.floor is None else self.floor, self.window, self.measure, self.short_floor)

    def swaps(self, words: int) -> int | None:
        """The most words that may be swapped in a text of so many."""
        if self.max_share is None:
            return self.max_swaps
        by_share = min(words, max(self.least_swaps, allowed_swaps(words, self.max_share)))
        return by_share if self.max_swaps is None else min(by_share, self.max_swaps)

    def space(self, text: Text | str, candidates: Candidates, encoder: Encoder | None = None) -> Space:
        """What these candidates span around a text within the constraints; the encoder is MiniLM if none is given."""
        text = Text.parse(text) if isinstance(text, str) else text
        choices = [options[: self.max_candidates] for options in candidates(text)]
        return Space(text, choices, self.swaps(len(text)), self._condition(text, encoder))

    def _condition(self, text: Text, encoder: Encoder | None) -> SimilarText | None:
        if self.floor is None:
            return None
        return SimilarText(
            encoder or default_encoder(),
            text,
            floor=self.floor,
            window=self.window,
            measure=self.measure,
            short_floor=self.short_floor,
        )

    def max_queries(self, space: Space) -> int | None:
        """The budget of model inputs; even a text without words may be read once."""
        return None if self.queries_per_word is None else max(1, self.queries_per_word * space.n)

    def updated(self, other: Constraints) -> Constraints:
        """What the other sets, else what this one sets; floor, window and measure go together, and share and least."""
        usual = asdict(Constraints())
        changed = {name: value for name, value in asdict(other).items() if value != usual[name]}
        if other.floor is not None:
            changed |= {name: getattr(other, name) for name in _SIMILARITY}
        if other.max_share is not None:
            changed["least_swaps"] = other.least_swaps
        return replace(self, **changed)

    def describe(self) -> tuple[str, ...]:
        """One phrase for each limit that is set."""
        phrases = []
        if self.max_candidates is not None:
            phrases.append(f"at most {self.max_candidates} substitutes a word")
        if self.max_share is not None:
            least = f", or {self.least_swaps} words" if self.least_swaps > 1 else ""
            phrases.append(f"at most {100 * self.max_share:g}% of the words swapped{least}")
        if self.max_swaps is not None:
            phrases.append(f"at most {self.max_swaps} words swapped")
        if self.floor is not None:
            where = "" if self.window is None else f" in {self.window} words around each swap"
            short = "" if self.short_floor is None else f" ({self.short_floor:.4g} for shorter texts)"
            phrases.append(f"{self.measure} similarity to the original at least {self.floor:.4g}{where}{short}")
        if self.queries_per_word is not None:
            phrases.append(f"at most {self.queries_per_word} queries for each word of the text")
        return tuple(phrases)


def _published(share: float, **similarity: Any) -> Constraints:
    return Constraints(max_candidates=50, max_share=share, floor=0.84, queries_per_word=50, **similarity)


_RELEASED: Mapping[str, Any] = {"measure": "angular", "window": 15, "short_floor": 0.0}

PRESETS: Mapping[str, Constraints] = MappingProxyType(
    {
        "agnews": _published(0.3),
        "imdb": _published(0.1),
        "agnews-code": _published(0.3, **_RELEASED),
        "imdb-code": _published(0.1, **_RELEASED),
    }
)
"""The Defender paper's benchmark: as written (cosine of whole texts), and as its released code measures similarity."""


def preset(name: str) -> Constraints:
    """The constraints of this name."""
    if name not in PRESETS:
        raise UnknownName("preset", name, PRESETS)
    return PRESETS[name]


class Rationed(Engine):
    """An engine that gives each text the budget that the constraints allow it, or its own if that is smaller."""

    def __init__(self, victim: Victim, constraints: Constraints) -> None:
        super().__init__(victim)
        self._constraints = constraints

    def rounds(self, tasks: Iterable[Task]) -> Iterator[list[Outcome]]:
        """As any engine's, with the budgets in place."""
        return super().rounds(self._ration(task) for task in tasks)

    def _ration(self, task: Task) -> Task:
        budgets = (task.limits.max_queries, self._constraints.max_queries(task.space))
        given = [budget for budget in budgets if budget is not None]
        return replace(task, limits=replace(task.limits, max_queries=min(given))) if given else task
