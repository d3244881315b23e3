"""SemPSO on texts that can be worked out by hand, and against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hunting import adding, hunt

import lexproof as lp
from lexproof.attacks.sempso import SemPso
from lexproof.space import Space
from toys import Additive

WORDS = Space("a b c d e f g h", [["x"], ["y"], ["z"], [], [], [], [], []])
TOGETHER = adding({"a": 1.0, "b": 1.0, "c": 1.0, "x": -0.2, "y": -0.2, "z": -0.2})
HOPELESS = adding({"d": 9.0, "a": 0.1, "b": 0.2, "c": 0.3})


def test_a_single_swap_that_flips_is_found_in_the_first_request() -> None:
    hunted = hunt(SemPso(), WORDS, adding({"a": 1.0, "y": -2.0}))
    assert hunted.found == "a y c d e f g h"
    assert len(hunted.asked) == 2


def test_swaps_that_flip_only_together_are_found() -> None:
    for pick in ("substitutes", "gain"):
        assert hunt(SemPso(pick=pick), WORDS, TOGETHER).found == "x y z d e f g h"


def test_each_iteration_is_one_request() -> None:
    for iterations in (0, 4):
        hunted = hunt(SemPso(population=6, iterations=iterations), WORDS, HOPELESS)
        assert hunted.found is None
        assert len(hunted.asked) == 1 + 1 + iterations


def test_a_flip_of_the_last_iteration_is_not_lost() -> None:
    for iterations in range(12):
        hunted = hunt(SemPso(population=3, iterations=iterations), WORDS, TOGETHER)
        flipped = [text for texts in hunted.asked for text in texts if TOGETHER(text)[0] > 0.5]
        assert (hunted.found is not None) == bool(flipped)


def test_velocities_follow_the_formula_and_stay_bounded() -> None:
    texts, own, best = (np.array([row], np.int32) for row in ([0, 0, 1], [0, 2, 1], [1, 2, 1]))
    velocity = np.array([[2.0, 2.0, -2.0]])
    # w = 0.8 at the start: 0.8 v + 0.2 (±3 ± 3)
    assert np.allclose(SemPso()._steer(velocity, 0.0, texts, own, best), [[1.6, 2.8, -2.8]])
    # w = 0.5 in the middle: 1 + 0, 1 + 3, -1 - 3
    assert np.allclose(SemPso()._steer(velocity, 0.5, texts, own, best), [[1.0, 3.0, -3.0]])
    assert np.allclose(SemPso(clip=False)._steer(velocity, 0.5, texts, own, best), [[1.0, 4.0, -4.0]])


def test_the_seed_decides() -> None:
    victim, space = Additive(2), Space("p q r s", [[f"{w}{j}" for j in range(6)] for w in "pqrs"], 2)
    label = int(victim.predict(["p q r s"])[0])
    asked = []
    for seed in (1, 1, 2):
        victim.asked.clear()
        lp.find(victim, space, label, attack=SemPso(population=3, iterations=3), seed=seed)
        asked.append(list(victim.asked))
    assert asked[0] == asked[1] != asked[2]


def test_variants() -> None:
    code, benchmark = (SemPso(**SemPso.variants[name]) for name in ("code", "benchmark"))
    assert SemPso(**SemPso.variants["paper"]) == SemPso(population=60, iterations=20, speed=3.0, clip=True)
    assert (code.clip, code.pick) == (False, "substitutes")
    assert (benchmark.clip, benchmark.pick) == (False, "gain")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"population": 0}, "expected population >= 1 and iterations >= 0, got 0 and 20"),
        ({"iterations": -1}, "expected population >= 1 and iterations >= 0, got 60 and -1"),
        ({"speed": 0.0}, r"expected speed > 0 and at most 1e\+06, got 0.0"),
        ({"speed": float("inf")}, r"expected speed > 0 and at most 1e\+06, got inf"),
        ({"pick": "best"}, "expected pick substitutes or gain, got 'best'"),
    ],
)
def test_settings_are_checked(settings: dict[str, object], message: str) -> None:
    with pytest.raises(lp.InputError, match=message):
        SemPso(**settings)  # type: ignore[arg-type]


def test_the_fastest_swarm_does_not_overflow() -> None:
    space = Space("w0 w1 w2", [["w0s0", "w0s1"], ["w1s0"], ["w2s0"]])
    answer = lp.find(Additive(11, bias=4.0), space, 1, attack=SemPso(speed=1e6, clip=False))
    assert answer.kind in ("broken", "unknown")  # and no warning, which the test run turns into an error
