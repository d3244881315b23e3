"""Decision: labels are enough, and what it claims cannot be put back or traded."""

from __future__ import annotations

import tracemalloc
from itertools import combinations

import numpy as np
import pytest

import lexproof as lp
from lexproof.asking import answer_one
from lexproof.attacks.decision import Decision, _Labels
from lexproof.engine import Engine, Outcome, Task
from lexproof.goal import Goal
from lexproof.points import DELETED, IntArray, dense
from lexproof.questions import Find
from lexproof.search import Search, Seed
from lexproof.space import Space
from lexproof.victims.base import Victim
from lexproof.victims.labels import LabelOnly
from toys import Additive, brute_minimum, random_space, weight


def answers(search: Search, space: Space, victim: Victim, goal: Goal) -> object:
    """Drive a search, or a part of one, by the labels of texts."""
    try:
        request = next(search)
        while True:
            request = search.send(victim.scores(space.render(dense(request))))
    except StopIteration as end:
        return end.value


def run(victim: Victim, space: Space, attack: Decision, *, label: int = 1, target: int | None = None) -> Outcome:
    goal = Goal(label, target, victim.rounding)
    return next(Engine(victim).run([Task(0, space, goal, attack(space, goal, Seed(0)))]))


def fooled(victim: Victim, space: Space, points: IntArray, label: int) -> np.ndarray:
    return victim.predict(space.render(points)) != label


def test_labels_are_all_it_uses() -> None:
    rng = np.random.default_rng(0)
    broken = 0
    for _ in range(30):
        space, victim = random_space(rng, words=8), Additive(1, bias=1.0)
        label = int(victim.predict([str(space.original)])[0])
        by_scores = lp.find(victim, space, label, attack=Decision())
        by_labels = lp.find(LabelOnly(victim), space, label, attack=Decision())
        assert (by_scores.kind, by_scores.queries) == (by_labels.kind, by_labels.queries)
        broken += isinstance(by_labels, lp.Broken)
        if isinstance(by_scores, lp.Broken) and isinstance(by_labels, lp.Broken):
            assert by_scores.witness == by_labels.witness
    assert broken >= 10


@pytest.mark.parametrize("quadratic", [0.0, 0.8])
def test_no_swap_can_be_put_back_and_no_two_traded_for_one(quadratic: float) -> None:
    rng = np.random.default_rng(5)
    sizes = []
    for _ in range(40):
        space = random_space(rng, words=8, max_swaps=6)
        victim = LabelOnly(Additive(2, bias=1.2, quadratic=quadratic))
        label = int(victim.predict([str(space.original)])[0])
        point = run(victim, space, Decision(), label=label).claim
        if point is None:
            continue
        swapped = np.flatnonzero(point)
        sizes.append(len(swapped))
        assert space.contains(point)
        for i in swapped if len(swapped) > 1 else ():
            back = point.copy()
            back[i] = 0
            assert not fooled(victim, space, back[None], label)[0]
        for pair in combinations(swapped, 2):
            base = point.copy()
            base[list(pair)] = 0
            trades = space.singles(base).dense()
            trades = trades[np.count_nonzero(trades, axis=1) == np.count_nonzero(base) + 1]
            assert not fooled(victim, space, trades, label).any()
    assert max(sizes) >= 2
    assert len(sizes) >= 15


def test_small_spaces_are_broken_if_they_can_be() -> None:
    rng = np.random.default_rng(7)
    kinds = set()
    for _ in range(60):
        space = random_space(rng)
        victim = LabelOnly(Additive(3, bias=0.8))
        label = int(victim.predict([str(space.original)])[0])
        answer = answer_one(Find(attack=Decision()), victim, space, label)
        exact = brute_minimum(victim, space, label)
        kinds.add(answer.kind)
        assert isinstance(answer, lp.Broken) == (exact is not None)
        if isinstance(answer, lp.Broken) and exact is not None and exact <= 2:
            assert answer.swaps == exact  # with at most two swaps nothing is left to trade
    assert kinds == {"broken", "unknown"}


class Needle(Victim):
    """Positive unless enough of the right substitutes are there; other substitutes make it surer."""

    kind = "needle"
    labels = ("negative", "positive")
    has_scores = False

    @property
    def fingerprint(self) -> str:
        return "needle"

    def scores(self, inputs: object) -> np.ndarray:
        found = [self._sum(str(text).split()) for text in inputs]  # type: ignore[attr-defined]
        positive = np.array(found) > 0
        return np.stack([~positive, positive], axis=1).astype(float)

    def _sum(self, words: list[str]) -> float:
        kinds = {"w": 0.5, "g": -2.0, "h": 1.0}
        return -1.2 + sum(kinds[word[0]] for word in words)


