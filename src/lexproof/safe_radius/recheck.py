"""A bracket derived again from what it states: its lower end by the bounds, its upper end by the victim.

Nothing of the search is needed: the bound is evaluated once, at the radius stated, each flip is scored once, and its
distance is measured again.
"""

from __future__ import annotations

import math

import numpy as np

from lexproof.errors import EvidenceError, InputError
from lexproof.safe_radius.answer import RadiusBracket, VectorFlip, WordFlip
from lexproof.safe_radius.index_sets import check_words
from lexproof.text import Text
from lexproof.victims.balls import Item, Opened, opened
from lexproof.victims.base import Victim

_ROUNDING = 1e-9  # of distances, which are computed twice


def recheck_radius(victim: Victim, bracket: RadiusBracket) -> None:
    """Raise EvidenceError unless both ends of a bracket are borne out; InputError if it is of another victim or text.

    What is checked is what the bracket states: its text, split by `Text.parse`, and the words of it with these numbers.
    """
    if victim.fingerprint != bracket.victim:
        raise InputError("expected the victim that the bracket was made for, got another one")
    text = Text.parse(bracket.text, premise=bracket.premise)
    item = Item(text, check_words(text, bracket.words))
    if int(victim.predict([text.input])[0]) != bracket.predicted:
        raise EvidenceError(f"the text is not read as class {bracket.predicted}")
    found = opened(victim, [item])
    _check_lower(victim, bracket, found)
    distances = []
    if bracket.flip is not None:
        distances.append(_check_flip(victim, bracket, bracket.flip, found))
    if bracket.replacement is not None:
        distances.append(_check_words(victim, bracket, bracket.replacement, item, found))
    nearest = min(distances, default=math.inf)
    if not _agree(math.inf if bracket.upper is None else bracket.upper, nearest):
        raise EvidenceError(f"the upper end {bracket.upper} is not the distance of a flip")
    if nearest < bracket.lower:
        raise EvidenceError(f"a flip at distance {nearest} contradicts a proof for {bracket.lower}")


def _agree(stated: float, computed: float) -> bool:
    return stated == computed or abs(stated - computed) <= _ROUNDING * max(1.0, min(abs(stated), abs(computed)))


def _check_lower(victim: Victim, bracket: RadiusBracket, found: Opened) -> None:
    import torch

    from lexproof.safe_radius.lower import margin_bound, region_of

    diameter = found.scale.diameter(len(found.tokens[0].places), bracket.norm)
    if not _agree(bracket.diameter, diameter):
        raise EvidenceError(f"the diameter is {diameter}, not {bracket.diameter}")
    if bracket.any_replacement and not _agree(bracket.lower, diameter):
        raise EvidenceError(f"the lower end {bracket.lower} is not the diameter, and not all of the box")
    if bracket.lower == 0 and not bracket.any_replacement:  # nothing is claimed
        return
    if found.tokens[0].missing:
        raise EvidenceError(f"words {found.tokens[0].missing} have no token, so that nothing is proven of them")
    if not found.groups:  # nothing is read
        return
    (group,) = found.groups
    row, label = torch.tensor([0]), torch.tensor([bracket.predicted])
    radius = torch.tensor([bracket.lower], dtype=torch.float64)
    if bracket.any_replacement:
        radius = region_of(group.network, row, radius, bracket.norm).farthest()
    margin = float(margin_bound(group.network, row, radius, label, bracket.norm)[0])
    if not 2 * victim.rounding < margin < math.inf:
        raise EvidenceError(f"radius {bracket.lower} is not proven: the bound of the margin is {margin}")


def _check_flip(victim: Victim, bracket: RadiusBracket, flip: VectorFlip, found: Opened) -> float:
    import torch

    from lexproof.safe_radius.replay import vector_scores

    if not found.groups:
        raise EvidenceError("no vectors change the class: the victim does not read these words")
    network = found.groups[0].network
    vectors = torch.tensor(flip.vectors, dtype=torch.float64)
    if vectors.shape != network.center[0].shape:
        raise EvidenceError(f"expected vectors of shape {tuple(network.center[0].shape)}, got {tuple(vectors.shape)}")
    inside = (vectors >= network.low[0] - _ROUNDING) & (vectors <= network.high[0] + _ROUNDING)
    distance = float(torch.linalg.vector_norm((vectors - network.center[0]).flatten(), ord=bracket.norm))
    if not bool(inside.all()) or not _agree(flip.distance, distance):
        raise EvidenceError(f"the vectors are at distance {distance}, or outside the box, not at {flip.distance}")
    predicted = int(vector_scores(victim, found.tokens[0], found.scale, vectors).argmax())
    if predicted == bracket.predicted or predicted != flip.predicted:
        raise EvidenceError(f"the vectors are read as class {predicted}, not as {flip.predicted}")
    return distance


def _check_words(victim: Victim, bracket: RadiusBracket, flip: WordFlip, item: Item, found: Opened) -> float:
    changed = {change.position: change.new for change in flip.changed}
    is_own = changed.keys() <= set(item.words) and all(
        change.old == item.text.words[change.position] for change in flip.changed
    )
    if not is_own or str(item.text.swap(changed)) != flip.text:
        raise EvidenceError(f"{flip.text!r} does not change words {bracket.words} alone")
    new = Item(item.text.swap(changed), item.words)
    predicted = int(victim.predict([new.text.input])[0])
    if predicted == bracket.predicted or predicted != flip.predicted:
        raise EvidenceError(f"{flip.text!r} is read as class {predicted}, not as {flip.predicted}")
    distance = _distance(found, opened(victim, [new]), bracket.norm)
    if not _agree(flip.distance, distance):
        raise EvidenceError(f"{flip.text!r} is at distance {distance}, not at {flip.distance}")
    return distance


def _distance(one: Opened, other: Opened, norm: float) -> float:
    """How far the open tokens of two texts are apart; not a number if others differ, too."""
    (old,), (new,) = one.tokens, other.tokens
    closed = np.delete(old.ids, old.places), np.delete(new.ids, new.places)
    if not len(old.places) or not np.array_equal(old.places, new.places) or not np.array_equal(*closed):
        return math.nan
    step = other.groups[0].network.center[0] - one.groups[0].network.center[0]
    return float(np.linalg.norm(step.flatten().numpy(), ord=norm))
