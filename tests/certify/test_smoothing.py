"""Certificates by smoothing against brute force: all copies, all swaps, written out and scored one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
import pytest

from lexproof.candidates import Table
from lexproof.certify.smoothing import bounds, certified_radius, certify_smoothed
from lexproof.certify.smoothing_shift import masked_shift, overlap, shifts
from lexproof.errors import InputError
from lexproof.points import FloatArray
from lexproof.space import Space
from lexproof.text import Input, Text
from lexproof.victims.base import Victim
from lexproof.victims.safer_sets import SynonymSets
from lexproof.victims.smoothed import RanMask, Safer, Smoothed
from toys import Additive, weight

Law = dict[str, Fraction]
"""The exact probability of each copy of a text."""

GRAPH = {"a": ["b"], "b": ["a", "c"], "c": ["b", "d"], "d": ["c", "e"], "e": ["d"], "x": ["y"], "y": ["x"]}
SETS = SynonymSets(GRAPH, 3)


class Says(Victim):
    """A base that says of each text what a function says, with some probability less than 1."""

    kind = "says"

    def __init__(self, label: Callable[[str], int], classes: int = 2) -> None:
        self.label, self.labels = label, tuple(map(str, range(classes)))

    @property
    def fingerprint(self) -> str:
        return "says"

    def scores(self, inputs: Sequence[Input]) -> FloatArray:
        rest = 0.4 / (self.classes - 1)
        return np.array([[0.6 if k == self.label(str(text)) else rest for k in range(self.classes)] for text in inputs])


def random_base(seed: int, classes: int, sure: float) -> Says:
    """A base that says 0, but of some texts anything else, whatever their words: as hostile as chance makes it."""

    def label(text: str) -> int:
        drawn = weight(text, seed)
        return 0 if drawn < sure else 1 + int(1e6 * (drawn + 1)) % (classes - 1)

    return Says(label, classes)


def law(victim: Smoothed, text: str) -> Law:
    """All copies of a text of words between single spaces, by what the methods are defined as."""
    words = text.split()
    found: Counter[str] = Counter()
    if isinstance(victim, RanMask):
        kept = list(combinations(range(len(words)), victim.randomiser.kept(len(words))))
        for own in kept:
            copy = [word if i in own else victim.randomiser.mask for i, word in enumerate(words)]
            found[" ".join(copy)] += 1
        return {copy: Fraction(count, len(kept)) for copy, count in found.items()}
    assert isinstance(victim, Safer)
    drawn = list(product(*[victim.sets(word) for word in words]))
    found.update(" ".join(copy) for copy in drawn)
    return {copy: Fraction(count, len(drawn)) for copy, count in found.items()}


def probabilities(victim: Smoothed, text: str) -> list[Fraction]:
    """Exactly what the smoothed classifier compares."""
    own = law(victim, text)
    said = victim.base.predict(list(own)).tolist()
    return [
        sum((own[c] for c, k in zip(own, said, strict=True) if k == label), Fraction(0))
        for label in range(victim.classes)
    ]


def distance(one: Law, other: Law) -> Fraction:
    """Total variation."""
    return (
        sum((abs(one.get(c, Fraction(0)) - other.get(c, Fraction(0))) for c in one.keys() | other.keys()), Fraction(0))
        / 2
    )


def smoothed(kind: str, base: Victim, **settings: Any) -> Smoothed:
    return RanMask(base, rate=0.7, **settings) if kind == "ranmask" else Safer(base, SETS, **settings)


def small_space(seed: int, least: int = 1, most: int = 4) -> Space:
    """A few words with substitutes inside, outside and beside their sets; at most 3 of them swapped."""
    rng = np.random.default_rng(seed)
    known = ["a", "b", "c", "d", "e", "x", "y", "never"]
    names = [str(word) for word in rng.choice(known, int(rng.integers(least, most + 1)))]
    choices = []
    for name in names:
        others = SETS(name)[1:] if seed % 2 else [word for word in known if word != name]
        count = min(len(others), int(rng.integers(0, 3)))
        choices.append([str(word) for word in rng.choice(others, count, replace=False)] if count else [])
    return Space(" ".join(names), choices, 3)


# ---------------------------------------------------------------------- shifts


@pytest.mark.parametrize("kind", ["ranmask", "safer"])
def test_no_swaps_move_the_copies_further_than_the_shift(kind: str) -> None:
    victim = smoothed(kind, Additive())
    reached = 0
    for seed in range(60):
        space = small_space(seed)
        moved = shifts(victim, space)
        assert moved[0] == 0
        assert moved == sorted(moved)
        assert len(moved) == space.max_swaps + 1
        own = law(victim, str(space.original))
        for point in space:
            swaps = int(np.count_nonzero(point))
            found = distance(own, law(victim, space.text(point)))
            assert found <= moved[swaps]
            reached += swaps > 0 and found == moved[swaps]
    assert reached > 50  # it is not larger than it must be


@pytest.mark.parametrize(("words", "kept"), [(1, 1), (4, 2), (6, 1), (6, 5), (7, 3)])
def test_masked_shift_is_the_share_of_choices_that_keep_a_swapped_word(words: int, kept: int) -> None:
    chosen = list(combinations(range(words), kept))
    for swaps in range(words + 1):
        hit = sum(any(i < swaps for i in own) for own in chosen)
        assert masked_shift(words, kept, swaps) == Fraction(hit, len(chosen))


def test_long_texts_are_exact() -> None:
    assert masked_shift(1000, 300, 1) == Fraction(3, 10)
    assert masked_shift(1000, 300, 701) == 1
    assert 0 < 1 - masked_shift(5000, 1500, 60) < Fraction(1, 10**9)


def test_sets_of_unequal_size_overlap_by_the_larger() -> None:
    """Dividing by the size of the word's own set, as the paper does, would claim that nothing moves."""

    class Unequal(SynonymSets):
        def __call__(self, word: str) -> tuple[str, ...]:
            return {"w": ("w",), "v": ("v", "w", "u")}[word]

    victim = Safer(Additive(), Unequal({}))
    assert overlap(victim.sets, "w", "v") == overlap(victim.sets, "v", "w") == Fraction(1, 3)
    assert distance(law(victim, "w"), law(victim, "v")) == Fraction(2, 3)
    assert shifts(victim, Space("w", [["v"]])) == [0, Fraction(2, 3)]


