"""The certified-radius curve of every kind of network, against all texts of small spaces."""

from itertools import pairwise

import numpy as np
import pytest

import lexproof as lp
from lexproof.errors import NoRule
from small_victims import SHAPES, lean, word_space, word_victim


@pytest.mark.parametrize("shape", SHAPES)
def test_the_curve_is_below_the_least_margin_of_every_radius(shape: str) -> None:
    radii = set()
    for seed in range(2 if "lstm" in shape else 6):
        victim, space = word_victim(shape, seed, scale=0.6), word_space(seed, words=4, max_swaps=3)
        label = int(victim.predict([str(space.original)])[0])
        victim = lean(victim, label, float(seed))
        curve = lp.certified_curve(victim, space, label)
        points = space.points()
        logits = np.log(victim.scores(space.render(points)))
        margins = (logits[:, [label]] - np.delete(logits, label, axis=1)).min(axis=1)
        swaps = np.count_nonzero(points, axis=1)
        assert len(curve.margins) == space.max_swaps + 1
        for radius, bound in enumerate(curve.margins):
            assert bound <= margins[swaps <= radius].min() + 1e-4
        assert curve.margins[0] == pytest.approx(margins[0], abs=1e-4)
        assert all(one >= two for one, two in pairwise(curve.margins))
        assert (curve.radius == space.max_swaps) == (min(curve.margins) > curve.threshold)
        radii.add(curve.radius)
    assert max(radii) > 0


def test_a_black_box_has_no_curve() -> None:
    victim = lp.BlackBox(lambda texts: [[0.9, 0.1] for _ in texts], labels=["a", "b"])
    with pytest.raises(NoRule, match="no bound rule for a 'blackbox' victim"):
        lp.certified_curve(victim, lp.Space("a b", [["c"], []]))
