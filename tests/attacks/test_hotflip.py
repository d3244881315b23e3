"""HotFlip: gradients rank, scores decide."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import lexproof as lp
from lexproof.asking import answer_one
from lexproof.attacks.hotflip import HotFlip
from lexproof.engine import Engine, Task
from lexproof.goal import Goal
from lexproof.points import FirstOrder, FloatArray
from lexproof.questions import Find
from lexproof.search import Seed
from lexproof.space import Space
from lexproof.text import Input
from lexproof.victims.base import Bound, Victim
from toys import Additive, brute_minimum, random_space, weight


class Sloped(Victim):
    """Scores of classes are softmaxed sums of word weights; gradients say what they are told to."""

    kind = "sloped"
    has_gradients = True
    labels = ("other", "own", "third")

    def __init__(self, weights: dict[str, float], *, third: dict[str, float] | None = None, lie: float = 1.0) -> None:
        self.weights, self.third, self.lie = weights, third or {}, lie
        self.differentiated: list[tuple[list[list[int]], int]] = []
        self.asked: list[str] = []

    @property
    def fingerprint(self) -> str:
        return "sloped"

    def scores(self, inputs: Sequence[Input]) -> FloatArray:
        self.asked += map(str, inputs)
        own = [sum(self.weights.get(word, 0.0) for word in str(text).split()) for text in inputs]
        third = [sum(self.third.get(word, 0.0) for word in str(text).split()) - 2.0 for text in inputs]
        powers = np.exp(np.stack([np.zeros(len(own)), own, third], axis=1))
        return powers / powers.sum(axis=1, keepdims=True)

    def first_order(self, bound: Bound, request: FirstOrder) -> FloatArray:
        self.differentiated.append((request.points.tolist(), request.label))
        space, singles = bound.space, bound.space.singles()
        table = {1: self.weights, 2: self.third}[request.label]
        found = np.zeros((len(request.points), len(singles)))
        for b, point in enumerate(request.points):
            for s, (i, choice) in enumerate(zip(singles.positions, singles.choices, strict=True)):
                words = (space.original.words[i], *space.choices[i])
                found[b, s] = self.lie * (table.get(words[choice], 0.0) - table.get(words[point[i]], 0.0))
        return found


def hunt(victim: Victim, space: Space, attack: HotFlip, target: int | None = None) -> tuple[str | None, int]:
    task = Task(0, space, Goal(1, target), attack(space, Goal(1, target), Seed(0)))
    outcome = next(Engine(victim).run([task]))
    return (None if outcome.claim is None else space.text(outcome.claim)), outcome.cost.queries


SPACE = Space("a b c d", [["a1", "a2"], ["b1", "b2", "b3"], ["c1"], ["d1", "d2"]], 3)
WEIGHTS = {"a": 1.0, "b": 1.0, "c": 1.0, "a1": 0.9, "a2": 0.4, "b1": 1.4, "b2": -0.6, "b3": 0.5, "c1": -1.0, "d1": -0.2}


def test_the_steepest_swap_is_checked_first() -> None:
    victim = Sloped(WEIGHTS)
    assert hunt(victim, SPACE, HotFlip(verify=1)) == ("a b2 c1 d", 6)
    # the text, its gradient, c1 (-2.0), a gradient there, b2 (-1.6): a flip; then neither of them can be put back
    assert victim.asked == ["a b c d", "a b c1 d", "a b2 c1 d", "a b2 c d"]
    assert victim.differentiated == [([[0, 0, 0, 0]], 1), ([[0, 0, 1, 0]], 1)]


def test_gradients_decide_what_is_asked() -> None:
    """Public code has a HotFlip that takes no gradient at all: with opposite gradients it would ask the same."""
    honest, liar = Sloped(WEIGHTS), Sloped(WEIGHTS, lie=-1.0)
    hunt(honest, SPACE, HotFlip(verify=1))
    hunt(liar, SPACE, HotFlip(verify=1))
    assert honest.asked[1] == "a b c1 d"
    assert liar.asked[1] == "a b1 c d"  # which raises the score
    assert len(liar.asked) > len(honest.asked)


def test_only_what_really_helps_is_kept() -> None:
    victim = Sloped(WEIGHTS, lie=-1.0)
    hunt(victim, SPACE, HotFlip(verify=1))
    steps = [points[0] for points, _ in victim.differentiated]
    scores = [victim.scores([SPACE.text(np.array(point))])[0, 1] for point in steps]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(scores)
    assert len(scores) >= 2


def test_nothing_helps() -> None:
    victim = Sloped({"a": 2.0, "a1": 2.5, "b1": 0.5})
    space = Space("a b", [["a1"], ["b1"]])
    assert hunt(victim, space, HotFlip()) == (None, 4)  # the text, its gradient, and both swaps


def test_swaps_that_are_not_needed_are_put_back() -> None:
    space = Space("a b", [["a1"], ["b1"]])
    both = Sloped({"a": 3.0, "a1": 1.5, "b1": -2.9})
    assert hunt(both, space, HotFlip(verify=1))[0] == "a1 b1"
    one = Sloped({"a": 3.0, "a1": 1.5, "b1": -3.5}, lie=-1.0)  # the gradient leads to a1 first, though b1 is enough
    assert hunt(one, space, HotFlip(verify=1))[0] == "a b1"
    assert len(one.differentiated) == 2


def test_a_target_is_climbed_to() -> None:
    victim = Sloped({"a": 1.0, "b": 1.0, "b1": -3.0}, third={"c1": 2.5, "d1": 2.0, "d2": -1.0})
    space = Space("a b c d", [[], ["b1"], ["c1"], ["d2", "d1"]])
    assert hunt(victim, space, HotFlip(verify=1), target=2)[0] == "a b c1 d1"
    assert {label for _, label in victim.differentiated} == {2}
    assert hunt(victim, space, HotFlip())[0] == "a b1 c d"  # leaving the label is easier


class Detour(Sloped):
    """The best first swap leads nowhere; the second best, with another, flips."""

    def scores(self, inputs: Sequence[Input]) -> FloatArray:
        lifted = {"a1 b": 0.6, "a b1": 0.65, "a1 b1": 0.6, "a2 b": 0.9, "a2 b1": 0.1}
        own = np.array([lifted.get(str(text), 0.95) for text in inputs])
        return np.stack([1 - own, own, np.zeros(len(own))], axis=1)


def test_a_beam_finds_what_greed_misses() -> None:
    space = Space("a b", [["a1", "a2"], ["b1"]])
    victim = Detour({"a": 1.0, "a1": 0.0, "a2": 0.8, "b": 1.0, "b1": 0.2})
    assert hunt(victim, space, HotFlip())[0] is None
    assert hunt(victim, space, HotFlip(beam=2))[0] == "a2 b1"
    with_beam = victim.differentiated[-1][0]
    assert len(with_beam) == 2  # both texts are differentiated at once


def test_every_step_keeps_to_the_predicate() -> None:
    rejected = {"a b c1 d"}  # where the honest gradient leads first
    space = Space("a b c d", SPACE.choices, 3, lambda texts: np.array([text not in rejected for text in texts]))
    victim = Sloped(WEIGHTS)
    found, _ = hunt(victim, space, HotFlip())
    assert found is not None
    assert found not in rejected
    assert [[0, 0, 1, 0]] not in [points for points, _ in victim.differentiated]


def test_a_predicate_that_accepts_nothing() -> None:
    space = Space("a b c d", SPACE.choices, 3, lambda texts: np.zeros(len(texts), bool))
    assert hunt(Sloped(WEIGHTS), space, HotFlip())[0] is None


@pytest.mark.parametrize("attack", [HotFlip(), HotFlip(verify=1), HotFlip(beam=3, verify=2)])
def test_with_every_swap_verified_it_is_sound_and_finds_single_swaps(attack: HotFlip) -> None:
    """On sums of weights the estimate ranks exactly, so a flip of one swap is always found."""
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(60):
        space = random_space(rng)
        weights = {
            word: 3 * weight(word, 4) for word in {*space.original.words, *(w for c in space.choices for w in c)}
        }
        victim = Sloped(weights)
        if victim.predict([str(space.original)])[0] != 1:
            continue
        answer = answer_one(Find(attack=attack), victim, space, 1)
        exact = brute_minimum(victim, space, 1)
        if isinstance(answer, lp.Broken):
            found += 1
            assert exact is not None
            assert exact <= answer.swaps <= space.max_swaps
        if exact == 1:
            assert isinstance(answer, lp.Broken)
            assert answer.swaps == 1
    assert found >= 5


def test_it_needs_gradients() -> None:
    with pytest.raises(lp.InputError, match="needs gradients, which 'additive' victims do not have"):
        lp.find(Additive(), SPACE, 1, attack=HotFlip())


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"beam": 0}, "expected beam >= 1, got 0"), ({"verify": -1}, "expected verify >= 1, got -1")],
)
def test_settings_are_checked(settings: dict[str, int], message: str) -> None:
    with pytest.raises(lp.InputError, match=message):
        HotFlip(**settings)


def test_the_published_variant() -> None:
    assert HotFlip(**HotFlip.variants["paper"]) == HotFlip(beam=10, verify=1)
