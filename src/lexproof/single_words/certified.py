"""Words that provably cannot flip a text: linear bounds of many words at one position at once.

At each position the words still in question form a space of single swaps.  The linear bound of that space is an
additive function of the swap, base + gain, at most the margin of every text with it; a word whose value exceeds the
threshold for every rival does not flip the text there.  A group that is not settled at once is cut into smaller ones,
the words with the largest values together: bounds of fewer and more similar words are tighter.

Guarantee: a word for which `provably_safe` is true flips the text at no position.  It is true only if the word was
bounded at every position that is read, changes no token there, or stands there already.  There are bounds of one token
for one token only: nothing is proven of a word of several tokens, nor of any word where a word of several tokens is
read that it would replace.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from operator import ne

import numpy as np
from numpy.typing import NDArray

from lexproof.certify.deadline import Check, TimeUp, deadline
from lexproof.certify.lowering import form_of, program_of, threshold
from lexproof.goal import Goal
from lexproof.points import BoolArray, FloatArray
from lexproof.space import Space
from lexproof.text import Text
from lexproof.victims.base import Victim

Index = NDArray[np.int64]

_GROUPS = (1024, 128, 16)  # words bounded together, round after round


def provably_safe(
    victim: Victim, text: Text, label: int, words: Sequence[str], asked: BoolArray, *, time_limit: float = inf
) -> BoolArray:
    """Which of the asked words cannot flip the text, as far as the bounds and the time reach.

    NoRule if the victim does not show its operations.
    """
    goal = Goal(label, None, victim.rounding)
    left = np.flatnonzero(asked)
    check = deadline(np.full((1, 1), time_limit))
    try:
        for position in range(len(text)):
            left = left[_safe_at(victim, text, goal, position, [words[word] for word in left.tolist()], check)]
            if not len(left):
                break
    except TimeUp:
        left = left[:0]  # no word was bounded at every position
    safe = np.zeros(len(words), np.bool_)
    safe[left] = True
    return safe


def _safe_at(victim: Victim, text: Text, goal: Goal, position: int, words: Sequence[str], check: Check) -> BoolArray:
    """Which words provably keep the label at this position."""
    safe = np.array([word == text.words[position] for word in words], np.bool_)
    has_rule = _have_rules(victim, text, position, words, check)
    value: FloatArray = np.zeros(len(words))
    for size in _GROUPS:
        left = np.flatnonzero(~safe & has_rule)
        left = left[np.argsort(-value[left], kind="stable")]
        for start in range(0, len(left), size):
            check()
            group = left[start : start + size]
            value[group] = _values(victim, text, goal, position, [words[word] for word in group.tolist()], check)
            safe[group] = (value[group] > threshold(goal)) & (value[group] < inf)  # what overflowed proves nothing
    return safe


def _have_rules(victim: Victim, text: Text, position: int, words: Sequence[str], check: Check) -> BoolArray:
    """Which words change at most one token that is read, and no number of tokens, at this position."""
    found: BoolArray = np.array([word != text.words[position] for word in words], np.bool_)
    others = np.flatnonzero(found)
    for start in range(0, len(others), _GROUPS[0]):
        check()
        group = others[start : start + _GROUPS[0]]
        found[group] = _are_one_for_one(victim, _space(text, position, [words[word] for word in group.tolist()]))
    return found


def _are_one_for_one(victim: Victim, space: Space) -> BoolArray:
    """Which single swaps of the space `program_of` takes; all of them where it says itself what has no rule."""
    from lexproof.victims.transformer_bind import UnitBound
    from lexproof.victims.word_space import WordBound

    bound, swaps = victim.bind(space), space.singles()
    if isinstance(bound, WordBound):
        columns = bound.columns
        first = columns.first[swaps.positions]
        is_one = (columns.token[first + swaps.choices] >= 0) & (columns.token[first] >= 0)
        is_read = columns.start[swaps.positions] < len(columns.ids)
        return np.asarray((is_one | ~is_read) & bound.is_local, np.bool_)
    if not isinstance(bound, UnitBound):
        return np.ones(len(swaps), np.bool_)
    if not bound.is_local:
        return np.zeros(len(swaps), np.bool_)
    (own,) = bound.whole(space.origin[None])
    others = bound.whole(np.asarray(bound.canonical(swaps.dense())))
    return np.array(
        [len(other) == len(own) and sum(map(ne, own, other)) <= 1 for other in others],
        np.bool_,
    )


def _space(text: Text, position: int, words: Sequence[str]) -> Space:
    return Space(text, [tuple(words) if at == position else () for at in range(len(text))], 1)


def _values(victim: Victim, text: Text, goal: Goal, position: int, words: Sequence[str], check: Check) -> FloatArray:
    """A lower bound of the margin of logits of the text with each of the words at the position."""
    from lexproof.bounds.backward import linear_relaxation

    program = program_of(victim, _space(text, position, words))
    relaxation = linear_relaxation(program.graph, program.region, check)
    form = form_of(goal, victim.classes)
    given, constant = relaxation.pull(relaxation.graph.last, form.expand(1, -1, -1))
    base, gains = program.region.additive(given)
    at_rest = (base + constant)[0].detach().numpy()  # (K,)
    value = np.full(len(words), float(at_rest.min()))  # a word that changes no token leaves the text as it is
    choice = program.swaps[0, :, :, 1]
    reach = (at_rest[:, None, None] + gains[0].detach().numpy()).min(axis=0)  # (P, J)
    value[choice[choice > 0] - 1] = reach[choice > 0]
    return np.where(np.isnan(value), -inf, value)
