"""How a bound of the least margin falls as the radius grows, and where it is used up: which radius to try next.

No guarantee rests on what is said here: a radius counts only after the bound itself was evaluated there.

A bound at radius R has lost the margin of the text by `slope * R`, which the gradient takes, and by what the relaxation
loses.  Two laws of the latter, each through the two radii tried whose bounds are nearest to the end:
- a power of R: bounds of ReLUs, max-pooling, attention, and of few steps;
- 1 / (a - b R)^2, which has a pole: bounds of many recurrent steps, where what one step loses widens the next.
A third radius tells which law to believe.  Bounds that have lost many margins are saturated and say only that the end
is below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

_POWER = 3.0  # of the radius, until one is learned
_SATURATED = 3.0  # margins lost
_CLOSE = 0.3  # of the margin, at most left where a law is believed that says that the end is reached
_LEAST, _MOST = 1e-6, 1e6  # margins lost by the relaxation that are told apart
_GROWTH = 8.0  # of a radius to the next, either way, at most
_STEPS = 40  # of bisection on a law
_BLIND = 0.65  # of the way from the proven end to the open one, by logarithms, where no law says more


@dataclass(slots=True)
class Ends:
    """Of each row the radius proven, the least one found open, and all that was tried."""

    margin: Tensor  # (N,)
    slope: Tensor  # how fast the margin falls at first; corrected where the box stops it
    proven: Tensor = field(init=False)
    open: Tensor = field(init=False)
    tried: Tensor = field(init=False)  # (N, T) radii, 0 where a row was no longer asked
    lost: Tensor = field(init=False)  # (N, T) what their bounds lost of the margin

    def __post_init__(self) -> None:
        self.proven = torch.zeros_like(self.margin)
        self.open = torch.full_like(self.margin, math.inf)
        self.tried = self.margin.new_zeros(len(self.margin), 0)
        self.lost = self.margin.new_zeros(len(self.margin), 0)

    def learn(self, at: Tensor, radius: Tensor, left: Tensor, holds: Tensor) -> None:
        """Take in what the bound has left of the margin at a radius, for some rows."""
        lost = torch.minimum((self.margin[at] - left).nan_to_num(math.inf), _MOST * self.margin[at])
        self.slope[at] = torch.minimum(self.slope[at], (lost / radius).clamp(min=0))
        nothing = torch.zeros_like(self.margin)
        self.tried = torch.cat([self.tried, nothing.scatter(0, at, radius)[:, None]], 1)
        self.lost = torch.cat([self.lost, nothing.scatter(0, at, lost)[:, None]], 1)
        self.proven[at] = torch.where(holds, radius, self.proven[at])
        self.open[at] = torch.where(holds, self.open[at], radius)

    def next(self, at: Tensor, tolerance: float) -> tuple[Tensor, Tensor]:
        """The radius to try, and whether a row has reached its end already: its two ends agree to the tolerance or,
        by a law that two radii have taught, the margin is used up within the tolerance of the radius just proven.

        To try is a radius that closes the bracket either way, if there is one; else one just below where the margin is
        used up or, if what is proven is near that already, just above.
        """
        low, high = self.proven[at], self.open[at]
        root, is_learned = self._root(at)
        least, most = high * (1 - tolerance), low / (1 - tolerance)
        is_close = (self.tried[at, -1] == low) & (self.lost[at, -1] > (1 - _CLOSE) * self.margin[at])
        is_reached = (most >= high) | (is_learned & is_close & (most >= root))
        near = root * torch.where(root * (1 - tolerance / 2) > most, 1 - tolerance / 2, 1 + tolerance / 2)
        gap = high / low
        between = torch.maximum(torch.minimum(near, low * gap**0.95), low * gap**0.05)
        between = torch.where(is_learned & (near < high), between, low * gap**_BLIND)
        inside = torch.where(high.isinf(), torch.maximum(near, 1.05 * low), between)
        inside = torch.where(low > 0, inside, torch.minimum(near, 0.95 * high))
        return torch.where(least < most, root.clamp(least, most), inside), is_reached

    def _root(self, at: Tensor) -> tuple[Tensor, Tensor]:
        """Where the margin is used up, by the laws, and whether two radii have taught them."""
        points = _Points.nearest(self.margin[at], self.slope[at], self.tried[at], self.lost[at])
        first = points.radius[:, 0]
        low = torch.where(self.proven[at] > 0, self.proven[at], first / _GROWTH).expand(2, -1)
        high = torch.minimum(self.open[at], torch.maximum(first, self.proven[at]) * _GROWTH).expand(2, -1)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            lost = torch.stack([points.by_power(middle[0]), points.by_pole(middle[1])]).exp()
            is_over = self.slope[at] * middle + lost > self.margin[at]
            low, high = torch.where(is_over, low, middle), torch.where(is_over, middle, high)
        refuted = low <= self.proven[at] * (1 + 1e-9)  # laws by which the margin is used up where it is not
        trust = points.trust(is_saturated=(self.lost[at] > _SATURATED * self.margin[at][:, None]).any(1))
        trust = torch.where(refuted[0], 0.0, torch.where(refuted[1], 1.0, trust))
        mixed = low[0] ** trust * low[1] ** (1 - trust)
        is_learned = (points.count > 1) & ~refuted.all(0)
        return torch.where(points.count > 0, mixed, self.open[at] / 4), is_learned


@dataclass(frozen=True, slots=True)
class _Points:
    """Of each row up to three radii tried, those nearest to the end first, and the logarithms of what was lost there
    by the relaxation.
    """

    radius: Tensor  # (N, 3)
    log_lost: Tensor  # (N, 3)
    count: Tensor  # (N,)

    @classmethod
    def nearest(cls, margin: Tensor, slope: Tensor, tried: Tensor, lost: Tensor) -> _Points:
        """Choose them, of equal ones the last; where there are fewer than three, others fill up."""
        tried, lost = tried.flip(1), lost.flip(1)
        shares = lost / margin[:, None]
        apart = shares.clamp(min=_LEAST).log().abs()
        apart = torch.where((tried > 0) & (shares <= _SATURATED), apart, math.inf)
        apart, tried, lost = (torch.nn.functional.pad(part, (0, 2)) for part in (apart, tried, lost))
        apart[:, -2:] = math.inf
        order = apart.argsort(dim=1, stable=True)[:, :3]
        radius = tried.gather(1, order)
        radius = torch.where(radius > 0, radius, 1.0)  # not used
        own = (lost.gather(1, order) - slope[:, None] * radius) / margin[:, None]
        log_lost = own.clamp(min=_LEAST).log() + margin.log()[:, None]
        return cls(radius, log_lost, apart.gather(1, order).isfinite().sum(1))

    def by_power(self, radius: Tensor) -> Tensor:
        """The logarithm of what is lost at a radius (N,), by a power of it."""
        apart = (self.radius[:, 0] / self.radius[:, 1]).log()
        power = (self.log_lost[:, 0] - self.log_lost[:, 1]) / torch.where(apart == 0, 1.0, apart)
        power = torch.where((self.count > 1) & (apart != 0), power.clamp(min=1.0), _POWER)
        return self.log_lost[:, 0] + power * (radius / self.radius[:, 0]).log()

    def by_pole(self, radius: Tensor) -> Tensor:
        """The same, by the law with a pole; inf beyond it."""
        roots = (-self.log_lost / 2).exp()
        apart = self.radius[:, 0] - self.radius[:, 1]
        fall = (roots[:, 0] - roots[:, 1]) / torch.where(apart == 0, 1.0, apart)
        there = roots[:, 0] + fall * (radius - self.radius[:, 0])
        return torch.where(there > 0, -2 * there.clamp(min=1e-300).log(), math.inf)

    def trust(self, is_saturated: Tensor) -> Tensor:
        """The share that the power law has in the answer: by its error at the third radius and that of the other.

        Without a third one it is all, or half if some bound is saturated already, as that is a sign of a pole.
        """
        third, known = self.radius[:, 2], self.log_lost[:, 2]
        errors = torch.stack([self.by_power(third) - known, self.by_pole(third) - known]).square()
        trust = (errors[1] / (errors[0] + errors[1])).nan_to_num(1.0)  # an error of inf: the pole lies before it
        fewer = torch.where(is_saturated & (self.count == 2), 0.5, 1.0)
        return torch.where(self.count > 2, trust, fewer).to(known.dtype)
