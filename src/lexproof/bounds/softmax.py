"""Softmax over the last axis, between planes.

Output i of x_1 … x_n is p_i = exp(x_i) / sum_j exp(x_j) = 1 / D_i with D_i = 1 + sum_{j != i} exp(x_j - x_i): only
differences count.  Let c be the middle of the box [l, u].

Range: p_i rises with x_i and falls with every other x_j, so its ends are at corners: l_i with u_j, u_i with l_j.

Below: d_j = x_j - x_i lies in [a_j, b_j] = [l_j - u_i, u_j - l_i], whose middle is c_j - c_i.  exp is convex, so below
its chord there, whose slope is k_j: D_i <= D0 + sum_j k_j (d_j - (c_j - c_i)), D0 = 1 + sum_j (exp a_j + exp b_j) / 2.
1 / D is convex, so above its tangent at D0: 1 / D >= 1 / D0 - (D - D0) / D0^2, which falls with D.  Together
    p_i >= 1 / D0 - sum_j (k_j / D0^2) ((x_j - c_j) - (x_i - c_i)).
As D0 is at least half of the largest sum of chords, this plane is never negative in the box.

Above: log p_i = x_i - log sum_j exp(x_j) is concave, so below its tangent plane at c, of gradient e_i - p(c).
p_i = exp(log p_i) is below the chord of exp over the range of log p_i; its slope k is not negative.  Together
    p_i <= top_i + k (log p_i(c) + <e_i - p(c), x - c> - log top_i),  top_i the largest p_i.

Sum: the outputs sum to 1, so a form F may lose the same number g at all outputs and gain it as a constant.  Any g is
valid; the one taken makes the gap between planes and outputs at c least: with A_i the gap below and B_i the gap above
it minimizes sum_i (F_i - g)^+ A_i + (g - F_i)^+ B_i, so it is a weighted quantile of the F_i.

All exponentials are taken of differences to a largest one, so nothing overflows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from lexproof.bounds.graph import Box, Pulled

_NARROW = 1e-5  # below, three terms of a series are exact in float64, and have a derivative at 0
_LOG_2 = math.log(2.0)


class Softmax:
    """exp(x_i) / sum_j exp(x_j) over the last axis: (N, ..., n) to the same shape."""

    name: ClassVar[str] = "softmax"
    is_linear: ClassVar[bool] = False

    def value(self, *inputs: Tensor) -> Tensor:
        """The shares."""
        return inputs[0].softmax(-1)

    def interval(self, *boxes: Box) -> Box:
        """The two corners of each output."""
        low, high = _log_range(boxes[0])
        return Box(low.exp(), high.exp())

    def unsettled(self, *boxes: Box) -> tuple[Tensor, ...]:
        """Wherever the input may move, if there is more than one."""
        (box,) = boxes
        return ((box.high > box.low) & (box.low.shape[-1] > 1),)

    def slopes(self, *boxes: Box) -> Tensor | None:
        """Nothing is left free."""
        del boxes
        return None

    def relax(self, *boxes: Box, slopes: Tensor | None = None) -> SoftmaxPlanes:
        """The planes."""
        del slopes
        (box,) = boxes
        center = box.low / 2 + box.high / 2
        at = center.log_softmax(-1)
        log_low, log_top = _log_range(box)
        log_middle, falls = _below(box, center)
        chord = log_top.exp() * _shrunk(log_top - log_low)
        high_at = log_top.exp() + chord * (at - log_top)
        return SoftmaxPlanes(center, at.exp(), log_middle.exp(), falls, high_at, chord)


def _log_range(box: Box) -> tuple[Tensor, Tensor]:
    """The least and the largest log p_i."""
    return box.low - _own_and_others(box.low, box.high), box.high - _own_and_others(box.high, box.low)


def _own_and_others(own: Tensor, others: Tensor) -> Tensor:
    """log(exp(own_i) + sum_{j != i} exp(others_j)): the terms written out, since subtracting one would lose digits."""
    size = own.shape[-1]
    is_own = torch.eye(size, dtype=torch.bool, device=own.device)
    return torch.where(is_own, own[..., :, None], others[..., None, :]).logsumexp(-1)


def _shrunk(width: Tensor) -> Tensor:
    """(1 - exp(-w)) / w, which is 1 at 0."""
    is_wide = width > _NARROW
    safe = torch.where(is_wide, width, 1.0)
    return torch.where(is_wide, -torch.expm1(-safe) / safe, 1 - width / 2 + width.square() / 6)


def _below(box: Box, center: Tensor) -> tuple[Tensor, Tensor]:
    """log(1 / D0) of each output i, and k_j / D0^2 at [i, j], 0 at [i, i]."""
    top = box.high[..., None, :] - box.low[..., :, None]  # b_j at [i, j]
    width = top - (box.low[..., None, :] - box.high[..., :, None])
    is_own = torch.eye(center.shape[-1], dtype=torch.bool, device=center.device)
    chords = torch.where(is_own, 0.0, top + torch.log1p(torch.exp(-width)) - _LOG_2)
    log_middle = chords.logsumexp(-1)
    slope = (top - 2 * log_middle[..., None]).exp() * _shrunk(width)
    return -log_middle, torch.where(is_own, 0.0, slope)


@dataclass(frozen=True, slots=True)
class SoftmaxPlanes:
    """Planes around the center c, with y = x - c.

    p_i >= low_at_i - sum_j falls_ij (y_j - y_i) and p_i <= high_at_i + chord_i (y_i - <p(c), y>).
    """

    center: Tensor  # (N, ..., n)
    at: Tensor  # p(c)
    low_at: Tensor
    falls: Tensor  # (N, ..., n, n)
    high_at: Tensor
    chord: Tensor

    def pull(self, form: Tensor) -> Pulled:
        """The form, less its best common number, through the planes."""
        shift = self._shift(form)
        rest = form - shift
        up, down = rest.clamp(min=0), rest.clamp(max=0)
        pushed = down * self.chord[:, None]
        fallen = (up.movedim(1, -2) @ self.falls).movedim(-2, 1)  # one matrix product for all forms of a softmax
        moved = up * self.falls.sum(-1)[:, None] - fallen + pushed - pushed.sum(-1, keepdim=True) * self.at[:, None]
        constant = up * self.low_at[:, None] + down * self.high_at[:, None] - moved * self.center[:, None]
        return Pulled((moved,), constant.flatten(2).sum(2) + shift.flatten(2).sum(2))

    def _shift(self, form: Tensor) -> Tensor:
        """The weighted quantile g of each form and softmax: (N, S, ..., 1).

        The cost falls with g while the gaps A of larger numbers outweigh the gaps B of those that are not larger.
        """
        with torch.no_grad():
            below = (self.at - self.low_at)[:, None].expand_as(form)
            above = (self.high_at - self.at)[:, None].expand_as(form)
            ordered, order = form.sort(-1)
            larger = below.sum(-1, keepdim=True) - below.gather(-1, order).cumsum(-1)
            is_low = above.gather(-1, order).cumsum(-1) < larger
            place = is_low.sum(-1, keepdim=True).clamp(max=form.shape[-1] - 1)
            return ordered.gather(-1, place)
