"""The least step to a half-space inside a box: against the ball's own minimum, and cases worked out by hand."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from lexproof.bounds.ball import BallRegion  # noqa: E402
from lexproof.safe_radius.halfspace import least_step  # noqa: E402

NORMS = [1.0, 2.0, math.inf]


def instances(seed: int, rows: int = 200, width: int = 7) -> tuple[torch.Tensor, ...]:
    """Forms with zeros and ties, rooms of width 0, needs of either sign, some that no room can meet."""
    generator = torch.Generator().manual_seed(seed)
    form = torch.randint(-3, 4, (rows, width), generator=generator).double()
    form[::2] += torch.randn(rows // 2, width, generator=generator).double() * (form[::2] != 0)
    below, above = (torch.rand(rows, width, generator=generator).double().mul(3).floor() / 2 for _ in range(2))
    below[::3] = torch.rand(rows, width, generator=generator).double()[::3]
    most = (form.clamp(min=0) * below - form.clamp(max=0) * above).sum(1)
    need = most * (1.4 * torch.rand(rows, generator=generator).double() - 0.2)
    return form, need, below, above, most


@pytest.mark.parametrize("norm", NORMS)
def test_no_shorter_step_meets_the_need(norm: float) -> None:
    form, need, below, above, most = instances(0)
    step = least_step(form, need, below, above, norm)
    assert ((step >= -below) & (step <= above)).all()
    length = torch.linalg.vector_norm(step, ord=norm, dim=1)
    gain = -(form * step).sum(1)
    feasible = need <= most
    assert (gain[feasible] >= need[feasible] - 1e-9).all()
    torch.testing.assert_close(gain[~feasible], most[~feasible])
    assert (length[need <= 0] == 0).all()
    # a ball that is a little smaller does not reach so far: its exact minimum has a proof and a code of its own
    open_ = feasible & (need > 0)
    assert open_.sum() > 50
    radius = length[open_] * (1 - 1e-6)
    center = torch.zeros_like(form[open_])[:, None]
    region = BallRegion(center, radius, norm, -below[open_][:, None], above[open_][:, None])
    reached = -region.minimum(form[open_][:, None, None])[:, 0]
    assert (reached < need[open_]).all()


@pytest.mark.parametrize(
    ("norm", "need", "wanted"),
    [
        (2.0, 5.0, [-0.6, 0.8]),  # straight down: 3 x 0.6 + 4 x 0.8
        (2.0, 7.0, [-1.0, 1.0]),  # both stopped by the box at once
        (1.0, 3.0, [0.0, 0.75]),  # the steeper coordinate alone
        (1.0, 5.5, [-0.5, 1.0]),  # it is stopped, the other goes on
        (math.inf, 3.5, [-0.5, 0.5]),
        (math.inf, 99.0, [-1.0, 1.0]),  # too much: the corner
        (2.0, 0.0, [0.0, 0.0]),
        (1.0, -1.0, [0.0, 0.0]),
    ],
)
def test_by_hand(norm: float, need: float, wanted: list[float]) -> None:
    form, room = torch.tensor([[3.0, -4.0]]).double(), torch.ones(1, 2).double()
    step = least_step(form, torch.tensor([need]).double(), room, room, norm)
    torch.testing.assert_close(step, torch.tensor([wanted]).double())


@pytest.mark.parametrize("norm", NORMS)
def test_a_form_of_zeros_leads_nowhere(norm: float) -> None:
    room = torch.ones(1, 3).double()
    step = least_step(torch.zeros(1, 3).double(), torch.ones(1).double(), room, room, norm)
    assert not step.any()
