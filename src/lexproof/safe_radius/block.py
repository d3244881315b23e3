"""Index sets that are bounded together, and their brackets."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lexproof.certify.deadline import TimeUp
from lexproof.errors import EvidenceError
from lexproof.safe_radius.answer import RadiusBracket, VectorFlip, WordFlip
from lexproof.safe_radius.near_words import NearWords
from lexproof.safe_radius.settings import Settings
from lexproof.victims.balls import Item, Opened, opened
from lexproof.victims.base import Victim

if TYPE_CHECKING:
    from lexproof.victims.open_tokens import OpenTokens
    from lexproof.victims.scale import Scale

_PROOFS = 0.6  # of the time of a text, if it is limited and upper ends are asked for, too


class _Clock:
    """A check that raises once the time of a text is up, and remembers that it did."""

    def __init__(self, begun: float, limit: float | None) -> None:
        self._end = math.inf if limit is None else begun + limit
        self.is_up = False

    def __call__(self) -> None:
        if time.perf_counter() > self._end:
            self.is_up = True
            raise TimeUp


@dataclass(slots=True)
class _Known:
    """What is known of one item: the certified radius (inf: all of the box), flips, and what time was too short for."""

    lower: float = math.inf
    flip: VectorFlip | None = None
    replacement: WordFlip | None = None
    late: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Block:
    """Items that are bounded together."""

    victim: Victim
    items: Sequence[Item]
    settings: Settings
    near: NearWords

    def brackets(self) -> list[RadiusBracket]:
        """The bracket of each item."""
        limit, begun, uppers = self.settings.time_limit, time.perf_counter(), self.settings.uppers
        found = opened(self.victim, self.items)
        predicted = self._predicted()
        known = [_Known() for _ in self.items]
        proofs = limit if limit is None or not uppers else _PROOFS * limit
        self._lower(found, predicted, known, _Clock(begun, proofs))
        clock = _Clock(begun, limit)
        if "descent" in uppers:
            self._flips(found, predicted, known, clock)
        if self.near.is_asked:
            self._replaced(known, clock)
        return [
            self._bracket(item, found.tokens[k], found.scale, int(predicted[k]), known[k])
            for k, item in enumerate(self.items)
        ]

    def _predicted(self) -> NDArray[np.int64]:
        """The class of each item's text as the victim reads it."""
        texts = list(dict.fromkeys(item.text for item in self.items))
        labels = dict(zip(texts, self.victim.predict([text.input for text in texts]).tolist(), strict=True))
        return np.array([labels[item.text] for item in self.items], np.int64)

    def _lower(self, found: Opened, predicted: NDArray[np.int64], known: list[_Known], clock: _Clock) -> None:
        """The certified radius of each item; inf of those that the victim does not read, 0 if a word has no token."""
        import torch

        from lexproof.safe_radius.lower import certified_radii

        settings, theta = self.settings, 2 * self.victim.rounding
        for group in found.groups:
            labels = torch.from_numpy(predicted[group.items])
            radii = certified_radii(
                group.network, labels, settings.norm, theta=theta, tolerance=settings.tolerance, check=clock
            )
            for number, radius in zip(group.items, radii.tolist(), strict=True):
                known[number].lower = radius
                if clock.is_up and radius < math.inf:
                    known[number].late.append("the lower end")
        for own, tokens in zip(known, found.tokens, strict=True):
            if tokens.missing:
                own.lower = 0.0

    def _flips(self, found: Opened, predicted: NDArray[np.int64], known: list[_Known], clock: _Clock) -> None:
        """The nearest vectors found by descent that the victim confirms to be a flip."""
        import torch

        from lexproof.safe_radius.descent import nearest_flip
        from lexproof.safe_radius.replay import confirmed
        from lexproof.safe_radius.whole import movable

        settings, theta = self.settings, 2 * self.victim.rounding
        for numbers, rows in movable(self.victim, found):
            labels, centers = torch.from_numpy(predicted[numbers]), rows.center
            near = nearest_flip(rows, labels, settings.norm, theta=theta, seed=settings.seed, check=clock)
            for row in near.found.nonzero()[:, 0].tolist():
                tokens, label = found.tokens[numbers[row]], int(labels[row])
                vectors, center = near.vectors[row], centers[row]
                known[numbers[row]].flip = confirmed(
                    self.victim, tokens, found.scale, center, vectors, label, settings.norm
                )
            if clock.is_up:
                for number in numbers:
                    known[number].late.append("descent")

    def _replaced(self, known: list[_Known], clock: _Clock) -> None:
        """The nearest words that change the class, of items for which there may be some."""
        for own, item in zip(known, self.items, strict=True):
            if own.lower == math.inf:
                continue
            try:
                own.replacement = self.near.nearest(item, clock)
            except TimeUp:
                own.late.append("other words")

    def _bracket(
        self, item: Item, tokens: OpenTokens, scale: Scale, predicted: int, known: _Known
    ) -> RadiusBracket:  # fmt: skip
        diameter = scale.diameter(len(tokens.places), self.settings.norm)
        is_whole = known.lower == math.inf
        distances = [own.distance for own in (known.flip, known.replacement) if own is not None]
        upper = min(distances, default=None)
        if upper is not None and (is_whole or upper < known.lower):
            where = f"words {item.words} of {str(item.text)!r}"
            raise EvidenceError(f"a flip at distance {upper} contradicts a proof for {known.lower}: {where}")
        return RadiusBracket(
            text=str(item.text),
            premise=item.text.premise,
            words=item.words,
            norm=self.settings.norm,
            predicted=predicted,
            lower=diameter if is_whole else known.lower,
            upper=upper,
            diameter=diameter,
            any_replacement=is_whole,
            flip=known.flip,
            replacement=known.replacement,
            rounding=self.victim.rounding,
            victim=self.victim.fingerprint,
            reason=_reason(item, tokens, known),
        )


def _reason(item: Item, tokens: OpenTokens, known: _Known) -> str:
    """What is missing of a bracket, and why."""
    reasons = []
    if tokens.missing:
        words = ", ".join(repr(item.text.words[word]) for word in tokens.missing)
        reasons.append(
            f"no token of {words} is read, though a replacement might be: there is no vector that could move"
        )
    if known.late:
        reasons.append(f"the time limit was reached before all was tried for {', '.join(known.late)}")
    return "; ".join(reasons)
