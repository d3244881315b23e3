"""How far may words move?  Brackets of the maximal safe radius for index sets of texts, many at once.

    for brackets in radii(victim, [Asked(text, [(0,), (1,)])], Settings(norm=2.0)): ...

The lower end is a proof (`safe_radius.lower`), the upper end a point that was scored by the victim itself before it is
believed: vectors found by descent (`safe_radius.descent`), or other words (`safe_radius.replacements`, `.tree`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lexproof.answers import Cost
from lexproof.certify.deadline import TimeUp
from lexproof.errors import EvidenceError, InputError
from lexproof.safe_radius.answer import RadiusBracket, VectorFlip, WordFlip
from lexproof.safe_radius.index_sets import IndexSet
from lexproof.safe_radius.replacements import Replacements
from lexproof.safe_radius.tree import TreeSearch
from lexproof.safe_radius.vocabulary import Words, words_of
from lexproof.text import Text
from lexproof.victims.balls import Item, Opened, opened
from lexproof.victims.base import Victim

if TYPE_CHECKING:
    from lexproof.victims.open_tokens import OpenTokens
    from lexproof.victims.scale import Scale

UPPERS = ("descent", "words", "mcts")
NORMS = {"1": 1.0, "l1": 1.0, "2": 2.0, "l2": 2.0, "inf": math.inf, "linf": math.inf}
_ITEMS = 256  # index sets that are bounded together
_QUICK = ("mlp", "cnn")  # victims that score all words of a vocabulary in one place within a tenth of a second
_NEIGHBORS = 1_000


class Asked(NamedTuple):
    """A text and the index sets to ask about."""

    text: Text
    sets: Sequence[IndexSet]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to bracket a radius.

    `uppers` are the ways to an upper end: `descent` in the ball, `words` of the vocabulary, one word by all others,
    `mcts` for sets of several words.  The lower end is within `tolerance` of what the bounds certify.  `time_limit` is
    in seconds a text; what is proven by then is kept.  `neighbors`: how many of the nearest words are tried; None for
    all words in the place of one of an `mlp` or `cnn`, which is quick, and for the nearest thousand otherwise.
    """

    norm: float = 2.0
    uppers: tuple[str, ...] = ("descent", "words")
    tolerance: float = 0.01
    seed: int = 0
    time_limit: float | None = None
    neighbors: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "norm", norm_of(self.norm))
        for name in self.uppers:
            if name not in UPPERS:
                raise InputError(f"expected upper ends out of {', '.join(UPPERS)}, got {name!r}")
        if not 0 < self.tolerance < 1:
            raise InputError(f"expected a tolerance between 0 and 1, got {self.tolerance!r}")
        if self.time_limit is not None and not self.time_limit >= 0:
            raise InputError(f"expected time_limit >= 0, got {self.time_limit!r}")
        if self.neighbors is not None and self.neighbors < 1:
            raise InputError(f"expected neighbors >= 1, got {self.neighbors!r}")


def norm_of(given: float | str) -> float:
    """1, 2 or inf, by number or name."""
    name = str(int(given)) if isinstance(given, int | float) and given in (1, 2) else str(given).lower()
    if name not in NORMS:
        raise InputError(f"expected the norm 1, 2 or inf, got {given!r}")
    return NORMS[name]


def radii(victim: Victim, asked: Sequence[Asked], settings: Settings) -> Iterator[list[RadiusBracket]]:
    """For each text the brackets of its index sets, in order; NoRule for a victim without word vectors."""
    block: list[Asked] = []
    for one in asked:
        block.append(one)
        if settings.time_limit is not None or sum(len(own.sets) for own in block) >= _ITEMS:
            yield from _block(victim, block, settings)
            block = []
    yield from _block(victim, block, settings)


def _block(victim: Victim, block: Sequence[Asked], settings: Settings) -> Iterator[list[RadiusBracket]]:
    """The texts of one block; seconds are shared out evenly."""
    items = [Item(own.text, words) for own in block for words in own.sets]
    begun = time.perf_counter()
    brackets = _Block(victim, items, settings).brackets() if items else []
    share = Cost(seconds=(time.perf_counter() - begun) / max(1, len(items)))
    rest = iter(brackets)
    for own in block:
        yield [replace(bracket, cost=bracket.cost + share) for bracket in (next(rest) for _ in own.sets)]


class _Clock:
    """A check that raises once the time of a text is up, and remembers that it did."""

    def __init__(self, limit: float | None) -> None:
        self._end = math.inf if limit is None else time.perf_counter() + limit
        self.is_up = False

    def __call__(self) -> None:
        if time.perf_counter() > self._end:
            self.is_up = True
            raise TimeUp


class _Ends(NamedTuple):
    """What is known of one item: the certified radius (inf: all of the box), and a flip of vectors."""

    lower: float
    flip: VectorFlip | None


