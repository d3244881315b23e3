"""Convolutions as functions of open words: the network's own logits, one structure for many rows, sound bounds."""

import math

import pytest
import torch
from word_balls import check_bounds, check_values, random_tokens, scale_of, tokens_of

from lexproof.bounds.backward import linear_relaxation
from lexproof.bounds.ball import NORMS, BallRegion
from lexproof.bounds.graph import Box
from lexproof.bounds.slots import SumOfSlots
from lexproof.victims.ball_cnn import cnn_balls
from lexproof.victims.cnn import CnnNet
from small_victims import word_victim

SHAPES: dict[str, tuple[str, dict[str, object]]] = {
    "one layer": ("cnn", {}),
    "width 1": ("cnn", {"widths": (1,)}),
    "one layer, flattened": ("cnn", {"pooling": "flatten"}),
    "several widths": ("cnn-widths", {}),
    "several widths, flattened": ("cnn-widths", {"pooling": "flatten"}),
    "three layers": ("cnn-deep", {}),
    "three layers, flattened": ("cnn-deep", {"pooling": "flatten"}),
    "even width, flattened": ("cnn-flat", {}),
    "several widths and layers": ("cnn-widths", {"layers": 2}),
    "all of it, flattened": ("cnn-widths", {"layers": 2, "widths": (3, 2), "pooling": "flatten"}),
}

TEXT = [3, 4, 4, 6, 7, 8, 9, 2, 2]
# every word alone, at the edges and inside, in a text of one word; a word of two tokens; two words far apart
FEW = [tokens_of(TEXT, [at]) for at in (0, 1, 4, 8)] + [
    tokens_of([5], [0]),
    tokens_of(TEXT, [3, 4]),
    tokens_of(TEXT, [0, 8]),
]


def net_of(shape: str, seed: int, length: int = 14, **settings: object) -> CnnNet:
    name, more = SHAPES[shape]
    net = word_victim(name, seed, max_length=length, **{**more, **settings}).net  # type: ignore[attr-defined]
    assert isinstance(net, CnnNet)
    return net


@pytest.mark.parametrize("shape", SHAPES)
def test_values_are_the_networks_logits_wherever_the_words_are(shape: str) -> None:
    check_values(net_of(shape, 1), random_tokens(1, 40, longest=14), cnn_balls)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_word_of_a_text_is_a_row_of_one_network(shape: str) -> None:
    texts = [[3, 4, 5, 6, 7, 8, 9], [5], [2, 2, 2]]
    tokens = [tokens_of(ids, [at]) for ids in texts for at in range(len(ids))]
    net = net_of(shape, 2)
    assert [rows for rows, _ in cnn_balls(net, scale_of(net), tokens)] == [list(range(11))]
    check_values(net, tokens, cnn_balls)


def test_words_that_reach_nothing_in_common_may_stand_at_any_distance() -> None:
    net = net_of("three layers", 3, length=30)  # reaches 3 places to either side: 7 apart, words do not meet
    ids = list(range(1, 25))
    tokens = [tokens_of(ids, [0, 7]), tokens_of(ids, [3, 23]), tokens_of(ids, [12, 20]), tokens_of(ids, [4, 10])]
    assert [rows for rows, _ in cnn_balls(net, scale_of(net), tokens)] == [[0, 1, 2], [3]]
    check_values(net, tokens, cnn_balls)


@pytest.mark.parametrize("shape", SHAPES)
def test_bounds_hold_against_descent(shape: str) -> None:
    check_bounds(net_of(shape, 4, length=9), FEW, cnn_balls)


def test_bounds_hold_where_dimensions_have_no_width_and_units_tie() -> None:
    net = net_of("three layers, flattened", 5, length=9)
    with torch.no_grad():
        net.embedding.weight[1:, 1] = 0.7  # all words agree
        for conv in net.parts[0].stack:
            conv.weight[0], conv.bias[0] = 0.0, 0.0  # a unit that is always 0
            conv.weight[1] = conv.weight[2]
    for _, network in cnn_balls(net, scale_of(net), FEW):
        assert not network.high[:, :, 1].any()
    check_values(net, FEW, cnn_balls)
    check_bounds(net, FEW, cnn_balls)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("shape", ["three layers", "three layers, flattened", "several widths"])
def test_bounds_are_those_of_plain_linear_relaxation(shape: str, norm: float) -> None:
    net = net_of(shape, 6)
    ((_, network),) = cnn_balls(net, scale_of(net), [tokens_of(TEXT, [at]) for at in range(9)])
    graph = network.graph(torch.arange(9))
    region = BallRegion(network.center, torch.full((9,), 0.1).double(), norm, network.low, network.high)
    form = torch.tensor([1.0, -1.0, 0.0]).double().expand(9, 1, -1)
    ours, theirs = (relax(graph, region).lower(graph.last, form) for relax in (network.relaxation, linear_relaxation))
    torch.testing.assert_close(ours, theirs)


def test_places_outside_of_the_text_never_fire() -> None:
    """Wherever the open words go, and however far the words of other rows are from the edge."""
    net = net_of("three layers, flattened", 7)
    ((_, network),) = cnn_balls(net, scale_of(net), [tokens_of([3, 4, 5, 6, 7], [at]) for at in range(5)])
    graph = network.graph(torch.arange(5))
    far = torch.full((5,), math.inf).double()
    relaxation = network.relaxation(graph, BallRegion(network.center, far, math.inf, network.low, network.high))
    first = [number for number, node in enumerate(graph.nodes, 1) if node.inputs == (0,)]
    assert len(first) == 3
    boxes: list[Box] = [relaxation.boxes[number] for number in first]
    assert (boxes[0].high[0] <= -1 + 1e-9).all()  # what a word at the first place adds to the place before it
    assert (boxes[2].high[4] <= -1 + 1e-9).all()
    assert not any((box.high[1:4] <= -1 + 1e-9).all() for box in boxes)


def test_only_what_a_word_reaches_is_there() -> None:
    net = net_of("three layers", 8, length=30)
    ((_, network),) = cnn_balls(net, scale_of(net), [tokens_of(list(range(1, 25)), [9])])
    sums = [node for node in network.graph(torch.arange(1)).nodes if isinstance(node.op, SumOfSlots)]
    assert len(sums) == 5 + 7
    assert sorted(len(node.inputs) for node in sums) == sorted([1, 2, 3, 2, 1, 1, 2, 3, 3, 3, 2, 1])


def test_rows_may_be_asked_for_in_any_order_and_twice() -> None:
    net = net_of("several widths", 9)
    ((_, network),) = cnn_balls(net, scale_of(net), [tokens_of([3, 4, 5, 6], [at]) for at in range(4)])
    rows = torch.tensor([3, 1, 3])
    whole = network.graph(torch.arange(4)).value(network.center)
    torch.testing.assert_close(network.graph(rows).value(network.center[rows]), whole[rows])


def test_floors_are_taken_in_parts_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    net, tokens = net_of("three layers", 10), random_tokens(10, 12, longest=12, most=2)
    monkeypatch.setattr("lexproof.victims.ball_cnn._CELLS", 1)  # one row at a time
    check_values(net, tokens, cnn_balls)


def test_there_may_be_no_rows() -> None:
    net = net_of("one layer", 0)
    assert cnn_balls(net, scale_of(net), []) == []
