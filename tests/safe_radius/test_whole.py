"""Word models evaluated whole are the graphs that bounds are made of, with rows of every kind side by side."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import lexproof as lp  # noqa: E402
from lexproof.safe_radius.descent import nearest_flip  # noqa: E402
from lexproof.safe_radius.whole import movable, whole_rows  # noqa: E402
from lexproof.victims.balls import Item, opened  # noqa: E402
from lexproof.victims.words import WordVictim  # noqa: E402
from small_victims import SHAPES, word_victim  # noqa: E402

TEXTS = [lp.Text.parse(text) for text in ("w1 w2, w9 never w2 w3", "w4", "w5 w5 w6")]
SETS = [(0, (0,)), (0, (5,)), (1, (0,)), (2, (1,)), (2, (2,)), (0, (1, 4)), (2, (0, 2))]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_logits(shape: str) -> None:
    victim = word_victim(shape, 4)
    assert isinstance(victim, WordVictim)
    found = opened(victim, [Item(TEXTS[text], words) for text, words in SETS])
    parts = whole_rows(victim, found.scale, found.tokens)
    assert [numbers for numbers, _ in parts] == [[0, 1, 2, 3, 4], [5, 6]]
    where = {number: (rows, at) for numbers, rows in parts for at, number in enumerate(numbers)}
    generator = torch.Generator().manual_seed(0)
    for group in found.groups:
        for row, number in enumerate(group.items):
            whole, at = where[number]
            for name in ("center", "low", "high"):
                assert torch.equal(getattr(whole, name)[at], getattr(group.network, name)[row])
            center = group.network.center[row]
            points = torch.rand(4, *center.shape, generator=generator).double() * group.network.high[row]
            points[0] = center
            wanted = group.network.graph(torch.tensor([row] * 4)).value(points)
            torch.testing.assert_close(whole.graph(torch.tensor([at] * 4)).value(points), wanted)


@pytest.mark.parametrize("shape", ["lstm", "bilstm"])
def test_descent_finds_the_same_flips(shape: str) -> None:
    victim = word_victim(shape, 4)
    assert isinstance(victim, WordVictim)
    found = opened(victim, [Item(TEXTS[text], words) for text, words in SETS[:5]])
    ((numbers, rows),) = movable(victim, found)
    labels = torch.from_numpy(victim.predict([TEXTS[SETS[number][0]].input for number in numbers])).long()
    together = nearest_flip(rows, labels, 2.0)
    assert together.found.any()
    for group in found.groups:
        alone = nearest_flip(group.network, labels[group.items], 2.0)
        assert torch.equal(alone.found, together.found[group.items])
        torch.testing.assert_close(alone.distance, together.distance[group.items], rtol=1e-3, atol=1e-9)


def test_items_keep_their_numbers_and_unread_ones_are_left_out() -> None:
    items = [Item(lp.Text.parse("w1 " * 9), (8,)), Item(TEXTS[0], (1, 2)), Item(TEXTS[1], (0,))]
    for shape, whole in (("lstm", True), ("cnn", False)):
        victim = word_victim(shape, 4)
        found = opened(victim, items)
        parts = movable(victim, found)
        assert sorted(number for numbers, _ in parts for number in numbers) == [1, 2]
        for numbers, rows in parts:
            assert (type(rows).__name__ == "WholeRows") == whole
            assert rows.center.shape[:2] == (1, len(found.tokens[numbers[0]].places))
