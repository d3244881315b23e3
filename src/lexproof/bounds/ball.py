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
for the next t, and repeat until no further coordinate is stopped.  With t so small that |delta| <= r the left side is
|delta|^2 at t and at least that beyond it; so the next t is not smaller, |delta| <= r still, and what is stopped stays
so: at most one round a coordinate, mostly two or three.  At the end the left side is |delta|^2 itself.
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
        return torch.linalg.vector_norm(room, ord=self.norm, dim=1)

    def _gain(self, form: Tensor) -> Tensor:
        """How far <form, x> falls below its value at the center: (N, S, D) to (N, S).

        Without the box the radius times the dual norm; only the forms that the box stops need more.
        """
        gain = self.radius[:, None] * torch.linalg.vector_norm(form, ord=_DUAL[self.norm], dim=2)
        with torch.no_grad():
            row, which = self._stopped(form).nonzero(as_tuple=True)
        if not len(row):
            return gain
        own = form[row, which]
        with torch.no_grad():
            below, above = (self.center - self.low).flatten(1)[row], (self.high - self.center).flatten(1)[row]
            room = torch.where(own > 0, below, above)
            fill = _filled if self.norm == 2.0 else _packed
            length, spare = fill(own.abs(), room, self.radius[row, None])
        return gain.index_put((row, which), (own.abs() * length).sum(1) + spare)

    def _stopped(self, form: Tensor) -> Tensor:
        """Whether the step of each form without a box would leave the box: (N, S)."""
        radius = self.radius[:, None, None]
        below, above = (self.center - self.low).flatten(1)[:, None], (self.high - self.center).flatten(1)[:, None]
        if self.norm == 2.0:
            norm = torch.linalg.vector_norm(form, dim=2, keepdim=True)
            step = form * (radius / torch.where(norm > 0, norm, 1.0))
            return ((step > below) | (step < -above)).any(2)
        at = form.abs().argmax(2, keepdim=True)  # one coordinate takes all
        room = torch.where(form.gather(2, at) > 0, _at(below, at), _at(above, at))
        return (room < radius).squeeze(2)


_DUAL = {1.0: math.inf, 2.0: 2.0, math.inf: 1.0}


def _dot(form: Tensor, point: Tensor) -> Tensor:
    """<form, point>: (N, S, D) with (N, D) gives (N, S)."""
    return torch.bmm(form, point[:, :, None]).squeeze(2)


def _at(room: Tensor, at: Tensor) -> Tensor:
    return room.expand(-1, at.shape[1], -1).gather(2, at)


def _filled(size: Tensor, room: Tensor, radius: Tensor) -> tuple[Tensor, Tensor]:
    """Water-filling of rows (M, D): min(t size, room), and what the dual bound adds to the gain, 0 up to rounding."""
    level = radius / torch.linalg.vector_norm(size, dim=1, keepdim=True)
    stopped = level * size > room
    for _ in range(size.shape[1] + 1):
        left = (radius.square() - torch.where(stopped, room, 0.0).square().sum(1, keepdim=True)).clamp(min=0)
        free = torch.where(stopped, 0.0, size).square().sum(1, keepdim=True)
        found = torch.where(free > 0, (left / torch.where(free > 0, free, 1.0)).sqrt(), math.inf)
        level = torch.maximum(level, found)  # as it is but for rounding
        full = stopped | ((size > 0) & (level * size > room))
        if bool((full == stopped).all()):
            break
        stopped = full
    length = torch.where(stopped, room, torch.where(size > 0, level, 0.0) * size)
    spare = (radius.square() - length.square().sum(1, keepdim=True)) / (2 * level)
    return length, spare.squeeze(1)


def _packed(size: Tensor, room: Tensor, radius: Tensor) -> tuple[Tensor, Tensor]:
    """Lengths (M, D) that use up `radius` on the largest sizes first."""
    order = size.argsort(1, descending=True)
    rooms = room.gather(1, order)
    used = torch.cumsum(rooms, 1) - rooms
    length = torch.zeros_like(size).scatter(1, order, torch.minimum((radius - used).clamp(min=0), rooms))
    return length, torch.zeros_like(size[:, 0])