@dataclass(frozen=True, slots=True)
class _Block:
    """Items that are bounded together."""

    victim: Victim
    items: Sequence[Item]
    settings: Settings

    def brackets(self) -> list[RadiusBracket]:
        """The bracket of each item."""
        clock = _Clock(self.settings.time_limit)
        found = opened(self.victim, self.items)
        predicted = self._predicted()
        lower = self._lower(found, predicted, clock)
        flips = self._flips(found, predicted, clock) if "descent" in self.settings.uppers else {}
        ends = [_Ends(own, flips.get(number)) for number, own in enumerate(lower)]
        replaced = self._replaced(found.scale, [own == math.inf for own in lower], clock)
        return [
            self._bracket(item, found.tokens[k], found.scale, int(predicted[k]), ends[k], replaced[k], clock)
            for k, item in enumerate(self.items)
        ]

    def _predicted(self) -> NDArray[np.int64]:
        """The class of each item's text as the victim reads it."""
        texts = list(dict.fromkeys(item.text for item in self.items))
        labels = dict(zip(texts, self.victim.predict([text.input for text in texts]).tolist(), strict=True))
        return np.array([labels[item.text] for item in self.items], np.int64)

    def _lower(self, found: Opened, predicted: NDArray[np.int64], clock: _Clock) -> list[float]:
        """The certified radius of each item; inf of those that the victim does not read, 0 if a word has no token."""
        import torch

        from lexproof.safe_radius.lower import certified_radii

        radii, settings = [math.inf] * len(self.items), self.settings
        for group in found.groups:
            labels = torch.from_numpy(predicted[group.items])
            theta = 2 * self.victim.rounding
            own = certified_radii(
                group.network, labels, settings.norm, theta=theta, tolerance=settings.tolerance, check=clock
            )
            for number, radius in zip(group.items, own.tolist(), strict=True):
                radii[number] = radius
        return [0.0 if own.missing else radius for radius, own in zip(radii, found.tokens, strict=True)]

    def _flips(self, found: Opened, predicted: NDArray[np.int64], clock: _Clock) -> dict[int, VectorFlip]:
        """The nearest vectors found by descent that the victim confirms to be a flip, by item."""
        import torch

        from lexproof.safe_radius.descent import nearest_flip
        from lexproof.safe_radius.replay import confirmed
        from lexproof.safe_radius.whole import movable

        flips, settings, theta = {}, self.settings, 2 * self.victim.rounding
        for numbers, rows in movable(self.victim, found):
            labels, centers = torch.from_numpy(predicted[numbers]), rows.center
            near = nearest_flip(rows, labels, settings.norm, theta=theta, seed=settings.seed, check=clock)
            for row in near.found.nonzero()[:, 0].tolist():
                tokens, label = found.tokens[numbers[row]], int(labels[row])
                vectors, center = near.vectors[row], centers[row]
                flip = confirmed(self.victim, tokens, found.scale, center, vectors, label, settings.norm)
                if flip is not None:
                    flips[numbers[row]] = flip
        return flips

    def _replaced(self, scale: Scale, safe: Sequence[bool], clock: _Clock) -> list[WordFlip | None]:
        """The nearest words that change the class, of items for which there may be some."""
        by_words, by_tree = "words" in self.settings.uppers, "mcts" in self.settings.uppers
        asked = [
            k for k, item in enumerate(self.items) if not safe[k] and (by_words if len(item.words) == 1 else by_tree)
        ]
        found: list[WordFlip | None] = [None] * len(self.items)
        if not asked:
            return found
        known = words_of(self.victim, scale)
        try:
            for k in asked:
                clock()
                found[k] = self._nearest_words(self.items[k], known)
        except TimeUp:
            pass
        return found

    def _nearest_words(self, item: Item, known: Words) -> WordFlip | None:
        settings = self.settings
        if len(item.words) == 1:
            neighbors = settings.neighbors
            if neighbors is None and self.victim.kind not in _QUICK:
                neighbors = _NEIGHBORS
            how = Replacements(norm=settings.norm, neighbors=neighbors)
            return how.of(self.victim, item.text, item.words, known)[0].nearest
        neighbors = _NEIGHBORS if settings.neighbors is None else settings.neighbors
        return TreeSearch(norm=settings.norm, neighbors=neighbors, seed=settings.seed).nearest(self.victim, item, known)

    def _bracket(
        self,
        item: Item,
        tokens: OpenTokens,
        scale: Scale,
        predicted: int,
        ends: _Ends,
        replacement: WordFlip | None,
        clock: _Clock,
    ) -> RadiusBracket:
        diameter = scale.diameter(len(tokens.places), self.settings.norm)
        is_whole = ends.lower == math.inf
        distances = [own.distance for own in (ends.flip, replacement) if own is not None]
        upper = min(distances, default=None)
        if upper is not None and (is_whole or upper < ends.lower):
            where = f"words {item.words} of {str(item.text)!r}"
            raise EvidenceError(f"a flip at distance {upper} contradicts a proof for {ends.lower}: {where}")
        return RadiusBracket(
            text=str(item.text),
            premise=item.text.premise,
            words=item.words,
            norm=self.settings.norm,
            predicted=predicted,
            lower=diameter if is_whole else ends.lower,
            upper=upper,
            diameter=diameter,
            any_replacement=is_whole,
            flip=ends.flip,
            replacement=replacement,
            rounding=self.victim.rounding,
            victim=self.victim.fingerprint,
            reason=_reason(item, tokens, clock),
        )


def _reason(item: Item, tokens: OpenTokens, clock: _Clock) -> str:
    """What is missing of a bracket, and why."""
    if tokens.missing:
        words = ", ".join(repr(item.text.words[word]) for word in tokens.missing)
        return f"no token of {words} is read, though a replacement might be: there is no vector that could move"
    return "the time limit was reached" if clock.is_up else ""
