"""Balls of embedding space: some words move together by at most a radius in a norm, within a box; the rest is fixed.

A linear form <a, x> over center + delta, |delta|_p <= r, low <= center + delta <= high, is least for
    p = inf  delta_i = -sign(a_i) min(r, room_i)
    p = 2    delta_i = -sign(a_i) min(t |a_i|, room_i), the t >= 0 for which |delta|_2 = r (water-filling)
    p = 1    the room of the largest |a_i| first, then of the next, until the radius is used up
with room_i >= 0 the way from the center to the box against the sign of a_i; where all rooms together are within the
radius, the corner of the box.

Proof for p = inf: ball and box together are a box.  For p = 1 it is a fractional knapsack: to move used length from a
larger |a_i| to a smaller one never helps.  For p = 2 by duality: for every t > 0 and every point of the set
    <a, delta> >= <a, delta> + (|delta|^2 - r^2) / (2 t) >= min over the box of the right side,
which is taken coordinate by coordinate at delta_i = -sign(a_i) min(t |a_i|, room_i).  So each t gives a lower bound,
however it was found; where |delta| = r it is attained, hence exact.

The t is found from below: take those coordinates as stopped that t |a_i| brings to their room, solve
    sum of room_i^2 over the stopped + t^2 (sum of a_i^2 over the others) = r^2
for the next t, and repeat.  With t so small that |delta| <= r the left side is |delta|^2 at t and at least that beyond
it; so the next t is not smaller, |delta| <= r still, and what is stopped stays so.  When no further coordinate is
stopped the left side is |delta|^2: after at most one round a coordinate, mostly after two or three.  As the dual bound
is flat at its maximum, it is exact in float64 long before |delta| is r to the last bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

NORMS = (1.0, 2.0, math.inf)


@dataclass(frozen=True, slots=True, eq=False)
class BallRegion:
    """Row n: K words within `radius[n]` of `center[n]` in the joint norm, each coordinate between `low` and `high`.

    The center lies in the box.  `norm` is 1, 2 or inf; a word outside the ball's index set is not among the K.
    """

    center: Tensor  # (N, K, d)
    radius: Tensor  # (N,)
    norm: float
    low: Tensor  # (N, K, d)
    high: Tensor  # (N, K, d)

    def minimum(self, form: Tensor) -> Tensor:
        """The exact minimum of <form, x>: (N, S, K, d) to (N, S); -inf where it is not a number, which proves nothing.

        The gradient by the form is the minimizer (envelope theorem).
        """
        flat = form.flatten(2)
        if self.norm == math.inf:
            low, high = (end.flatten(1) for end in self.box())
            found = _dot(flat, high) - _dot(flat.relu(), high - low)
        else:
            found = _dot(flat, self.center.flatten(1)) - self._gain(flat)
        return torch.where(found.isfinite(), found, -math.inf)

    def box(self) -> tuple[Tensor, Tensor]:
        """The least and largest value of each coordinate: in every norm one coordinate alone may use all the radius."""
        reach = self.radius[:, None, None]
        return torch.maximum(self.low, self.center - reach), torch.minimum(self.high, self.center + reach)

    def farthest(self) -> Tensor:
        """The distance from each center to the farthest corner of its box: a ball of this radius is all of it."""
        room = torch.maximum(self.center - self.low, self.high - self.center).flatten(1)
        far: Tensor = torch.linalg.vector_norm(room, ord=self.norm, dim=1)
        return far

    def _gain(self, form: Tensor) -> Tensor:
        """How far <form, x> falls below its value at the center: (N, S, D) to (N, S).

        Without the box it is the radius times the dual norm; only the forms that the box stops need more.
        """
        # the step goes against the form: down to `low` where the form is positive
        least, most = (self.center - self.high).flatten(1)[:, None], (self.center - self.low).flatten(1)[:, None]
        radius = self.radius[:, None, None]
        free, fill = (_free_l2, _filled) if self.norm == 2.0 else (_free_l1, _packed)
        gain, stopped = free(form, least, most, radius)
        row, which = stopped.nonzero(as_tuple=True)
        if not len(row):
            return gain
        if 2 * len(row) > stopped.numel():  # most of them: quicker than to pick them out
            return torch.where(stopped, _along(form, *fill(form.detach(), least, most, radius)), gain)
        own = form[row, which]
        ends = (end[row, 0] for end in (least, most, radius))
        return gain.index_put((row, which), _along(own, *fill(own.detach(), *ends)))


_EXACT = 1e-12  # share of the squared radius that may be left


def _dot(form: Tensor, point: Tensor) -> Tensor:
    """<form, point>: (N, S, D) with (N, D) gives (N, S)."""
    return torch.bmm(form, point[:, :, None]).squeeze(2)


def _along(form: Tensor, step: Tensor, spare: Tensor) -> Tensor:
    return (form * step).sum(-1) + spare


def _free_l2(form: Tensor, least: Tensor, most: Tensor, radius: Tensor) -> tuple[Tensor, Tensor]:
    """The gain of the step radius * form / |form|, and whether it leaves the box: (N, S) each."""
    norm = torch.linalg.vector_norm(form, dim=2)
    with torch.no_grad():
        step = form * (radius / torch.where(norm > 0, norm, 1.0)[:, :, None])
        stopped = (step.clamp(least, most) != step).any(2)
    return radius[:, :, 0] * norm, stopped


def _free_l1(form: Tensor, least: Tensor, most: Tensor, radius: Tensor) -> tuple[Tensor, Tensor]:
    """The gain of a step of a largest coordinate alone, and whether it leaves the box: (N, S) each."""
    at = form.detach().abs().argmax(2, keepdim=True)
    largest = form.gather(2, at)
    room = torch.where(largest > 0, most.expand_as(form).gather(2, at), -least.expand_as(form).gather(2, at))
    return (radius * largest.abs()).squeeze(2), (room < radius).squeeze(2)


def _filled(form: Tensor, least: Tensor, most: Tensor, radius: Tensor) -> tuple[Tensor, Tensor]:
    """Water-filling (..., D): the step between `least` and `most`, and what the dual bound adds to the gain."""
    square = radius.square()
    norm = torch.linalg.vector_norm(form, dim=-1, keepdim=True)
    level = radius / torch.where(norm > 0, norm, 1.0)
    for _ in range(form.shape[-1] + 1):
        wanted = form * level
        step = wanted.clamp(least, most)
        left = square - torch.linalg.vector_norm(step, dim=-1, keepdim=True).square()
        moving = torch.where(step == wanted, wanted, 0.0)
        free = torch.linalg.vector_norm(moving, dim=-1, keepdim=True).square()
        is_open = (left > _EXACT * square) & (free > 0)
        if not bool(is_open.any()):
            break
        level = torch.where(is_open, level * (1 + left / torch.where(is_open, free, 1.0)).sqrt(), level)
    spare = torch.where(free > 0, left / (2 * level), 0.0)  # none is free: the corner, which no point of the box beats
    return step, spare.squeeze(-1)


def _packed(form: Tensor, least: Tensor, most: Tensor, radius: Tensor) -> tuple[Tensor, Tensor]:
    """The step (..., D) that uses up the radius on the largest coefficients first."""
    order = form.abs().argsort(dim=-1, descending=True)
    room = torch.where(form > 0, most, -least).gather(-1, order)
    used = torch.cumsum(room, -1) - room
    length = torch.zeros_like(form).scatter(-1, order, torch.minimum((radius - used).clamp(min=0), room))
    return form.sign() * length, torch.zeros_like(form[..., 0])
