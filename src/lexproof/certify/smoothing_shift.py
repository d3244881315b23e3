"""Shifts: how far swaps can move the distribution of a text's randomised copies.

delta_r bounds the total variation distance between the copies of a text x and the copies of any text x' of its space
with at most r swaps.  So no event, such as "the base says c", has a probability that differs by more than delta_r.

RanMASK keeps k of n words, the same k for x and x'.  If no swapped word is kept, the copies are equal; at least one of
r is kept with probability

    delta_r = 1 - C(n - r, k) / C(n, k)

whatever words are put there.  (The authors multiply it by an estimated factor beta <= 1, for which there is no
guarantee; this is beta = 1.)

SAFER draws word i from P(w_i), and from P(w'_i) if it is swapped, independently of the others.  Two uniform draws can
be made equal with probability 1 - TV = |P(w) ∩ P(w')| / max(|P(w)|, |P(w')|) =: o(w, w'), so all of them with the
product over the swapped words, and with o_i = min over the substitutes of word i

    delta_r = 1 - the product of the r smallest o_i

The paper divides by |P(w)|, which is the same where sets that meet have equal size.  It claims too much where P(w') is
larger: with P(w) = {w} and P(w') = {w, w', v}, w is drawn always from the one and one time in three from the other.

A substitute that a text reads as anything but one word changes the number of words, or its neighbors: nothing is
claimed then, delta = 1.  The attacker's substitutes need not be the defender's sets; where they are not, o is small and
no certificate comes out, which is right.

Reference: Zeng et al. 2021, Certified Robustness to Text Adversarial Attacks by Randomized [MASK], Theorem 1;
Ye et al. 2020, SAFER, Theorem 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb

from lexproof.space import Space
from lexproof.victims.safer_sets import SynonymSets, is_one_word
from lexproof.victims.smoothed import RanMask, Safer, Smoothed
from lexproof.victims.smoothed_noise import parsed

Shifts = list[Fraction]
"""delta_0, delta_1, … up to the most swaps of a space; exact, never falling, the first one 0."""


def shifts(victim: Smoothed, space: Space) -> Shifts:
    """The shifts of a smoothed victim on a space."""
    is_read_so = parsed(space.original.input) == space.original
    if isinstance(victim, RanMask) and is_read_so and all(map(is_one_word, _substitutes(space))):
        kept = victim.randomiser.kept(space.n)
        return [masked_shift(space.n, kept, r) for r in range(space.max_swaps + 1)]
    if isinstance(victim, Safer) and is_read_so:
        return swapped_shifts(overlaps(victim.sets, space), space.max_swaps)
    return [Fraction(0), *[Fraction(1)] * space.max_swaps]


def _substitutes(space: Space) -> set[str]:
    return {option for options in space.choices for option in options}


def masked_shift(words: int, kept: int, swaps: int) -> Fraction:
    """delta_r of RanMASK: the probability that one of r words is among the k of n that are kept."""
    return 1 - Fraction(comb(words - swaps, kept), comb(words, kept))


def overlap(sets: SynonymSets, word: str, other: str) -> Fraction:
    """o(w, w'): the probability with which draws for two words can be made equal."""
    if not is_one_word(other):
        return Fraction(0)
    mine, theirs = set(sets(word)), set(sets(other))
    return Fraction(len(mine & theirs), max(len(mine), len(theirs)))


def overlaps(sets: SynonymSets, space: Space) -> list[Fraction]:
    """o_i of each word that has substitutes."""
    pairs = zip(space.original.words, space.choices, strict=True)
    return [min(overlap(sets, word, other) for other in options) for word, options in pairs if options]


def swapped_shifts(least: Sequence[Fraction], swaps: int) -> Shifts:
    """delta_0 … delta_r of SAFER from the o_i."""
    equal = [Fraction(1)]
    for own in sorted(least)[:swaps]:
        equal.append(equal[-1] * own)
    return [1 - share for share in equal]
