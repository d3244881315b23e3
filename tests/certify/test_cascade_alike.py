"""Swaps that no token shows: texts that read alike, with and without a condition on whole texts."""

import json

import numpy as np
import pytest

import lexproof as lp
from lexproof.certify import cascade, recurrent
from lexproof.goal import Goal
from lexproof.points import BoolArray
from lexproof.space import Space
from lexproof.text import Input
from lexproof.victims.base import Victim
from small_victims import all_scores, lean, swaps_of, true_minimum, word_victim


@pytest.fixture(autouse=True)
def _small_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recurrent networks are enumerated as trees however small the space is."""
    monkeypatch.setattr(recurrent, "_FEWEST", 0)


def _with_marker(inputs: list[Input]) -> BoolArray:
    """Only texts that hold the word `heard`, which the victims do not know."""
    return np.array(["heard" in str(text) for text in inputs], np.bool_)


def _conditioned(predicate: bool = True) -> Space:
    """The first word is unknown and so is its substitute: its swap changes no token."""
    choices = [["heard"], ["w5", "w6", "w7"], ["w8", "w9"], ["w10", "w11", "w12"]]
    return Space("never w1 w2 w3", choices, 3, _with_marker if predicate else None)  # type: ignore[arg-type]


def _goals(victim: Victim, space: Space) -> Goal:
    return Goal(int(victim.predict([str(space.original)])[0]), None, victim.rounding)


@pytest.mark.parametrize("shape", ["cnn-flat", "lstm", "bilstm", "mlp", "cnn"])
def test_a_flip_that_only_a_swap_without_a_token_allows_is_found(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The flip with fewer swaps is not allowed; the same tokens with one swap more are."""
    monkeypatch.setattr(cascade, "_SMALL", 0)
    monkeypatch.setattr(cascade, "_TEXTS_A_PASS", 0)
    broken = 0
    for seed in range(8):
        victim, space = word_victim(shape, seed, scale=0.8), _conditioned()
        goal = _goals(victim, space)
        exact = true_minimum(victim, space, goal)
        for provers in (cascade.PROVERS, ("branch-and-bound",), ("enumeration",), ("interval", "enumeration")):
            proof = lp.prove(victim, space, goal.label, provers=provers)
            assert not (isinstance(proof, lp.Robust) and exact is not None), (seed, provers)
            answer = lp.minimize(victim, space, goal.label, provers=provers)
            assert answer.lower <= (space.max_swaps + 1 if exact is None else exact), (seed, provers)
        broken += exact is not None
    assert broken > 2


@pytest.mark.parametrize("shape", ["lstm", "bilstm"])
def test_an_enumeration_states_the_least_margin_of_all_its_texts(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of those that read like texts with fewer swaps, where a bound and not an enumeration has settled those."""

    def one_swap_less(self: cascade.Cascade, *args: object) -> None:
        ledger = args[2]
        if ledger.radius == 0:  # type: ignore[attr-defined]
            ledger.proven("linear", 1, 2 * victim.rounding)  # type: ignore[attr-defined]

    monkeypatch.setattr(cascade, "_SMALL", 0)
    monkeypatch.setattr(cascade, "_TEXTS_A_PASS", 0)
    monkeypatch.setattr(cascade.Cascade, "_bounds", one_swap_less)
    checked = 0
    for seed in range(12):
        victim, space = word_victim(shape, seed, scale=0.4), _conditioned(predicate=False).restrict(max_swaps=2)
        goal = _goals(victim, space)
        lean(victim, goal.label, 0.2)
        points, scores = all_scores(victim, space)
        margins = goal.margin(scores)
        if margins.min() < 4 * victim.rounding:
            continue
        proof = lp.prove(victim, space, goal.label, provers=("linear", "enumeration"))
        assert isinstance(proof, lp.Robust)
        step = proof.certificate.steps[-1]
        assert (step.method, step.first) == ("enumeration", 2)
        assert step.margin == pytest.approx(margins[swaps_of(points) == 2].min(), abs=victim.rounding)
        record = json.loads(json.dumps(lp.export_certificate(proof, space)))
        assert lp.check(record, victim).status == "verified"
        checked += 1
    assert checked > 3
