"""Recurrent networks as functions of open words: the network's own logits, shared steps, sound and tight bounds."""

import pytest
import torch
from torch import Tensor
from word_balls import check_bounds, check_values, descended, projected, random_tokens, scale_of, tokens_of

import lexproof.victims.ball_lstm as ball_lstm
from lexproof.bounds.backward import linear_relaxation
from lexproof.bounds.ball import NORMS, BallRegion
from lexproof.bounds.ball_network import BallNetwork
from lexproof.victims.ball_lstm import lstm_balls
from lexproof.victims.lstm import BiLstmNet, LstmNet
from lexproof.victims.open_tokens import OpenTokens
from small_victims import word_victim

KINDS = ["lstm", "bilstm"]
TEXT = [3, 4, 4, 6, 7, 8, 9, 2, 2]
# every end of the text and inside, a text of one word, a word of two tokens, words far apart, equal words, all of it
FEW = [tokens_of(TEXT, [at]) for at in (0, 1, 4, 8)] + [
    tokens_of([5], [0]),
    tokens_of(TEXT, [3, 4]),
    tokens_of(TEXT, [1, 2]),
    tokens_of(TEXT, [0, 8]),
    tokens_of([6, 7, 8], [0, 1, 2]),
]
# few networks of several rows: one word of texts that differ, words of several tokens, several words
ALIKE = [
    [tokens_of(TEXT, [2]), tokens_of(TEXT[::-1], [2]), tokens_of([5], [0]), tokens_of([6], [0])],
    [tokens_of(TEXT, [3, 4]), tokens_of(TEXT[::-1], [3, 4]), tokens_of(TEXT, [8]), tokens_of(TEXT[::-1], [8])],
    [
        tokens_of(TEXT, [1, 3, 6]),
        tokens_of(TEXT[::-1], [1, 2, 6]),
        tokens_of([6, 7], [0, 1]),
        tokens_of([2, 2], [0, 1]),
    ],
]


def net_of(kind: str, seed: int, **settings: object) -> LstmNet | BiLstmNet:
    net = word_victim(kind, seed, max_length=14, **settings).net  # type: ignore[attr-defined, arg-type]
    assert isinstance(net, LstmNet | BiLstmNet)
    return net


def region_of(network: BallNetwork, radius: float, norm: float, copies: int | None = None) -> BallRegion:
    """Balls of all rows, or of so many copies of the first one."""
    rows = torch.arange(len(network.center)) if copies is None else torch.zeros(copies, dtype=torch.long)
    sizes = torch.full((len(rows),), radius, dtype=torch.float64)
    return BallRegion(network.center[rows], sizes, norm, network.low[rows], network.high[rows])


def differences(rows: int) -> Tensor:
    one = torch.eye(3, dtype=torch.float64)
    return (one - one.roll(1, 0)).expand(rows, -1, -1)


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_the_networks_logits_wherever_the_words_are(kind: str) -> None:
    check_values(net_of(kind, 1), random_tokens(1, 40, longest=14) + FEW, lstm_balls)


def test_rows_with_as_many_steps_are_one_network() -> None:
    texts = [tokens_of([3, 4, 5, 6], [1]), tokens_of([7, 8, 9], [0]), tokens_of([7, 8, 9], [1])]
    pairs = [tokens_of([3, 4, 5, 6], [1, 3]), tokens_of([3, 4, 5, 6], [1, 2]), tokens_of([3, 4, 5, 6], [0, 2])]
    net, both = net_of("lstm", 2), net_of("bilstm", 2)
    assert [rows for rows, _ in lstm_balls(net, scale_of(net), texts + pairs)] == [
        [2],
        [0, 1],
        [3, 4],
        [5],
    ]  # cheap first
    alike = [*texts, tokens_of([2, 2, 2, 2], [1])]
    assert [rows for rows, _ in lstm_balls(both, scale_of(both), alike)] == [[1], [2], [0, 3]]