def test_the_least_overlaps_come_first() -> None:
    victim = Safer(Additive(), SETS)
    space = Space("x c a", [["y"], ["e", "d"], ["b"]])
    # x and y share a set; c, d and e have {b, c, d}, {c, d, e or b}, {c, d, e}; a and b have {a, b, c}
    least = sorted(min(overlap(SETS, w, o) for o in own) for w, own in zip("xca", space.choices, strict=True))
    assert least[0] < 1
    assert least[-1] == 1
    assert shifts(victim, space) == [0, 1 - least[0], 1 - least[0] * least[1], 1 - least[0] * least[1] * least[2]]


@pytest.mark.parametrize("odd", ["b c", "", "b-", "..."])
def test_nothing_is_claimed_about_substitutes_that_are_not_one_word(odd: str) -> None:
    for kind in ("ranmask", "safer"):
        victim = smoothed(kind, Says(lambda text: 0))
        space = Space("a b c d x y", [["b", odd], [], [], [], [], []])
        assert shifts(victim, space) == [0, 1]
        assert certify_smoothed(victim, space, samples=200).radius == 0
        torn = Space(Text(("a b", "c"), ("", " ", "")), [["b"], []])
        assert shifts(victim, torn) == [0, 1]


# ---------------------------------------------------------------------- soundness with exact probabilities


def held(victim: Smoothed, space: Space, label: int) -> int:
    """The true radius: the most swaps up to which the label is strictly ahead; -1 if it is not for the text itself."""
    lost = space.max_swaps + 1
    for point in space:
        own = probabilities(victim, space.text(point))
        if max(p for k, p in enumerate(own) if k != label) >= own[label]:
            lost = min(lost, int(np.count_nonzero(point)))
    return lost - 1


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["ranmask", "safer"])
def test_exact_probabilities_certify_nothing_that_is_false(kind: str, classes: int) -> None:
    radii: Counter[int] = Counter()
    for seed in range(80):
        victim = smoothed(kind, random_base(seed, classes, [0.5, 0.8, 0.95][seed % 3]))
        # of fewer than 5 words 2 that are kept are too many for any certificate
        space = small_space(seed, 5, 6) if kind == "ranmask" else small_space(seed)
        own = probabilities(victim, str(space.original))
        label = int(np.argmax(own))
        others = max(p for k, p in enumerate(own) if k != label)
        radius = certified_radius(own[label], others, shifts(victim, space))  # type: ignore[arg-type]
        assert (-1 if radius is None else radius) <= held(victim, space, label)
        radii[-1 if radius is None else radius] += 1
    assert radii[0] > 5
    assert sum(count for radius, count in radii.items() if radius > 0) > 5


