"""Deletion curves against texts written out."""

from __future__ import annotations

import numpy as np
import pytest

import lexproof as lp
from lexproof.explaining import random_curve
from lexproof.explaining.curves import area
from small_victims import word_victim
from toys import Additive


def test_the_curve_is_that_of_texts_without_the_first_words() -> None:
    victim, words, order = Additive(4), ["w0", "w1", "w2", "w3"], [2, 0, 3, 1]
    curve = lp.deletion_curve(victim, " ".join(words), 1, order)
    for k in range(5):
        gone = set(order[:k])
        deleted = " ".join(word for i, word in enumerate(words) if i not in gone)
        masked = " ".join("[UNK]" if i in gone else word for i, word in enumerate(words))
        assert (curve.deleted[k], curve.masked[k]) == pytest.approx(victim.scores([deleted, masked])[:, 1].tolist())
    assert curve.area_deleted == pytest.approx(np.trapezoid(curve.deleted, np.linspace(0, 1, 5)))
    assert curve.area_masked == pytest.approx(np.trapezoid(curve.masked, np.linspace(0, 1, 5)))


def test_all_orders_share_their_ends_and_the_best_first_has_the_least_area() -> None:
    victim, text = word_victim("mlp-mean", 2), "w0 w1 w2 w3 w4"
    found = lp.explain(victim, text, methods=["deletion"])
    best = lp.deletion_curve(victim, text, found.label, found["deletion"].order())
    worst = lp.deletion_curve(victim, text, found.label, found["deletion"].order()[::-1])
    chance = random_curve(victim, text, found.label, orders=20)
    for curve in (best, worst):
        assert curve.deleted[[0, -1]] == pytest.approx(chance.deleted[[0, -1]])
        assert curve.masked[[0, -1]] == pytest.approx(chance.masked[[0, -1]])
    assert best.area_deleted < chance.area_deleted < worst.area_deleted


def test_random_orders_are_seeded() -> None:
    first, again, other = (random_curve(Additive(), "a b c d e f", 0, orders=2, seed=seed) for seed in (1, 1, 2))
    assert first.deleted.tolist() == again.deleted.tolist() != other.deleted.tolist()
    with pytest.raises(lp.InputError, match="expected at least 1 order, got 0"):
        random_curve(Additive(), "a b", 0, orders=0)


def test_a_text_without_words_has_one_height() -> None:
    curve = lp.deletion_curve(Additive(), "...", 1, [])
    assert curve.deleted.shape == (1,)
    assert curve.area_deleted == curve.deleted[0] == area(curve.masked)


def test_pairs_and_labels_by_name() -> None:
    victim = lp.BlackBox(
        lambda pairs: [[0.9, 0.1] if "dull" in one + other else [0.2, 0.8] for one, other in pairs], ["n", "p"]
    )
    curve = lp.deletion_curve(victim, ("so it is", "a dull day"), "n", [1, 0, 2])
    assert curve.deleted.tolist() == [0.9, 0.2, 0.2, 0.2]
    assert random_curve(victim, ("so it is", "a dull day"), "n", orders=2).deleted[0] == 0.9
    with pytest.raises(lp.InputError, match="expected a label out of n, p or its number, got 'q'"):
        lp.deletion_curve(victim, ("so it is", "a dull day"), "q", [1, 0, 2])


@pytest.mark.parametrize("order", [[0], [0, 0], [0, 2], [1, 0, 2]])
def test_an_order_names_each_word_once(order: list[int]) -> None:
    with pytest.raises(lp.InputError, match="expected each of the positions 0 to 1 once"):
        lp.deletion_curve(Additive(), "a b", 1, order)


def test_the_label_must_be_one_of_the_victims() -> None:
    with pytest.raises(lp.InputError, match="expected a label from 0 to 1, got 2"):
        lp.deletion_curve(Additive(), "a b", 2, [0, 1])
