"""Saliency by the maximal safe radius: a word matters if its vectors may be moved only a little.

La Malfa et al. 2020, Assessing Robustness of Text Classification through Maximal Safe Radius Computation.

Guarantee: each radius is certified, so a word that is said to be safe within it is; that a radius is small may also be
the bound's fault.  The saliency is the smallest radius of the text's words divided by that of the word, 1 for the word
that may move least and 0 for a word that any vector may replace.
"""

from __future__ import annotations

from collections.abc import Sequence

from lexproof.errors import NoRule
from lexproof.explaining.asked import Asked
from lexproof.explaining.explanation import SafeRadius, Saliency
from lexproof.safe_radius.question import Asked as Question
from lexproof.safe_radius.question import radii
from lexproof.safe_radius.settings import Settings


def by_radius(asked: Asked) -> Saliency:
    """The saliency of each word; NoRule for a victim without word vectors, or if the text is not read as the label."""
    predicted = int(asked.scores.argmax())
    if predicted != asked.label:
        labels = asked.victim.labels
        raise NoRule(f"no ball is safe: the text is read as {labels[predicted]}, not as {labels[asked.label]}")
    found = safe_radii(asked)
    bounded = [own.lower for own in found if not own.any_replacement]
    if bounded and not any(bounded):
        raise NoRule("no ball is certified: the label wins by less than rounding, or the bounds are too loose")
    return Saliency(method="radius", values=saliencies(found), details=tuple(found))


def saliencies(found: Sequence[SafeRadius]) -> tuple[float, ...]:
    """Smallest certified radius / radius; 1 where nothing is certified, 0 where any replacement is safe."""
    certified = [own.lower for own in found if own.lower > 0 and not own.any_replacement]
    least = min(certified, default=0.0)
    return tuple(0.0 if own.any_replacement else least / own.lower if own.lower > 0 else 1.0 for own in found)


def safe_radii(asked: Asked) -> list[SafeRadius]:
    """The certified radius of each word by itself; no upper ends, which saliency does not need."""
    text = asked.space.original
    sets = [(word,) for word in range(len(text))]
    settings = Settings(norm=asked.norm, uppers=(), time_limit=asked.time_limit)
    found = radii(asked.victim, [Question(text, sets)], settings, lambda done: asked.tell(done / len(sets)))
    brackets = next(found)
    for own in brackets:
        if own.reason:  # some radii are smaller than what could be proven: they say nothing about the others
            raise NoRule(f"not all radii were found: {own.reason}")
    return [SafeRadius(lower=own.lower, diameter=own.diameter, any_replacement=own.any_replacement) for own in brackets]
