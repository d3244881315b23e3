"""The ledger: steps that follow each other from 0 swaps on, and the flip with the fewest swaps."""

import numpy as np
import pytest

from lexproof.certify.ledger import Ledger


def test_nothing_is_known_at_first() -> None:
    ledger = Ledger()
    assert (ledger.radius, ledger.points, ledger.swaps, ledger.flip) == (-1, 0, None, None)


def test_enumerated_strata_are_one_step() -> None:
    ledger = Ledger()
    for swaps, points, margin in ((0, 1, 0.9), (1, 5, 0.2), (2, 8, 0.4)):
        ledger.enumerated(swaps, points, margin)
    (step,) = ledger.steps
    assert (step.method, step.first, step.last, step.points, step.margin) == ("enumeration", 0, 2, 14, 0.2)
    assert (ledger.radius, ledger.points) == (2, 14)


def test_steps_of_other_methods_come_between() -> None:
    ledger = Ledger()
    ledger.enumerated(0, 1, 0.9)
    ledger.proven("interval", 2, 0.5)
    ledger.proven("linear", 2, 0.7)  # no more than is known
    ledger.proven("linear", 4, 0.1, {"nodes": 3})
    ledger.enumerated(5, 7, 0.3)
    spans = [(step.method, step.first, step.last) for step in ledger.steps]
    assert spans == [("enumeration", 0, 0), ("interval", 1, 2), ("linear", 3, 4), ("enumeration", 5, 5)]
    assert ledger.steps[2].detail == {"nodes": 3}
    assert (ledger.radius, ledger.points) == (5, 8)


def test_a_stratum_is_never_left_out() -> None:
    ledger = Ledger()
    with pytest.raises(AssertionError):
        ledger.enumerated(1, 5, 0.3)


@pytest.mark.parametrize("margin", [float("nan"), float("inf"), -float("inf")])
def test_a_margin_that_is_not_finite_proves_nothing(margin: float) -> None:
    ledger = Ledger()
    ledger.enumerated(0, 1, 0.9)
    ledger.proven("linear", 3, margin)
    assert (ledger.radius, len(ledger.steps)) == (0, 1)


def test_the_flip_with_the_fewest_swaps_is_kept() -> None:
    ledger = Ledger()
    for point in ([1, 2, 0], [0, 1, 3], [0, 0, 1], [2, 2, 2]):
        ledger.found(np.array(point, np.int32))
    assert ledger.flip is not None
    assert (ledger.flip.tolist(), ledger.swaps) == ([0, 0, 1], 1)
    ledger.found(np.zeros(3, np.int32))
    assert ledger.swaps == 0


def test_it_is_settled_by_a_proof_or_by_a_flip_right_above_one() -> None:
    ledger = Ledger()
    ledger.enumerated(0, 1, 0.9)
    assert (ledger.is_settled(0), ledger.is_settled(1)) == (True, False)
    ledger.found(np.array([1, 1], np.int32))
    assert not ledger.is_settled(3)
    ledger.enumerated(1, 2, 0.3)
    assert ledger.is_settled(3)