def test_the_shift_counts_on_both_sides() -> None:
    """A base that turns each copy it can to one other class: p_A - delta > p_B would be a false certificate."""
    victim = smoothed("ranmask", Says(lambda text: 0, 3))
    text, swapped = "p q r s t u", "p q r s t v"
    mine, theirs = law(victim, text), law(victim, swapped)
    gone, come = sorted(mine.keys() - theirs.keys()), sorted(theirs.keys() - mine.keys())
    both = sorted(mine.keys() & theirs.keys())
    assert (len(gone), len(come), len(both)) == (5, 5, 10)
    says = dict.fromkeys(gone + both[:6], 0) | dict.fromkeys(come + both[6:], 1)
    victim = smoothed("ranmask", Says(says.__getitem__, 3))
    before, after = probabilities(victim, text), probabilities(victim, swapped)
    assert before == [Fraction(11, 15), Fraction(4, 15), 0]
    assert after == [Fraction(6, 15), Fraction(9, 15), 0]
    space = Space(text, [[], [], [], [], [], ["v"]])
    assert shifts(victim, space) == [0, Fraction(5, 15)]
    assert before[0] - Fraction(5, 15) > before[1]
    assert certified_radius(11 / 15, 4 / 15, shifts(victim, space)) == 0


def test_the_radius_is_inclusive_and_the_inequality_strict() -> None:
    moved = [Fraction(0), Fraction(1, 8), Fraction(1, 4), Fraction(3, 8)]
    assert certified_radius(1.0, 0.0, moved) == 3
    assert certified_radius(0.875, 0.125, moved) == 2  # at 3 swaps both are at 1/2
    assert certified_radius(0.75, 0.25, moved) == 1
    assert certified_radius(0.5, 0.25, moved) == 0
    assert certified_radius(0.5, 0.5, moved) is None
    assert certified_radius(0.25, 0.5, moved) is None


# ---------------------------------------------------------------------- soundness with draws


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["ranmask", "safer"])
def test_certificates_by_draws_are_wrong_no_more_often_than_they_say(kind: str, classes: int) -> None:
    confidence, runs, wrong, missed, claims = 0.8, 0, 0, 0, 0
    for case in range(20):
        victim = smoothed(kind, random_base(100 + case, classes, 0.3))
        space = small_space(200 + case)
        own = probabilities(victim, str(space.original))
        truth = [held(victim, space, label) for label in range(classes)]
        for seed in range(30):
            found = certify_smoothed(victim, space, samples=20, selection=5, confidence=confidence, seed=seed)
            others = max(p for k, p in enumerate(own) if k != found.label)
            runs += 1
            missed += not (found.p_low <= own[found.label] and others <= found.p_up)
            wrong += found.radius is not None and found.radius > truth[found.label]
            claims += found.radius is not None
    assert runs == 600
    # 3.3 standard deviations above the rate that is allowed
    most = (1 - confidence) * runs + 3.3 * (runs * confidence * (1 - confidence)) ** 0.5
    assert missed <= most
    assert wrong <= most
    assert claims > 100
    assert missed > 0  # the bounds are not idle


def tail(successes: int, n: int, p: float) -> float:
    """The probability of so many successes or more of n."""
    return sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(successes, n + 1))


def test_bounds_are_where_the_tails_say() -> None:
    two = np.array([90, 10])
    p_low, p_up = bounds(two, two, 0, 100, 0.95)
    assert tail(90, 100, p_low) == pytest.approx(0.05, abs=1e-6)  # all of it on one side
    assert tail(90, 100, p_low) < 0.05
    assert p_up == 1 - p_low
    three = np.array([60, 25, 15])
    p_low, p_up = bounds(three, three, 0, 100, 0.95)
    assert tail(60, 100, p_low) == pytest.approx(0.05 / 3, abs=1e-6)
    assert 1 - tail(26, 100, p_up) == pytest.approx(0.05 / 3, abs=1e-6)
    sure = np.array([99, 1, 0])
    p_low, p_up = bounds(sure, sure, 0, 100, 0.95)
    assert p_up <= 1 - p_low


def test_ties_of_the_base_count_for_no_class_and_for_each() -> None:
    class Tied(Says):
        rounding = 0.1

        def scores(self, inputs: Sequence[Input]) -> FloatArray:
            return np.array([[0.4, 0.35, 0.25] for _ in inputs])

    found = certify_smoothed(smoothed("ranmask", Tied(lambda text: 0, 3)), Space("a b", [[], []]), 0, samples=50)
    assert (found.p_low, found.abstained) == (0.0, True)
    assert found.p_up > 0.99


# ---------------------------------------------------------------------- draws, answers, refusals


