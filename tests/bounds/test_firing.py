"""Networks of slots without the units that never fire: the same bounds as by linear relaxation, and sound."""

import math

import pytest
import torch
from swap_cases import normal
from torch import Tensor

from lexproof.bounds.backward import Relaxation, linear_relaxation
from lexproof.bounds.ball import NORMS, BallRegion
from lexproof.bounds.firing import firing_relaxation
from lexproof.bounds.graph import Graph
from lexproof.bounds.relu import Relu
from lexproof.bounds.row_network import RowNetwork
from lexproof.bounds.slots import MaxOfSlots, OpenWords, SumOfSlots

ROWS, WORDS, DIM, UNITS, CLASSES = 6, 2, 3, 7, 3
ROUNDING = 1e-9


def network(seed: int, pooled: bool) -> RowNetwork:
    """Three layers of slots; units that never fire, units that always do, and a slot outside of some texts."""
    generator = torch.Generator().manual_seed(seed)
    center = torch.rand(ROWS, WORDS, DIM, generator=generator, dtype=torch.float64)
    graph = Graph()
    slots = []
    for start, read in ((0, 1), (0, 2), (1, 1)):
        weight, base = normal(generator, UNITS, read, DIM), normal(generator, ROWS, UNITS)
        weight[0], base[:, 0] = 0.0, 0.0  # a tie: always 0
        slots.append(graph.add(Relu(), graph.add(OpenWords(weight, base, start, WORDS), 0)))
    for layer in range(2):
        above = []
        for at in range(len(slots)):
            read = slots[max(0, at - 1) : at + 2]
            base = normal(generator, ROWS, UNITS)
            base[:, 1], base[:, 2] = -99.0, 99.0
            base[at] = -99.0
            weights = tuple(0.5 * normal(generator, UNITS, UNITS) for _ in read)
            above.append(graph.add(SumOfSlots(weights, base), *read))
        slots = [graph.add(Relu(), at) for at in above] if layer == 0 or not pooled else above
    if pooled:
        slots = [graph.add(MaxOfSlots(normal(generator, ROWS, UNITS).relu()), *slots)]
    weights = tuple(normal(generator, ROWS, CLASSES, UNITS) for _ in slots)
    graph.add(SumOfSlots(weights, normal(generator, ROWS, CLASSES)), *slots)
    return RowNetwork(center, torch.zeros_like(center), torch.ones_like(center), graph)


def ball(net: RowNetwork, norm: float) -> BallRegion:
    radius = torch.tensor([0.0, 0.02, 0.1, 0.3, 0.7, 9.0], dtype=torch.float64)
    return BallRegion(net.center, radius, norm, net.low, net.high)


def points(region: BallRegion, seed: int, count: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    found = [region.center]
    for draw in range(count):
        step = normal(generator, *region.center.shape)
        step = step.sign() if draw % 2 else step
        length = torch.linalg.vector_norm(step.flatten(1), ord=region.norm, dim=1)
        found.append((region.center + step * (region.radius / length)[:, None, None]).clamp(region.low, region.high))
    return found


def margins() -> Tensor:
    return torch.tensor([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]]).double().expand(ROWS, -1, -1)


def check_holds(relaxation: Relaxation, net: RowNetwork, given: list[Tensor]) -> None:
    graph = net.graph(torch.arange(ROWS))
    lower = relaxation.lower(graph.last, margins())
    for point in given:
        values = graph.values(point)
        for box, value in zip(relaxation.boxes, values, strict=True):
            assert (value >= box.low - ROUNDING).all() and (value <= box.high + ROUNDING).all()
        assert ((margins() * values[-1][:, None]).sum(2) >= lower - ROUNDING).all()


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_boxes_and_margins_hold(seed: int, pooled: bool, norm: float) -> None:
    net = network(seed, pooled)
    region = ball(net, norm)
    check_holds(firing_relaxation(net.whole, region), net, points(region, seed, 100))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_margins_are_those_of_linear_relaxation(seed: int, pooled: bool, norm: float) -> None:
    net = network(seed, pooled)
    region = ball(net, norm)
    thin, plain = firing_relaxation(net.whole, region), linear_relaxation(net.whole, region)
    ours, theirs = (relaxation.lower(net.whole.last, margins()) for relaxation in (thin, plain))
    torch.testing.assert_close(ours, theirs)