def test_votes_find_what_draws_do_not() -> None:
    n = 40
    text = " ".join(f"w{i}" for i in range(n))
    choices = [[*(f"h{i}{k}" for k in "abcdefg"), f"g{i}"] if i % 2 else [] for i in range(n)]
    # -1.2 + 20 - 2.5 k < 0 takes k = 8 of the twenty open words, each with the one right substitute out of eight
    space, victim = Space(text, choices, 8), Needle()
    assert isinstance(lp.find(victim, space, 1, attack="random?draws=5000"), lp.Unknown)
    answer = lp.find(victim, space, 1, attack=Decision())
    assert isinstance(answer, lp.Broken)
    assert answer.swaps == 8
    assert all(change.new.startswith("g") for change in answer.changed)


def test_the_border_is_one_word_wide() -> None:
    victim, goal = Additive(5, bias=1.0), Goal(1)
    space = Space("w0 w1 w2 w3 w4 w5", [[f"w{i}s{j}" for j in range(3)] for i in range(6)])
    assert victim.predict([str(space.original)])[0] == 1
    drawn = space.sample(np.random.default_rng(0), 60)
    drawn = np.concatenate([drawn, np.where(np.arange(6) < 3, np.int32(DELETED), drawn)])
    starts = drawn[victim.predict(space.render(drawn)) == 0]
    assert (starts < 0).any()
    for seed, start in enumerate(starts):
        labels = _Labels(space, goal, np.random.default_rng(seed))
        pair = answers(labels.border(start), space, victim, goal)
        assert isinstance(pair, np.ndarray)
        assert np.count_nonzero(pair[0] != pair[1]) == 1
        assert victim.predict(space.render(pair)).tolist() == [1, 0]
        assert labels.asked <= 3  # bisection of at most six words


def test_votes_point_downhill() -> None:
    victim, goal = Additive(5, bias=1.0), Goal(1)
    space = Space("w0 w1 w2 w3 w4 w5", [[f"w{i}s{j}" for j in range(3)] for i in range(6)])
    labels = _Labels(space, goal, np.random.default_rng(0))
    points = space.sample(np.random.default_rng(0), 100)
    for start in points[victim.predict(space.render(points)) == 0][:10]:
        pair = answers(labels.border(start), space, victim, goal)
        answers(labels.vote(pair, 1000), space, victim, goal)  # type: ignore[arg-type]
    drop = np.array(
        [
            weight(space.original.words[i], 5) - weight(space.choices[i][c - 1], 5)
            for i, c in zip(space.singles().positions, space.singles().choices, strict=True)
        ]
    )
    assert (drop[labels.votes > 0] > 0).all()
    assert (drop[labels.votes < 0] < 0).all()
    assert np.count_nonzero(labels.votes) >= 6


def test_a_vote_on_some_swaps_only() -> None:
    victim, goal = Additive(5, bias=1.0), Goal(1)
    space = Space("w0 w1 w2 w3 w4 w5", [[f"w{i}s{j}" for j in range(3)] for i in range(6)])
    labels = _Labels(space, goal, np.random.default_rng(0))
    pair = np.stack([space.origin, space.origin])
    answers(labels.vote(pair, 4), space, victim, goal)
    assert 2 * (4 + 1) <= labels.asked <= 2 * (4 + 4)  # on two texts: four swaps, and the one to four words they change


def test_proposals_lie_in_the_space_and_follow_the_votes() -> None:
    space = Space("a b c d", [["a1", "a2"], [], ["c1"], ["d1", "d2", "d3"]], 2)
    labels = _Labels(space, Goal(1), np.random.default_rng(0))
    proposed = labels.proposals(200)
    assert all(space.contains(point) for point in proposed)
    assert len(np.unique(proposed, axis=0)) >= 10  # without votes they are random
    labels.votes[:] = [0, 5, 0, 0, 0, 9]
    assert labels.proposals(50).tolist() == [[2, 0, 0, 3]] * 50
    labels.votes[:] = [-5, -5, -5, -5, -5, 9]
    assert labels.proposals(50).tolist() == [[0, 0, 0, 3]] * 50  # what the votes are against is left out


