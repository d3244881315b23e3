"""How far linear forms reach to both sides over a region: bounds that are quick, for the many forms of a forward pass.

Over a ball of the L2 norm with a box (ball.py) the largest <a, delta> is at most
    sum_i (a_i delta_i - delta_i^2 / (2 t)) + r^2 / (2 t)   for delta_i = t a_i moved into the box, and every t > 0:
the dual bound.  It is exact for the t at which |delta| = r and flat there, so a t that is a little off costs little:
two steps of the secant method come near it, as log |delta| is nearly a line of log t.  It is also at most what the box
alone says.  Forms that no box stops are exact at once: there |delta| = t |a|.  Where the box stops most of a form the
bound may be too far by some tens of percent: sound, and quicker than more steps.  Other regions know exact minima.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lexproof.bounds.ball import BallRegion
from lexproof.bounds.region import Region

_ROUNDS = 2
_FIRST_POWER = 2.0  # as if half of the square of |delta| were free to grow
_FASTEST = 1e3
_FLATTEST = 0.05  # of the slope of log |delta| by log t
_TINY = 1e-100


def reach(region: Region, forms: Tensor) -> tuple[Tensor, Tensor]:
    """At most the least and at least the largest value of <form, x - c> over the region: (N, S, D) to (N, S) each."""
    both = torch.cat([forms, -forms], 1)
    if isinstance(region, BallRegion) and region.norm == 2.0:
        low, high = _euclidean(region, both).chunk(2, 1)
    else:
        at = (both @ region.center.flatten(1)[:, :, None]).squeeze(2)
        wide = both.reshape(*both.shape[:2], *region.center.shape[1:])
        low, high = (region.minimum(wide) - at).chunk(2, 1)
    return low, -high


def _euclidean(region: BallRegion, forms: Tensor) -> Tensor:
    """At most the least <form, x - c>: (N, S, D) to (N, S)."""
    least, most = (region.low - region.center).flatten(1)[:, None], (region.high - region.center).flatten(1)[:, None]
    radius = region.radius[:, None, None]
    level = -radius.clamp(min=_TINY) / _length(forms)  # negative: the step goes against the form
    step = (forms * level).clamp(least, most)
    length = _length(step)
    power: Tensor | float = _FIRST_POWER
    for _ in range(_ROUNDS):
        growth = (radius / length).pow(power).clamp(1 / _FASTEST, _FASTEST)
        level = level * growth
        step, before = (forms * level).clamp(least, most), length
        length = _length(step)
        moved = growth.log()
        rate = (length / before).log() / torch.where(moved == 0, 1.0, moved)
        power = 1 / rate.clamp(_FLATTEST, 1.0)
    found = (forms * step).sum(2) + ((radius.square() - length.square()) / (2 * level)).squeeze(2)
    corner = (forms.relu() * least).sum(2) - ((-forms).relu() * most).sum(2)
    return torch.maximum(found, corner)


def _length(vectors: Tensor) -> Tensor:
    length: Tensor = torch.linalg.vector_norm(vectors, dim=2, keepdim=True)
    return length.clamp(min=_TINY)