def test_only_steps_from_the_first_open_word_on_are_bounded() -> None:
    for kind, steps in (("lstm", 3), ("bilstm", 3 + 7)):
        net = net_of(kind, 3)
        ((_, network),) = lstm_balls(net, scale_of(net), [tokens_of(TEXT, [6])])
        names = [node.op.name for node in network.graph(torch.arange(1)).nodes]
        assert names.count("LSTM cell state") == steps


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_split_where_they_would_not_fit(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    net = net_of(kind, 4)
    tokens = [tokens_of(TEXT, [4])] * 5
    monkeypatch.setattr(ball_lstm, "_CELLS", 2 * 2 * 5 * 6 * net.last.in_features**2)
    found = lstm_balls(net, scale_of(net), tokens)
    sizes = [len(rows) for rows, _ in found]
    assert sum(sizes) == 5 and max(sizes) == (2 if kind == "lstm" else 5)
    monkeypatch.setattr(ball_lstm, "_CELLS", 1)
    assert [rows for rows, _ in lstm_balls(net, scale_of(net), tokens)] == [[0], [1], [2], [3], [4]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_may_be_asked_for_twice(kind: str) -> None:
    net = net_of(kind, 5)
    ((_, network),) = lstm_balls(net, scale_of(net), [tokens_of(TEXT, [4]), tokens_of(TEXT[::-1], [4])])
    rows = torch.tensor([1, 0, 1])
    whole = network.graph(torch.arange(2)).value(network.center)
    torch.testing.assert_close(network.graph(rows).value(network.center[rows]), whole[rows])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_against_descent(kind: str, seed: int) -> None:
    net = net_of(kind, seed, scale=(0.3, 1.0, 2.0)[seed])
    check_bounds(net, ALIKE[seed], lstm_balls, steps=10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("norm", NORMS)
def test_every_value_lies_in_its_box(kind: str, norm: float) -> None:
    net = net_of(kind, 6)
    for _, network in lstm_balls(net, scale_of(net), FEW[:5:2] + FEW[5:8]):
        for radius in (0.02, 0.5, 9.0):
            boxes = network.relaxation(network.graph(torch.arange(1)), region_of(network, radius, norm, 1)).boxes
            region = region_of(network, radius, norm, 60)
            steps = torch.randn(region.center.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
            steps[20:] *= 99  # at the border of the ball
            steps[40:] = steps[40:].sign() * 99  # at corners
            values = network.graph(torch.zeros(60, dtype=torch.long)).values(projected(region, steps))
            for value, box in zip(values, boxes, strict=True):
                assert (value >= box.low - 1e-9).all() and (value <= box.high + 1e-9).all()


def frozen(net: LstmNet | BiLstmNet, which: str) -> LstmNet | BiLstmNet:
    """A network with something that does not move."""
    with torch.no_grad():
        if which == "units without weights":  # constant gates, constant products
            for lstm in (net.lstm,) if isinstance(net, LstmNet) else (net.ahead, net.back):
                for weight in lstm.all_weights[0]:
                    weight[::2] = 0.0
        elif which == "words that agree":  # dimensions of width 0
            net.embedding.weight[1:, 1] = net.embedding.weight[1, 1]
        elif which == "one word":
            net.embedding.weight[1:] = net.embedding.weight[1]
        else:  # ties of all classes
            net.last.weight[:] = net.last.weight[0].clone()
            net.last.bias[:] = 0.5
    return net


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("which", ["units without weights", "words that agree", "one word", "ties"])
def test_bounds_hold_where_something_does_not_move(kind: str, which: str) -> None:
    net = frozen(net_of(kind, 7), which)
    check_values(net, FEW, lstm_balls)
    check_bounds(net, ALIKE[2], lstm_balls, steps=5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tie_is_never_proven(kind: str) -> None:
    net = frozen(net_of(kind, 7), "ties")
    for _, network in lstm_balls(net, scale_of(net), FEW):
        graph = network.graph(torch.arange(len(network.center)))
        lower = network.relaxation(graph, region_of(network, 0.1, 2.0)).lower(graph.last, differences(1))
        assert (lower <= 1e-12).all()


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_lose_less_than_the_backward_bound_of_every_unit(kind: str) -> None:
    """What the factors of a product have in common is worth more than planes of two slopes."""
    net = net_of(kind, 1, units=16, dim=8, scale=0.4)
    texts = [TEXT, TEXT[::-1], [5, 6, 7] * 3]
    ((_, network),) = lstm_balls(net, scale_of(net), [tokens_of(ids, [3]) for ids in texts])
    graph, region, forms = network.graph(torch.arange(3)), region_of(network, 0.4, 2.0), differences(3)
    at_the_text = torch.einsum("nsc,nc->ns", forms, graph.value(network.center))
    forward, backward = (
        at_the_text - relaxation.lower(graph.last, forms)
        for relaxation in (network.relaxation(graph, region), linear_relaxation(graph, region))
    )
    assert (forward < backward).all() and forward.mean() < 0.7 * backward.mean()


def test_a_certified_ball_is_close_to_one_that_is_broken() -> None:
    """The last word of a text: the bound reaches most of the way to what descent finds."""
    net = net_of("lstm", 9, units=6, scale=0.5)
    ((_, network),) = lstm_balls(net, scale_of(net), [tokens_of(TEXT, [8])])
    graph = network.graph(torch.arange(1))
    region = region_of(network, 0.05, 2.0)
    forms = differences(1)
    at_the_text = torch.einsum("nsc,nc->ns", forms, graph.value(network.center))
    lower = network.relaxation(graph, region).lower(graph.last, forms)
    for which in range(3):
        least = descended(network, torch.arange(1), region, forms[:, which], 0, 60)
        lost = (least - lower[:, which]) / (at_the_text[:, which] - least)
        assert 0 <= lost.item() < 0.1


@pytest.mark.parametrize("seed", [1, 4, 6])
def test_rows_do_not_depend_on_the_rows_beside_them(seed: int) -> None:
    """Where forms are worth their work in some rows only: who re-derives a proof has one row alone."""
    net = net_of("lstm", seed, scale=2.0)
    generator = torch.Generator().manual_seed(seed)
    texts = torch.randint(1, 25, (6, 9), generator=generator).tolist()
    ((_, network),) = lstm_balls(net, scale_of(net), [tokens_of(ids, [3]) for ids in texts])
    for radius in (0.1, 0.3, 1.0):
        whole = region_of(network, radius, 2.0)
        graph = network.graph(torch.arange(6))
        together = network.relaxation(graph, whole).lower(graph.last, differences(6))
        for row in range(6):
            at = torch.tensor([row])
            region = BallRegion(whole.center[at], whole.radius[at], 2.0, whole.low[at], whole.high[at])
            alone = network.relaxation(network.graph(at), region).lower(graph.last, differences(1))
            torch.testing.assert_close(alone, together[at], rtol=0, atol=1e-8)


def test_time_may_run_out_between_operations() -> None:
    class Stop(Exception):
        pass

    calls = []

    def check() -> None:
        calls.append(1)
        if len(calls) == 5:
            raise Stop

    net = net_of("lstm", 0)
    ((_, network),) = lstm_balls(net, scale_of(net), [tokens_of(TEXT, [0])])
    with pytest.raises(Stop):
        network.relaxation(network.graph(torch.arange(1)), region_of(network, 0.1, 2.0), check)


def test_there_may_be_no_rows() -> None:
    net = net_of("lstm", 0)
    none: list[OpenTokens] = []
    assert lstm_balls(net, scale_of(net), none) == []