def test_draws_have_any_number_of_swaps_and_cuts_delete_words() -> None:
    space = Space("a b c d", [["a1", "a2"], [], ["c1"], ["d1", "d2", "d3"]], 1)
    labels = _Labels(space, Goal(1), np.random.default_rng(0))
    drawn = labels.draw(300)
    counts = np.bincount(np.count_nonzero(drawn, axis=1), minlength=4)
    assert counts[0] == 0
    assert (counts[1:] > 70).all()
    assert (drawn.max(axis=0) == [2, 0, 1, 3]).all()
    cut = labels.cut(drawn)
    assert ((cut == DELETED) | (cut == drawn)).all()
    assert 0.5 < (cut == DELETED).mean() < 0.8


def test_a_target_is_reached() -> None:
    def label(texts: list[str]) -> list[str]:
        return ["c" if "c1" in t and "d1" in t else "b" if "a1" in t else "a" for t in texts]

    victim = lp.BlackBox(label, ["a", "b", "c"], scores=False)
    space = Space("a b c d e", [["a1", "a2"], ["b1"], ["c1", "c2"], ["d1", "d2"], ["e1"]])
    assert lp.find(victim, space, 0, attack=Decision()).witness == "a1 b c d e"  # type: ignore[union-attr]
    assert lp.find(victim, space, 0, target=2, attack=Decision()).witness == "a b c1 d1 e"  # type: ignore[union-attr]


def test_claims_keep_to_the_predicate() -> None:
    rejected = "a1"
    space = Space(
        "a b c",
        [["a1", "a2"], ["b1"], ["c1"]],
        predicate=lambda texts: np.array([rejected not in str(text) for text in texts]),
    )
    victim = lp.BlackBox(lambda texts: [int("a1" not in t and "b1" not in t) for t in texts], ["n", "p"], scores=False)
    assert lp.find(victim, space, 1, attack=Decision()).witness == "a b1 c"  # type: ignore[union-attr]
    narrow = Space(space.original, [["a1"], [], []], predicate=space.predicate)
    assert isinstance(lp.find(victim, narrow, 1, attack=Decision(queries=300)), lp.Unknown)


def test_what_cannot_be_fooled_ends_with_the_budget() -> None:
    victim = lp.BlackBox(lambda texts: ["p"] * len(texts), ["n", "p"], scores=False)
    space = Space("a b c d", [["a1", "a2"], ["b1", "b2"], ["c1", "c2"], ["d1", "d2"]])
    outcome = run(victim, space, Decision(queries=500))
    assert outcome.claim is None
    assert 500 <= outcome.cost.logical < 500 + 3 * 64  # draws, cuts and proposals of the last round


def test_trades_keep_to_the_budget() -> None:
    """With 20 swaps there are 190 pairs to trade for any of 40 swaps: more than may be asked."""
    n = 20
    space = Space(" ".join(f"w{i}" for i in range(n)), [[f"g{i}", f"x{i}"] for i in range(n)])
    victim = lp.BlackBox(lambda texts: [int(t.count("g") < n) for t in texts], ["n", "p"], scores=False)
    labels = _Labels(space, Goal(1), np.random.default_rng(0))
    point = np.ones(n, np.int32)
    assert answers(labels.traded(point, 300), space, victim, Goal(1)) is None
    assert labels.asked == 300
    assert answers(labels.traded(point, -5), space, victim, Goal(1)) is None
    assert labels.asked == 300


@pytest.mark.parametrize("name", ["queries", "draws", "probes"])
def test_settings_are_checked(name: str) -> None:
    with pytest.raises(lp.InputError, match=f"expected {name} >= 1, got 0"):
        Decision(**{name: 0})


def test_trades_of_a_flip_with_many_swaps_do_not_fill_the_memory() -> None:
    space = Space(" ".join(["a"] * 150), [[f"x{j}" for j in range(10)]] * 150)
    labels = _Labels(space, Goal(1), Seed(0).generator())
    point = np.zeros(150, np.int32)
    point[:120] = 1
    tracemalloc.start()
    request = next(labels.traded(point, 500))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(request) == 500
    assert len(set(map(bytes, dense(request)))) == 500
    assert (np.count_nonzero(dense(request), axis=1) == 119).all()
    assert peak < 60e6  # 7140 pairs times 1500 swaps: their places alone would take 40 MB as bits, 170 MB as numbers


def test_all_trades_are_tried_if_there_is_room_for_them() -> None:
    space = Space(" ".join(["a"] * 150), [[f"x{j}" for j in range(10)]] * 150)
    labels = _Labels(space, Goal(1), Seed(0).generator())
    point = np.zeros(150, np.int32)
    point[:50] = 1
    # 1225 pairs; 1000 swaps of other words for each, and 10 of each of the two words
    request = next(labels.traded(point, 1225 * 1020))
    assert len(request) == 1225 * 1020
