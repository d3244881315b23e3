"""Half steps of an LSTM for affine forms: planes and new symbols hold wherever the forms and the boxes do.

A violation would be largest at corners of region and symbols, or where its gradient vanishes: points are climbed to.
"""

import pytest
import torch
from form_cases import ROWS, ball, forms, points, symbols, values
from torch import Tensor

from lexproof.bounds.affine_forms import AffineForms
from lexproof.bounds.ball import NORMS, BallRegion
from lexproof.bounds.gated_forms import Bounded, Known, cell_state, hidden_state
from lexproof.bounds.gates import CellState, HiddenState, Plane
from lexproof.bounds.graph import Box

UNITS, COUNT = 5, 40
SHARED = {1: UNITS, 2: UNITS, 3: UNITS}
NEW = 9

Case = tuple[BallRegion, tuple[Known, Known], CellState | HiddenState]


def known(given: AffineForms, region: BallRegion, tighter: bool) -> Known:
    """The forms and their box, or a tighter one that leaves out some values of the forms."""
    box = given.box(region)
    return Known(given, Box(box.low / 2 + box.high / 2 - 0.3, box.high) if tighter else box)


def case(op: CellState | HiddenState, seed: int, norm: float, *, size: float = 0.3, tighter: bool = False) -> Case:
    region = ball(seed, norm)
    if isinstance(op, CellState):
        first = forms(seed, 3 * UNITS, (1, 2, 3), size=size, symbols_=UNITS)
    else:
        first = forms(seed, UNITS, (1, 2), size=size, symbols_=UNITS)
    second = forms(seed + 50, UNITS, (1, 2), (3,), size=size, symbols_=UNITS)
    return region, (known(first, region, tighter), known(second, region, tighter)), op


def bounded(given: Case) -> Bounded:
    region, inputs, op = given
    return (cell_state if isinstance(op, CellState) else hidden_state)(*inputs, region, NEW)


def at_plane(plane: Plane, first: Tensor, second: Tensor) -> Tensor:
    """A plane's height at inputs (count, ROWS, ...)."""
    read = [*first.split(UNITS, -1), second]
    return plane.height + sum(slope * given for slope, given in zip(plane.slopes, read, strict=True))


def sampled(given: Case, count: int, seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor, dict[int, Tensor]]:
    """Inputs of an operation, whether both lie in their boxes, the points and symbols that give them."""
    region, inputs, _ = given
    at, chosen = points(region, count, seed), symbols(SHARED, count, seed)
    found = []
    for number, known_ in enumerate(inputs):
        slack = symbols({0: known_.box.low.shape[1]}, count, seed + number)[0]
        found.append(values(known_.forms, region, at, chosen, slack))
    first_in, second_in = (
        (value >= known_.box.low) & (value <= known_.box.high) for value, known_ in zip(found, inputs, strict=True)
    )
    inside = torch.stack(first_in.split(UNITS, -1)).all(0) & second_in
    return found[0], found[1], inside, at, chosen


OPS = [CellState(), HiddenState()]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("tighter", [False, True])
def test_planes_and_forms_hold(op: CellState | HiddenState, norm: float, tighter: bool) -> None:
    for seed in range(6):
        given = case(op, seed, norm, size=(0.0, 0.01, 0.3, 2.0, 0.3, 0.3)[seed], tighter=tighter)
        forms_, planes = bounded(given)
        first, second, inside, at, chosen = sampled(given, COUNT, seed)
        true = op.value(first, second)
        assert inside.any()
        assert (at_plane(planes.below, first, second) <= true + 1e-12)[inside].all()
        assert (at_plane(planes.above, first, second) >= true - 1e-12)[inside].all()
        rest = {**chosen, NEW: torch.zeros_like(true)}
        off = (true - values(forms_, given[0], at, rest, torch.zeros(()))).abs()
        assert (off <= forms_.own[NEW] + 1e-12)[inside].all()


