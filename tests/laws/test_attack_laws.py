"""Further laws of attacks: budgets to the query, targets, predicates, pairs, variants, settings of nothing.

The first laws (witness, edges, determinism) run over every victim kind in `test_laws`; these over every attack and
variant, on victims that can serve all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from tables import space_of, word_model

import lexproof as lp
from lexproof import registry
from lexproof.attacks.specs import from_spec, variants
from lexproof.points import BoolArray
from lexproof.space import Space
from lexproof.text import Input, Text
from lexproof.victims.base import Victim
from toys import Additive

ATTACKS = sorted(registry.entries("attacks"))
VARIANTS = [f"{name}?variant={variant}" for name in ATTACKS for variant in variants(registry.get("attacks", name))]
EVERY = [*ATTACKS, *VARIANTS]


@pytest.fixture(scope="module")
def net() -> Victim:
    """Three classes, scores and gradients."""
    return word_model("cnn", filters=5, widths=(2, 3))


def label_of(victim: Victim, space: Space) -> int:
    return int(victim.predict([space.original.input])[0])


@pytest.mark.parametrize("attack", EVERY)
def test_variants_obey_the_law_of_the_witness(net: Victim, attack: str) -> None:
    broken = 0
    for seed in range(15):
        space = space_of(seed)
        label = label_of(net, space)
        answer = lp.find(net, space, label, attack=attack, seed=seed)
        if isinstance(answer, lp.Broken) and answer.swaps:
            broken += 1
            assert space.contains(space.original.swap({change.position: change.new for change in answer.changed}))
            assert net.predict([answer.witness])[0] != label
    assert broken


class Counting(Additive):
    """Counts what it is asked as points, apart from the re-check of a witness."""

    asked_points = 0

    def score(self, jobs):  # type: ignore[no-untyped-def]
        self.asked_points += sum(len(points) for _, points in jobs)
        return super().score(jobs)


@pytest.mark.parametrize("attack", [name for name in EVERY if not from_spec(name).needs_gradients])
def test_never_one_query_over_the_budget(attack: str) -> None:
    space = Space("w0 w1 w2 w3 w4 w5", [[f"w{i}s{j}" for j in range(4)] for i in range(6)])
    full = Counting(11, bias=4.0)
    lp.find(full, space, 1, attack=attack)
    assert full.asked_points > 10
    for budget in (0, 1, 2, 7, 10, full.asked_points):
        victim = Counting(11, bias=4.0)
        answer = lp.find(victim, space, 1, attack=attack, max_queries=budget)
        assert answer.queries == victim.asked_points <= budget
    assert victim.asked_points == full.asked_points


@pytest.mark.parametrize("attack", [name for name in EVERY if from_spec(name).needs_gradients])
def test_gradients_are_paid_for(net: Victim, attack: str) -> None:
    space = space_of(4)
    label = label_of(net, space)
    full = lp.find(net, space, label, attack=attack).queries
    for budget in range(full + 1):
        assert lp.find(net, space, label, attack=attack, max_queries=budget).queries <= budget


@pytest.mark.parametrize("attack", ATTACKS)
def test_targets(net: Victim, attack: str) -> None:
    reached = 0
    for seed in range(30):
        space = space_of(seed, words=8)
        label = label_of(net, space)
        for target in {0, 1, 2} - {label}:
            answer = lp.find(net, space, label, target=target, attack=attack, seed=seed)
            if isinstance(answer, lp.Broken):
                reached += 1
                assert net.predict([answer.witness])[0] == target
    assert reached
    with pytest.raises(lp.InputError, match="expected a target other than the label, got 1 for both"):
        lp.find(net, space_of(3), 1, target=1, attack=attack)


def without_s0(inputs: Sequence[Input]) -> BoolArray:
    return np.array(["s0" not in str(given) for given in inputs])


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_predicate_is_respected_and_does_not_blind(net: Victim, attack: str) -> None:
    broken = 0
    for seed in range(30):
        free = space_of(seed)
        space = Space(free.original, free.choices, free.max_swaps, without_s0)
        label = label_of(net, space)
        answer = lp.find(net, space, label, attack=attack, seed=seed)
        if isinstance(answer, lp.Broken) and answer.swaps:
            broken += 1
            assert "s0" not in answer.witness
    assert broken
    nothing = Space("w0 w1", [["w0s1"], ["w1s1"]], predicate=lambda inputs: np.zeros(len(inputs), np.bool_))
    assert isinstance(lp.find(net, nothing, label_of(net, nothing), attack=attack), lp.Unknown)


class Entailment(Additive):
    """Reads a premise and a hypothesis, and is swayed by both."""

    labels = ("entailment", "other")


@pytest.mark.parametrize("attack", [name for name in ATTACKS if not from_spec(name).needs_gradients])
def test_of_a_pair_only_the_hypothesis_moves(attack: str) -> None:
    broken = 0
    for seed in range(20):
        victim = Entailment(seed, bias=0.2)
        text = Text.parse("w0 w1 w2", premise="w0 w1 w9")
        space = Space(text, [[f"w{i}s{j}" for j in range(3)] for i in range(3)])
        label = int(victim.predict([text.input])[0])
        answer = lp.find(victim, space, label, attack=attack, seed=seed)
        if isinstance(answer, lp.Broken):
            broken += 1
            assert victim.predict([("w0 w1 w9", answer.witness)])[0] != label
    assert broken
