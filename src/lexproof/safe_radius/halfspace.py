"""The least step that takes a linear form down by a given amount, inside a box: a projection onto a half-space.

    minimize |s|_p   subject to   <a, s> <= -need,   -below <= s <= above

With room_i the way to the box against the sign of a_i, s_i = -sign(a_i) l_i and 0 <= l_i <= room_i:
    p = 2    l_i = min(t |a_i|, room_i)
    p = inf  l_i = min(t, room_i) where a_i is not 0
    p = 1    the room of the largest |a_i| first, then of the next, until the need is met
and t >= 0 the least level that meets the need.  Where the whole room does not meet it, s is the corner of the box.

Proof for p = 2: the problem is convex, and with the multiplier t of the half-space the Lagrange conditions hold:
l_i = t |a_i| where the room does not stop it, and l_i = room_i < t |a_i| where it does.  For p = inf a norm of t allows
each coordinate exactly min(t, room_i), and what is gained grows with t.  For p = 1 it is a fractional knapsack.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def least_step(form: Tensor, need: Tensor, below: Tensor, above: Tensor, norm: float) -> Tensor:
    """The step of each row: forms (P, D), needs (P,), rooms below and above (P, D), none of them negative."""
    size = form.abs()
    room = torch.where(form > 0, below, above)
    wanted = need.clamp(min=0)[:, None]
    length = _packed(size, room, wanted) if norm == 1.0 else _leveled(size, room, wanted, norm)
    return -form.sign() * length


def _packed(size: Tensor, room: Tensor, need: Tensor) -> Tensor:
    size, order = size.sort(1, descending=True)
    rooms = room.gather(1, order)
    gains = size * rooms
    used = torch.cumsum(gains, 1) - gains
    length = torch.where(size > 0, (need - used).clamp(min=0) / torch.where(size > 0, size, 1.0), 0.0)
    return torch.zeros_like(size).scatter(1, order, torch.minimum(length, rooms))


def _leveled(size: Tensor, room: Tensor, need: Tensor, norm: float) -> Tensor:
    weight = (size > 0).to(size) if norm == math.inf else size
    level = torch.where(size > 0, room / torch.where(size > 0, weight, 1.0), math.inf)
    level, order = level.sort(1)
    gains, slopes = (size * room).gather(1, order), (size * weight).gather(1, order)
    before = torch.cumsum(gains, 1) - gains  # gained by the coordinates before this one, all stopped by the box
    free = slopes.flip(1).cumsum(1).flip(1)  # slopes of this one and those after it, none of them stopped
    levels = (need - before).clamp(min=0) / torch.where(free > 0, free, 1.0)
    ends = (levels <= level) & (free > 0)
    found = torch.where(ends.any(1, keepdim=True), levels.gather(1, ends.int().argmax(1, keepdim=True)), math.inf)
    return torch.where(size > 0, torch.minimum(found * torch.where(size > 0, weight, 1.0), room), 0.0)