def test_choosing_bounding_and_predicting_draw_apart() -> None:
    victim = smoothed("ranmask", Says(lambda text: 0), samples=30)
    asked: list[list[Input]] = []
    copies = victim.copies
    victim.copies = lambda *given: asked.append(copies(*given)) or asked[-1]  # type: ignore[method-assign, func-returns-value]
    text = "a b c d e f g h"
    victim.scores([text])
    space = Space(text, [[]] * 8)
    first = certify_smoothed(victim, space, samples=30, selection=30)
    assert [len(own) for own in asked] == [30, 30, 30]
    assert len({tuple(own) for own in asked}) == 3
    assert certify_smoothed(victim, space, samples=30, selection=30) == first
    assert asked[3:] == asked[1:3]
    certify_smoothed(victim, space, samples=30, selection=30, seed=1)
    assert len({tuple(own) for own in asked}) == 5
    certify_smoothed(victim, space, 1, samples=30)
    assert asked[7] == asked[2]  # a given label needs no choosing
    assert len(asked) == 8


def test_many_samples_are_drawn_in_blocks() -> None:
    victim = smoothed("safer", Says(lambda text: int(text.startswith("a")), 2))
    found = certify_smoothed(victim, Space("a x", [["b"], ["y"]]), samples=9000)
    assert (found.label, found.samples) == (0, 9000)
    assert found.p_low == pytest.approx(2 / 3, abs=0.03)


@pytest.mark.parametrize("text", ["", "...", "a", "a b"])
@pytest.mark.parametrize("kind", ["ranmask", "safer"])
def test_texts_of_few_words(kind: str, text: str) -> None:
    victim = smoothed(kind, Says(lambda text: 1))
    space = Space(text, [["c"]] * len(Text.parse(text)))
    found = certify_smoothed(victim, space)
    assert found.label == 1
    assert found.p_low > 0.99
    assert found.radius == max(r for r, delta in enumerate(shifts(victim, space)) if delta < 0.49)
    assert not len(space.original) or kind == "safer" or not found.is_whole


def test_what_a_certificate_says() -> None:
    space = Space("a b c d e x", [["b"], ["c"], [], [], [], ["y"]], 2)
    masked = certify_smoothed(RanMask(Says(lambda text: 1), rate=0.7), space, seed=4)
    assert (masked.label, masked.radius, masked.is_whole) == (1, 1, False)
    assert (
        "gives class 1 to the text and to every text made from it by swapping at most 1 of its words for any single"
        in masked.statement
    )
    assert "speaks for the smoothed classifier, neither for its base nor for its finite number" in masked.statement
    swapped = certify_smoothed(smoothed("safer", Says(lambda text: 1)), space.restrict([0, 5]), 1)
    assert (swapped.radius, swapped.is_whole, swapped.selection) == (2, True, 0)
    assert "for substitutes of the space" in swapped.statement
    unsure = certify_smoothed(smoothed("safer", Says(lambda text: 1)), space, 0)
    assert (unsure.radius, unsure.abstained, unsure.p_low) == (None, True, 0.0)
    assert unsure.statement.startswith("Nothing is claimed")
    record = masked.to_json()
    assert record | {"text": "a b c d e x", "label": 1, "radius": 1, "seed": 4, "confidence": 0.99} == record
    pair = Space(Text.parse("a b", premise="c"), [["b"], []])
    assert certify_smoothed(smoothed("safer", Additive()), pair).to_json()["premise"] == "c"


def test_refusals() -> None:
    victim, space = smoothed("safer", Additive()), Space("a b", [["b"], []])
    with pytest.raises(InputError, match="of kind safer or ranmask, got 'additive'"):
        certify_smoothed(Additive(), space)
    with pytest.raises(InputError, match="label from 0 to 1, got 2"):
        certify_smoothed(victim, space, 2)
    for settings, problem in (
        ({"samples": 0}, "samples to be a whole number of at least 1, got 0"),
        ({"samples": 10.5}, "samples to be a whole number of at least 1, got 10.5"),
        ({"selection": 0}, "selection to be a whole number of at least 1, got 0"),
        ({"label": "1"}, "a label as a whole number, got '1'"),
        ({"label": True}, "a label as a whole number, got True"),
        ({"confidence": 0.5}, r"confidence in \(0.5, 1\), got 0.5"),
        ({"confidence": 1.0}, "confidence in"),
        ({"seed": -1}, "seed to be a whole number of at least 0, got -1"),
    ):
        with pytest.raises(InputError, match=problem):
            certify_smoothed(victim, space, **settings)  # type: ignore[arg-type]


def test_real_candidates_and_sets_from_the_same_source() -> None:
    table = Table({"fun": ["bright"], "film": ["movie"], "good": ["fine"]})
    victim = Safer(Says(lambda text: 0), SynonymSets.of(table, ["fun", "film", "good", "a"]))
    space = Space.around("A Fun film, a GOOD film", table)
    assert shifts(victim, space) == [0] * 5  # components share their sets: nothing moves
    assert certify_smoothed(victim, space).is_whole
    stranger = Space.around("A Fun film, a GOOD film", Table({"fun": ["joyful"]}))
    assert shifts(victim, stranger) == [0, 1]
