"""The portfolio keeps the fewest swaps, leaves out what a victim cannot serve, and improves only."""

import numpy as np
import pytest

import lexproof as lp
from lexproof.attacks.worst import Worst
from lexproof.questions import resolve_attack
from toys import Additive, random_space


def test_it_is_as_good_as_its_best_member() -> None:
    rng = np.random.default_rng(5)
    better = 0
    for seed in range(30):
        victim, space = Additive(seed, quadratic=0.9), random_space(rng, words=7, options=3)
        label = int(victim.predict([str(space.original)])[0])

        def swaps(attack: str, victim: Additive = victim, space: lp.Space = space, label: int = label) -> int:
            found = lp.find(victim, space, label, attack=attack, seed=1)
            return found.swaps if isinstance(found, lp.Broken) else 99

        alone = [swaps("textfooler"), swaps("random"), swaps("beam")]
        together = swaps("worst?members=textfooler,random,beam")
        assert together <= min(alone[0], alone[2])  # random draws from a smaller space once there is a flip
        better += together < max(alone)
    assert better


def test_members_that_cannot_be_served_are_left_out() -> None:
    attack = resolve_attack("worst?members=pdp?look=gradient,beam,random", Additive())
    assert isinstance(attack, Worst)
    assert attack.members == ("beam", "random")
    blind = lp.BlackBox(lambda texts: [0] * len(texts), ["a", "b"], scores=False)
    kept = resolve_attack("worst?members=beam,random", blind)
    assert isinstance(kept, Worst)
    assert kept.members == ("random",)
    with pytest.raises(lp.InputError, match="expected a member that this victim can serve, got beam"):
        resolve_attack("worst?members=beam", blind)


def test_unknown_and_missing_members_are_refused() -> None:
    with pytest.raises(lp.UnknownName, match="unknown attack 'beem'; did you mean 'beam'"):
        lp.find(Additive(), lp.Space("w0", [["w0s0"]]), 1, attack="worst?members=beem")
    with pytest.raises(lp.InputError, match="expected at least one member, got none"):
        Worst(members=())
    with pytest.raises(lp.InputError, match="expected members other than 'worst' itself"):
        Worst(members=("worst",))


def test_trouble_of_one_member_does_not_stop_the_others() -> None:
    def rarely(inputs):  # type: ignore[no-untyped-def]
        return np.array([text == "x b c d e f g h" for text in inputs])

    class Signed(Additive):
        def scores(self, inputs):  # type: ignore[no-untyped-def]
            positive = np.array([0.1 if "x" in text.split() else 0.9 for text in inputs])
            return np.stack([1 - positive, positive], axis=1)

    choices = [["x", *"ijklmnopq"], *[list("rstuvwyz")] * 7]
    space = lp.Space("a b c d e f g h", choices, predicate=rarely)
    alone = lp.find(Signed(), space, 1, attack="random")
    assert isinstance(alone, lp.Unknown)
    assert "too few to sample" in alone.reason
    assert isinstance(lp.find(Signed(), space, 1, attack="worst?members=random,beam"), lp.Broken)
    never = lp.Space("a b", [["x"], ["y"]], predicate=lambda inputs: np.zeros(len(inputs), np.bool_))
    answer = lp.find(Signed(), never, 1, attack="worst?members=random")
    assert isinstance(answer, lp.Unknown)