def climbed(given: Case, side: str, seed: int) -> Tensor:
    """The largest violation of each row's planes that ascent over the point and the symbols finds: (ROWS,)."""
    region, inputs, op = given
    planes = bounded(given).planes
    plane, sign = (planes.below, 1.0) if side == "below" else (planes.above, -1.0)
    unit = torch.arange(12 * UNITS) % UNITS  # each start climbs for one of the units
    at, chosen = points(region, len(unit), seed), symbols(SHARED, len(unit), seed)
    tensors = [at.requires_grad_(), *(value.requires_grad_() for value in chosen.values())]
    worst = torch.full((ROWS,), -torch.inf, dtype=torch.float64)
    for step in range(12):
        first, second = (values(known_.forms, region, at, chosen, torch.zeros(())) for known_ in inputs)
        gap = sign * (at_plane(plane, first, second) - op.value(first, second))[torch.arange(len(unit)), :, unit]
        worst = torch.maximum(worst, gap.detach().amax(0))
        found = torch.autograd.grad(gap.sum(), tensors, allow_unused=True)
        with torch.no_grad():
            for tensor, gradient in zip(tensors, found, strict=True):
                if gradient is not None:
                    rate = 1.0 / (step + 1) / gradient.flatten(2).norm(dim=2).clamp(min=1e-12)
                    tensor += gradient * rate.reshape(*rate.shape, *[1] * (gradient.ndim - 2))
            length = torch.linalg.vector_norm((at - region.center).flatten(2), ord=region.norm, dim=2).clamp(min=1e-12)
            moved = (at - region.center) * (region.radius / length).clamp(max=1.0)[:, :, None, None]
            at.copy_((region.center + moved).clamp(region.low, region.high))
            for tensor in tensors[1:]:
                tensor.clamp_(-1, 1)
    return worst


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
@pytest.mark.parametrize("side", ["below", "above"])
def test_no_ascent_breaks_a_plane(op: CellState | HiddenState, side: str) -> None:
    for seed, norm in enumerate(NORMS):
        assert climbed(case(op, seed, norm, size=0.2), side, seed).max() <= 1e-12


def test_what_factors_have_in_common_counts() -> None:
    """sigmoid(y) tanh(x) near 0 is (1/2 + y / 4) x: with y = x its error is half of that for independent factors."""
    region = ball(0, 2.0, (0.01, 0.01, 0.01))
    center = torch.zeros(ROWS, 1, dtype=torch.float64)
    inputs = torch.zeros(ROWS, 4, 1, dtype=torch.float64)
    inputs[:, 0] = 1.0
    other = inputs.roll(1, 1)  # another coordinate: independent of the first one but for the ball
    region.center[:, 0] = 0.5
    error = []
    for second in (inputs, other):
        y, x = (AffineForms.of(center, given, {}, {}, center) for given in (inputs, second))
        _, planes = hidden_state(Known(y, y.box(region)), Known(x, x.box(region)), region, NEW)
        error.append((planes.above.height - planes.below.height)[0, 0].item() / 2)
    product = 0.01 / 4 * 0.01  # half-widths of the factors
    assert error[0] == pytest.approx(product / 2, rel=0.01)  # x^2 / 4 lies in [0, product]
    assert error[1] == pytest.approx(product / 2, rel=0.01)  # over a ball, not a box, y x is at most half as large


def test_a_point_is_exact() -> None:
    region = ball(0, 2.0, (0.0, 0.0, 0.0))
    for op in OPS:
        first = forms(1, (3 if isinstance(op, CellState) else 1) * UNITS, ())
        second = forms(2, UNITS, ())
        inputs = [AffineForms.of(own.center, own.inputs, {}, {}, 0 * own.slack) for own in (first, second)]
        given = (region, tuple(Known(own, own.box(region)) for own in inputs), op)
        found = bounded(given).forms  # type: ignore[arg-type]
        box = found.box(region)
        true = op.value(first.center, second.center)
        torch.testing.assert_close(box.low, true, rtol=0, atol=1e-14)
        torch.testing.assert_close(box.high, true, rtol=0, atol=1e-14)
