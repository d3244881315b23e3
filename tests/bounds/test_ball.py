"""Balls of embedding space within a box: minima of linear forms against certificates from both sides."""

import itertools
import math

import numpy as np
import pytest
import torch
from scipy.optimize import linprog
from torch import Tensor

from lexproof.bounds.ball import NORMS, BallRegion

ROWS, WORDS, DIM, FORMS = 7, 2, 3, 8
SIZE = WORDS * DIM


def region(seed: int, norm: float) -> BallRegion:
    """Radii from 0 to beyond the box; centers inside, on the border and in corners; coordinates that cannot move."""
    generator = torch.Generator().manual_seed(seed)
    center = torch.rand(ROWS, WORDS, DIM, generator=generator, dtype=torch.float64)
    high = torch.ones_like(center)
    center[1, :, 0] = 1.0
    center[2] = center[2].round()
    center[3, :, 1], high[3, :, 1] = 0.0, 0.0
    center[4], high[4] = 0.0, 0.0
    radius = torch.tensor([0.0, 0.1, 0.4, 0.7, 0.5, 1.3, 99.0], dtype=torch.float64)
    return BallRegion(center, radius, norm, torch.zeros_like(center), high)


def forms(seed: int) -> Tensor:
    """Random ones, whole numbers (ties), single coordinates, zeros, and of many sizes."""
    generator = torch.Generator().manual_seed(seed + 100)
    found = torch.randn(ROWS, FORMS, WORDS, DIM, generator=generator, dtype=torch.float64)
    found[:, 1] = found[:, 1].sign()
    found[:, 2] = (2 * found[:, 2]).round()
    found[:, 3] = 0.0
    found[:, 4, :, 1:] = 0.0
    found[:, 5] *= 1e6
    found[:, 6] *= 1e-6
    found[:, 7, 0] *= 1e4
    return found


def minimizer(ball: BallRegion, form: Tensor) -> tuple[Tensor, Tensor]:
    """The minima, and their gradients by the forms, which are the points where they are attained."""
    form = form.clone().requires_grad_()
    found = ball.minimum(form)
    (point,) = torch.autograd.grad(found.sum(), form)
    return found.detach(), point


def largest_dual(form: Tensor, below: Tensor, above: Tensor, radius: float) -> float:
    """The best lower bound of <form, step> over a Euclidean ball and a box, by Lagrange's dual on a grid."""
    corner = -(form.clamp(min=0) * below - form.clamp(max=0) * above).sum()
    size = float(form.abs().max()) or 1.0
    level = torch.from_numpy(np.geomspace(1e-4, 1e6, 4000))[:, None] * radius / size
    step = (-form * level).clamp(-below, above)
    dual = step @ form + ((step.square().sum(1) - radius**2) / (2 * level[:, 0]))
    return float(torch.maximum(corner, dual.max()))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(4))
