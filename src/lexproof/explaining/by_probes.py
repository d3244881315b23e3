"""Saliency by one probe a word: the word deleted, or the gradient at the word."""

from __future__ import annotations

import numpy as np

from lexproof.errors import NoRule
from lexproof.explaining.asked import Asked
from lexproof.explaining.explanation import Saliency
from lexproof.points import DELETED, Sensitivity, Swaps


def by_deletion(asked: Asked) -> Saliency:
    """The drop of the label's score when each word is deleted."""
    n = asked.space.n
    probes = Swaps.of(asked.space.origin, np.arange(n, dtype=np.int32), np.full(n, DELETED, np.int32))
    drops = asked.score - asked.scored(probes)[:, asked.label]
    return Saliency(method="deletion", values=tuple(drops.tolist()), queries=n)


def by_gradient(asked: Asked) -> Saliency:
    """The L1 norm of the gradient of the label's score by the vectors of each word; NoRule without gradients."""
    victim = asked.victim
    if not victim.has_gradients:
        raise NoRule(f"no gradients: expected a victim that is differentiable, got a {victim.kind!r} victim")
    request = Sensitivity(asked.space.origin[None], asked.label)
    norms = victim.sensitivity(victim.bind(asked.space), request)[0]
    return Saliency(method="gradient", values=tuple(norms.tolist()), queries=1)
