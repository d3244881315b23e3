"""Random search: draws, and putting back what a draw does not need."""

import numpy as np
import pytest

import lexproof as lp
from lexproof.attacks.base import put_back
from lexproof.attacks.random_search import RandomSearch
from lexproof.goal import Goal
from lexproof.search import Search
from lexproof.space import Space


@pytest.mark.parametrize("settings", [{"draws": 0}, {"draws": -3}, {"batch": 0}])
def test_settings_are_checked(settings: dict[str, int]) -> None:
    given = {"draws": 1000, "batch": 100, **settings}
    message = f"expected draws >= 1 and batch >= 1, got {given['draws']} and {given['batch']}"
    with pytest.raises(lp.InputError, match=message):
        RandomSearch(**settings)


def needing(words: list[int]) -> lp.BlackBox:
    """Fooled if all of these words are swapped; other swaps weigh a little, so that they are put back first."""

    def score(texts: list[str]) -> list[list[float]]:
        rows = []
        for text in texts:
            swapped = {i for i, word in enumerate(text.split()) if word == "x"}
            needless = 1e-4 * len(swapped - set(words))
            fooled = 0.9 - needless if swapped >= set(words) else 0.1 + needless
            rows.append([fooled, 1 - fooled])
        return rows

    return lp.BlackBox(score, labels=["negative", "positive"])


def asked_and_left(space: Space, victim: lp.BlackBox, search: Search[np.ndarray]) -> tuple[int, list[int]]:
    asked, request = 0, next(search)
    try:
        while True:
            points = request if isinstance(request, np.ndarray) else request.dense()
            asked += len(points)
            request = search.send(victim.scores(space.render(points)))
    except StopIteration as end:
        return asked, np.flatnonzero(end.value).tolist()


def test_a_hundred_needless_swaps_are_not_put_back_one_by_one() -> None:
    needed = [3 * i + 1 for i in range(30)]
    space = Space(" ".join(["a"] * 200), [["x"]] * 200)
    everything = np.ones(200, np.int32)
    asked, left = asked_and_left(space, needing(needed), put_back(space, Goal(1), everything))
    assert left == needed
    assert asked < 4000  # one by one: 200 + 199 + … + 31 = 19635 queries


def test_where_many_swaps_can_be_spared_only_one_at_a_time_they_are() -> None:
    def score(texts: list[str]) -> list[list[float]]:
        # any one of the swaps can be put back, two of the first forty cannot
        rows = []
        for text in texts:
            missing = text.split()[:40].count("a")
            rows.append([0.9, 0.1] if missing <= 1 else [0.1, 0.9])
        return rows

    victim = lp.BlackBox(score, labels=["negative", "positive"])
    space = Space(" ".join(["a"] * 40), [["x"]] * 40)
    _, left = asked_and_left(space, victim, put_back(space, Goal(1), np.ones(40, np.int32)))
    assert len(left) == 39
