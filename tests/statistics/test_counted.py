"""Flips counted by bounds against every text: each word model, unread words, limits, and when it is used."""

from functools import cache

import numpy as np
import pytest

import lexproof as lp
from lexproof.asking import answer_one
from lexproof.counting import Count, CountCurve
from lexproof.engine import Engine, Task
from lexproof.goal import Goal
from lexproof.space import Space
from lexproof.statistics.counted import flips_by_swaps
from lexproof.victims.base import Victim
from small_victims import SHAPES, all_scores, lean, swaps_of, word_space, word_victim


def counted(
    victim: Victim, space: Space, goal: Goal, *, points: int = 10**6, nodes: int = 10**6
) -> tuple[list[int] | None, int]:
    """The flips by number of swaps, and how many texts were scored."""
    search = flips_by_swaps(victim, space, goal, max_points=points, max_nodes=nodes)
    (outcome,) = Engine(victim).run([Task(0, space, goal, search)])
    assert outcome.error is None
    return outcome.claim, outcome.cost.queries


def truth(victim: Victim, space: Space, goal: Goal) -> list[int]:
    points, scores = all_scores(victim, space)
    return np.bincount(swaps_of(points)[goal.strict.reached(scores)], minlength=space.max_swaps + 1).tolist()


@pytest.mark.parametrize("leaf", [0, 10])
@pytest.mark.parametrize("shape", SHAPES)
def test_counts_every_flip_once(shape: str, leaf: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lexproof.statistics.counted._LEAF_POINTS", leaf)
    mixed = given_up = 0
    for seed in range(4 if "lstm" in shape or shape == "cnn-deep" else 12):
        victim = word_victim(shape, seed)
        space = word_space(seed, words=4 if "lstm" in shape else 6, options=4)
        label = int(victim.predict([str(space.original)])[0])
        target = (label + 1) % victim.classes if seed % 4 == 3 else None
        for by in (0.0, 0.5):
            goal = Goal(label, target, lean(victim, label, by).rounding)
            found, _ = counted(victim, space, goal)
            if not space.max_swaps:
                assert found is None
                continue
            given_up += found is None
            expected = truth(victim, space, goal)
            assert found in (None, expected)
            mixed += 0 < sum(expected) < space.size
    assert mixed > 1
    assert given_up == 0


def test_a_text_that_flips_by_itself_is_left_to_sampling() -> None:
    victim, space = word_victim("cnn", 1), word_space(3, words=5, max_swaps=2)
    wrong = (int(victim.predict([str(space.original)])[0]) + 1) % victim.classes
    assert counted(victim, space, Goal(wrong, None, victim.rounding)) == (None, 1)


@pytest.mark.parametrize("unread", [["never"], ["seen", "heard", "never"]])
def test_swaps_that_are_not_read_count_as_texts(unread: list[str]) -> None:
    """Unknown words look alike, words past the length limit are not read: each makes a text of the space."""
    some = 0
    for seed in range(6):
        victim = lean(word_victim("cnn", seed, max_length=4), 0, 0.3)
        words = ["w1", "unseen", "w2", "w3", "w4", "w5"]  # the last two are not read
        choices = [["w6", "w7"], [*unread, "w8"], ["w9", *unread], [], ["w1", "w2"], ["w3"]]
        space = Space(" ".join(words), choices, 5)
        goal = Goal(0, None, victim.rounding)
        expected = truth(victim, space, goal)
        if expected[0]:
            continue
        found, scored = counted(victim, space, goal)
        assert found == expected
        assert scored < space.size / 2
        some += sum(expected) > 0
    assert some


@cache
def few_flips() -> tuple[Victim, Space, Goal, list[int]]:
    """A space of 10,000 texts of which a few flip, but not the text itself; and how many do by number of swaps."""
    space = Space(" ".join(["w1"] * 7), [["w2", "w3", "w4"]] * 7, 5)
    for seed in range(50):
        victim = lean(word_victim("mlp", seed), 0, 2.0)
        flips = truth(victim, space, Goal(0))
        if not flips[0] and 0 < sum(flips) < space.size / 30:
            return victim, space, Goal(0, None, victim.rounding), flips
    raise AssertionError("no such victim")


@pytest.mark.parametrize("limits", [{"points": 3}, {"nodes": 1, "points": 60}])
def test_gives_up_at_limits(limits: dict[str, int]) -> None:
    victim, space, goal, flips = few_flips()
    found, scored = counted(victim, space, goal)
    assert found == flips
    assert scored < 0.8 * space.size
    found, scored = counted(victim, space, goal, **limits)
    assert found is None
    assert scored <= limits["points"] + 1


def test_a_condition_on_whole_texts_is_left_to_sampling() -> None:
    whole = word_space(5, words=5, max_swaps=2)
    space = Space(whole.original, whole.choices, 2, lambda texts: np.ones(len(texts), np.bool_))
    assert counted(word_victim("mlp", 0), space, Goal(0))[0] is None


def large(by: float) -> tuple[Victim, Space]:
    """A space of 3 * 10^7 texts of which few or none flip."""
    victim = lean(word_victim("mlp", 2, scale=0.5, max_length=12), 0, by)
    return victim, Space(" ".join(["w1"] * 12), [["w2", "w3", "w4", "w5"]] * 12, 9)


def test_a_count_is_exact_where_bounds_settle_the_space() -> None:
    victim, space = large(30.0)
    share = lp.count(victim, space, 0)
    assert isinstance(share, lp.Share)
    assert (share.method, share.n, share.flips, share.confidence) == ("exact", space.size, 0, 1.0)
    assert share.queries < 200
    curve = lp.count_curve(victim, space, 0)
    assert isinstance(curve, lp.ShareCurve)
    assert [(one.method, one.n, one.flips) for one in curve.strata] == [
        ("exact", space.stratum(k), 0) for k in range(space.max_swaps + 1)
    ]
    for off in ({"exact_points": 0}, {"exact_nodes": 0}):
        sampled = lp.count(victim, space, 0, **off)  # type: ignore[arg-type]
        assert isinstance(sampled, lp.Share)
        assert (sampled.method, sampled.flips) == ("anytime", 0)


def test_exact_and_sampled_agree_on_a_space_with_flips() -> None:
    victim, space, _, flips = few_flips()
    limits = {"samples": 100, "exact_points": 10**5, "exact_nodes": 10**5}
    curve = answer_one(CountCurve(**limits), victim, space, 0)  # type: ignore[arg-type]
    assert isinstance(curve, lp.ShareCurve)
    for share, own in zip(curve.strata, flips, strict=True):
        assert share.flips == own if share.method == "exact" else share.low <= own / space.stratum(share.radius)
    assert curve.radii[-1].low <= sum(flips) / space.size <= curve.radii[-1].high
    methods = set()
    for seed in range(20):
        share = answer_one(Count(**limits, seed=seed), victim, space, 0)  # type: ignore[arg-type]
        assert isinstance(share, lp.Share)
        methods.add(share.method)
        assert share.method != "exact" or share.flips == sum(flips)
        assert share.low <= sum(flips) / space.size <= share.high
    assert methods == {"exact", "clopper-pearson"}  # where the first draws show a flip, nothing is counted


def test_what_is_proven_for_few_swaps_is_not_drawn() -> None:
    victim, space = large(2.0)
    curve = lp.count_curve(victim, space, 0, samples=300, exact_points=20_000, exact_nodes=40)
    assert isinstance(curve, lp.ShareCurve)
    methods = [share.method for share in curve.strata]
    assert methods[0] == "exact"
    assert methods[-1] == "anytime"
    known = [k for k, method in enumerate(methods) if method == "exact"]
    assert any(space.stratum(k) > 300 for k in known)
    small = space.restrict(max_swaps=3)
    expected = truth(victim, small, Goal(0))
    assert [share.flips for share in curve.strata[: len(known)]][:4] == expected[: len(known)][:4]