def test_minima_are_attained_in_ball_and_box(seed: int, norm: float) -> None:
    ball, form = region(seed, norm), forms(seed)
    found, point = minimizer(ball, form)
    assert (point >= ball.low[:, None] - 1e-12).all() and (point <= ball.high[:, None] + 1e-12).all()
    away = torch.linalg.vector_norm((point - ball.center[:, None]).flatten(2), ord=norm, dim=2)
    assert (away <= ball.radius[:, None] * (1 + 1e-8) + 1e-12).all()
    torch.testing.assert_close((point * form).flatten(2).sum(2), found, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_below_a_minimum_in_the_euclidean_norm(seed: int) -> None:
    ball, form = region(seed, 2.0), forms(seed)
    found = ball.minimum(form)
    for row, which in itertools.product(range(1, ROWS), range(FORMS)):
        own, center = form[row, which].flatten(), ball.center[row].flatten()
        below, above = center - ball.low[row].flatten(), ball.high[row].flatten() - center
        dual = largest_dual(own, below, above, float(ball.radius[row])) + float(own @ center)
        scale = max(1e-9, float(own.abs().max()))
        assert dual - 1e-9 * scale <= float(found[row, which]) <= dual + 1e-4 * scale


@pytest.mark.parametrize("seed", range(3))
def test_minima_in_the_city_block_norm_are_those_of_a_linear_program(seed: int) -> None:
    ball, form = region(seed, 1.0), forms(seed)
    found = ball.minimum(form)
    for row, which in itertools.product(range(ROWS), range(FORMS)):
        own, center = form[row, which].flatten().numpy(), ball.center[row].flatten().numpy()
        room = np.concatenate([ball.high[row].flatten().numpy() - center, center - ball.low[row].flatten().numpy()])
        solved = linprog(
            np.concatenate([own, -own]) / max(1e-300, np.abs(own).max()),
            A_ub=np.ones((1, 2 * SIZE)), b_ub=[float(ball.radius[row])], bounds=list(zip(0 * room, room, strict=True)),
        )  # fmt: skip
        wanted = own @ center + solved.fun * np.abs(own).max()
        assert float(found[row, which]) == pytest.approx(wanted, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(3))
def test_no_point_is_below_a_minimum(seed: int, norm: float) -> None:
    ball, form = region(seed, norm), forms(seed)
    found = ball.minimum(form)
    generator = torch.Generator().manual_seed(seed)
    for draw in range(400):
        step = torch.randn(ROWS, WORDS, DIM, generator=generator, dtype=torch.float64)
        if draw % 3 == 0:
            step = step.sign()  # corners of the ball in the maximum norm
        elif draw % 3 == 1:
            step = step * (
                step.abs() == step.flatten(1).abs().amax(1)[:, None, None]
            )  # and of that in the city block one
        length = torch.linalg.vector_norm(step.flatten(1), ord=norm, dim=1)
        step = step * (ball.radius / length)[:, None, None]
        point = (ball.center + step).clamp(ball.low, ball.high)  # a coordinate that is cut is nearer to the center
        value = (form * point[:, None]).flatten(2).sum(2)
        assert (value >= found - 1e-9 * form.flatten(2).abs().amax(2).clamp(min=1)).all()


@pytest.mark.parametrize("norm", NORMS)
def test_forms_together_are_forms_alone(norm: float) -> None:
    """Whether the box stops most of the forms of a batch or few of them."""
    generator = torch.Generator().manual_seed(3)
    center = torch.full((2, 1, 5), 0.5, dtype=torch.float64)
    center[:, 0, 0] = torch.tensor([0.01, 0.99])
    ball = BallRegion(
        center, torch.tensor([0.2, 0.3]).double(), norm, torch.zeros_like(center), torch.ones_like(center)
    )
    many = torch.randn(2, 12, 1, 5, generator=generator, dtype=torch.float64)
    few = many.clone()
    few[:, 2:, :, 0] = 0.0
    for form in (many, few):
        together, points = minimizer(ball, form)
        for which in range(form.shape[1]):
            alone, point = minimizer(ball, form[:, which : which + 1])
            torch.testing.assert_close(alone[:, 0], together[:, which])
            torch.testing.assert_close(point[:, 0], points[:, which], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("norm", NORMS)
def test_the_box_is_the_range_of_each_coordinate(norm: float) -> None:
    ball = region(5, norm)
    low, high = ball.box()
    units = torch.eye(SIZE, dtype=torch.float64).expand(ROWS, -1, -1).reshape(ROWS, SIZE, WORDS, DIM)
    torch.testing.assert_close(ball.minimum(units), low.flatten(1))
    torch.testing.assert_close(-ball.minimum(-units), high.flatten(1))


@pytest.mark.parametrize("norm", NORMS)
def test_the_farthest_corner_makes_the_ball_the_box(norm: float) -> None:
    ball = region(6, norm)
    far = ball.farthest()
    for row in range(ROWS):
        sides = zip(ball.low[row].flatten().tolist(), ball.high[row].flatten().tolist(), strict=True)
        corners = torch.tensor(list(itertools.product(*sides)), dtype=torch.float64)
        away = torch.linalg.vector_norm(corners - ball.center[row].flatten(), ord=norm, dim=1)
        assert float(away.max()) == pytest.approx(float(far[row]))
    form = forms(6)
    whole = BallRegion(ball.center, far * (1 + 1e-12), norm, ball.low, ball.high)
    corner = (form.clamp(min=0) * ball.low[:, None] + form.clamp(max=0) * ball.high[:, None]).flatten(2).sum(2)
    torch.testing.assert_close(whole.minimum(form), corner, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("norm", NORMS)
def test_minima_fall_as_the_radius_grows(norm: float) -> None:
    ball, form = region(8, norm), forms(8)
    last = None
    for radius in (0.0, 1e-12, 0.01, 0.1, 0.3, 1.0, 3.0, 1e9):
        grown = BallRegion(ball.center, torch.full_like(ball.radius, radius), norm, ball.low, ball.high)
        found = grown.minimum(form)
        assert torch.isfinite(found).all()
        if last is not None:
            assert (found <= last + 1e-9 * form.flatten(2).abs().amax(2).clamp(min=1)).all()
        last = found


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("norm", NORMS)
def test_what_is_not_a_number_proves_nothing(norm: float, bad: float) -> None:
    ball, form = region(7, norm), forms(7)
    clean = ball.minimum(form)
    form[:, 0, 1, 2] = bad
    found = ball.minimum(form)
    assert (found[:, 0] == -math.inf).all()
    torch.testing.assert_close(found[:, 1:], clean[:, 1:])