def test_a_relu_that_is_not_settled_has_both_ends_of_linear_relaxation() -> None:
    net = network(1, pooled=False)
    region = ball(net, 2.0)
    thin, plain = firing_relaxation(net.whole, region), linear_relaxation(net.whole, region)
    seen = 0
    for node in net.whole.nodes:
        if isinstance(node.op, Relu):
            (mask,) = node.op.unsettled(plain.boxes[node.inputs[0]])
            for ours, theirs in zip(thin.boxes[node.inputs[0]], plain.boxes[node.inputs[0]], strict=True):
                torch.testing.assert_close(ours[mask], theirs[mask])
            seen += int(mask.sum())
    assert seen > 30


def test_units_are_bounded_in_parts_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    net = network(0, pooled=False)
    region = ball(net, 2.0)
    whole, calls = firing_relaxation(net.whole, region), []
    monkeypatch.setattr("lexproof.bounds.firing._CELLS", 1)  # one unit at a time
    parts = firing_relaxation(net.whole, region, lambda: calls.append(1))
    for ours, theirs in zip(parts.boxes, whole.boxes, strict=True):
        torch.testing.assert_close(ours.low, theirs.low)
        torch.testing.assert_close(ours.high, theirs.high)
    assert len(calls) > 20


def test_what_check_raises_ends_the_work() -> None:
    def up() -> None:
        raise TimeoutError("no time")

    net = network(0, pooled=False)
    with pytest.raises(TimeoutError, match="no time"):
        firing_relaxation(net.whole, ball(net, 2.0), up)


def test_rows_of_a_network_are_rows_of_all() -> None:
    net = network(3, pooled=True)
    rows = torch.tensor([4, 1, 4])
    torch.testing.assert_close(net.graph(rows).value(net.center[rows]), net.whole.value(net.center)[rows])
    whole = ball(net, 2.0)
    region = BallRegion(net.center[rows], whole.radius[rows], 2.0, net.low[rows], net.high[rows])
    some = net.relaxation(net.graph(rows), region).lower(net.whole.last, margins()[rows])
    torch.testing.assert_close(some, firing_relaxation(net.whole, whole).lower(net.whole.last, margins())[rows])


def test_rows_may_have_weights_of_their_own_in_every_layer() -> None:
    net = network(7, pooled=False)
    generator, graph = torch.Generator().manual_seed(7), Graph()
    for node in net.whole.nodes:
        op = node.op
        if isinstance(op, SumOfSlots):
            op = SumOfSlots(tuple(normal(generator, ROWS, *own.shape[-2:]) for own in op.weights), op.base)
        graph.add(op, *node.inputs)
    region = ball(net, 2.0)
    ours, theirs = (
        relax(graph, region).lower(graph.last, margins()) for relax in (firing_relaxation, linear_relaxation)
    )
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_weights_that_overflow_prove_nothing(bad: float) -> None:
    net = network(4, pooled=False)
    op = net.whole.nodes[6].op
    assert isinstance(op, SumOfSlots)
    op.weights[0][3, 3] = bad
    found = firing_relaxation(net.whole, ball(net, 2.0)).lower(net.whole.last, margins())
    assert not (found[3:] > -math.inf).any()


@pytest.mark.parametrize("pooled", [False, True])
def test_rows_do_not_depend_on_the_rows_beside_them(pooled: bool) -> None:
    net = network(6, pooled)
    region = ball(net, 2.0)
    together = firing_relaxation(net.whole, region)
    for row in range(ROWS):
        rows = torch.tensor([row])
        alone = BallRegion(net.center[rows], region.radius[rows], 2.0, net.low[rows], net.high[rows])
        for ours, theirs in zip(net.relaxation(net.graph(rows), alone).boxes, together.boxes, strict=True):
            torch.testing.assert_close(ours.low, theirs.low[rows])
            torch.testing.assert_close(ours.high, theirs.high[rows])
