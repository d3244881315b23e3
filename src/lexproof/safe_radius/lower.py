"""The largest radius that the bounds certify, for every row of a network at once.

Guarantee: for each row, every point of the ball of the radius returned (and of the box) keeps the label by a margin of
logits above `theta`: `margin_bound` says so of this very radius, and `recheck` can ask it again.  How the search gets
there does not matter for that.

The search: as the radius grows the bound of the least margin falls from the margin of the text itself, by what the
gradient takes, a multiple of the radius, and by what the relaxation loses, much like a power of it.  The multiple is
known from the start, the power is learned from the last two radii tried.  The next radius lies half a tolerance before
that at which the margin is used up by this law, so that it is likely proven, or after it, so that it closes the
bracket.  All rows go side by side, none knows of the others; one leaves when its two ends agree to the tolerance, or
when by the law, once a power is learned, the margin is used up within the tolerance of the radius just proven.

Boxes of a ball that was not proven hold in all smaller ones, but are not handed on.  As bounds are not monotone they
may be tighter than those that the smaller ball finds by itself, and the proof would need them, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from lexproof.bounds.backward import Check
from lexproof.bounds.ball import BallRegion
from lexproof.bounds.ball_network import BallNetwork
from lexproof.certify.deadline import TimeUp

TOLERANCE = 0.01
_ROWS = 64  # rows bounded at once: more would leave the caches
_FIRST = 0.25  # of the radius at which the gradient says that the margin is used up: bounds lose ground on it
_SMALL = 0.05  # of the way to the farthest corner: the first radius is not larger, whatever the gradient says
_POWER = 3.0  # of the radius, by which the relaxation loses, until it is learned
_GROWTH = 8.0  # of a radius to the next, either way, at most
_MOST = 40  # evaluations of a row
_BY_LAW = 8  # of them by the law, then by halves
_SPARE = 1e-7  # of the margin of the text, above theta: rows beside a row move its bound by less in float64


def region_of(network: BallNetwork, rows: Tensor, radius: Tensor, norm: float) -> BallRegion:
    """The balls of these rows."""
    return BallRegion(network.center[rows], radius, norm, network.low[rows], network.high[rows])


def margin_forms(labels: Tensor, classes: int) -> Tensor:
    """The forms of the logits whose values are the margins over all other classes: (N, classes - 1, classes)."""
    others = torch.arange(classes).expand(len(labels), -1)
    others = others[others != labels[:, None]].reshape(len(labels), classes - 1)
    own = torch.nn.functional.one_hot(labels, classes).double()[:, None]
    return own - torch.nn.functional.one_hot(others, classes).double()


def margin_bound(
    network: BallNetwork, rows: Tensor, radius: Tensor, labels: Tensor, norm: float, check: Check | None = None
) -> Tensor:
    """A lower bound of the least margin over all points of each row's ball: (M,); -inf where it is not a number."""
    if check is not None:
        check()
    with torch.no_grad():
        graph = network.graph(rows)
        relaxation = network.relaxation(graph, region_of(network, rows, radius, norm), check)
        forms = margin_forms(labels, relaxation.boxes[-1].low.shape[1])
        least = relaxation.lower(graph.last, forms).amin(1)
    return torch.where(least.isnan(), -math.inf, least)


def certified_radii(
    network: BallNetwork,
    labels: Tensor,
    norm: float,
    *,
    theta: float = 0.0,
    tolerance: float = TOLERANCE,
    check: Check | None = None,
) -> Tensor:
    """The certified radius of each row (N,); inf where all of the box is proven, 0 where the text itself is not.

    `check` is called now and then; where it raises TimeUp, what is proven so far is the answer.
    """
    parts = [
        _Search(network, rows, labels[rows], norm, theta, tolerance, check).run()
        for rows in torch.split(torch.arange(len(labels)), _ROWS)
    ]
    return torch.cat([torch.zeros(0, dtype=torch.float64), *parts])


@dataclass(slots=True)
class _Search:
    """Some rows side by side."""

    network: BallNetwork
    rows: Tensor
    labels: Tensor
    norm: float
    theta: float
    tolerance: float
    check: Check | None

    def run(self) -> Tensor:
        """The radius of each row."""
        margin, slope = self._at_the_text()
        far = region_of(self.network, self.rows, torch.zeros_like(margin), self.norm).farthest()
        ends = _Ends.of(margin, slope)
        steep = torch.where(slope > 0, margin / torch.where(slope > 0, slope, 1.0), math.inf)
        next_ = torch.minimum(_FIRST * steep, _SMALL * far)
        active = (margin > 0) & (far > 0)
        ends.proven[(margin > 0) & (far == 0)] = math.inf
        for number in range(_MOST):
            at = active.nonzero()[:, 0]
            if not len(at):
                break
            radius = next_[at]
            try:
                found = margin_bound(self.network, self.rows[at], radius, self.labels[at], self.norm, self.check)
            except TimeUp:
                break
            holds = (found > self.theta + _SPARE * margin[at]) & (found < math.inf)
            ends.learn(at, radius, found - self.theta, holds)
            ends.proven[at[holds & (radius >= far[at])]] = math.inf
            next_[at] = ends.next(at, self.tolerance, by_law=number < _BY_LAW).minimum(far[at])
            active[at] = ~ends.is_reached(at, self.tolerance, by_law=number > 0)
        return ends.proven

    def _at_the_text(self) -> tuple[Tensor, Tensor]:
        """The least margin of the texts as they are above theta, and how fast a margin can fall at first."""
        center = self.network.center[self.rows].clone().requires_grad_()
        with torch.enable_grad():
            logits = self.network.graph(self.rows).value(center)
            margins = (margin_forms(self.labels, logits.shape[1]) * logits[:, None]).sum(2)
            slopes = []
            for rival in margins.unbind(1):
                (gradient,) = torch.autograd.grad(rival.sum(), center, retain_graph=True, allow_unused=True)
                flat = torch.zeros_like(center) if gradient is None else gradient
                slopes.append(torch.linalg.vector_norm(flat.flatten(1), ord=_dual(self.norm), dim=1))
        room = margins.detach() - self.theta
        steep = torch.stack(slopes, 1)
        nearest = (room / steep.clamp(min=1e-300)).argmin(1, keepdim=True)
        return room.amin(1), steep.gather(1, nearest)[:, 0] * room.amin(1) / room.gather(1, nearest)[:, 0]


def _dual(norm: float) -> float:
    return {1.0: math.inf, 2.0: 2.0, math.inf: 1.0}[norm]


@dataclass(slots=True)
class _Ends:
    """The two ends of each row's bracket, and the law by which the bound loses the margin.

    The loss at a radius R is taken as slope * R, by the gradient, and beside it a power of R, by the relaxation.
    """

    margin: Tensor
    slope: Tensor
    proven: Tensor
    open: Tensor  # not proven
    last: Tensor  # the radius tried last
    lost: Tensor  # log of what the relaxation lost there
    power: Tensor

    @classmethod
    def of(cls, margin: Tensor, slope: Tensor) -> _Ends:
        zero, inf = torch.zeros_like(margin), torch.full_like(margin, math.inf)
        return cls(margin, slope, zero, inf, zero.clone(), -inf, torch.full_like(margin, _POWER))

    def learn(self, at: Tensor, radius: Tensor, left: Tensor, holds: Tensor) -> None:
        """Move the end that the bound at a radius speaks about, and learn the power from the last two radii."""
        margin = self.margin[at]
        whole = (margin - left).nan_to_num(math.inf)
        self.slope[at] = torch.minimum(self.slope[at], (whole / radius).clamp(min=0))  # the box may stop the gradient
        lost = (whole - self.slope[at] * radius).clamp(1e-6 * margin, 1e6 * margin).log()
        apart = (radius / self.last[at]).log()
        power = ((lost - self.lost[at]) / apart).clamp(1.0, 6.0)
        self.power[at] = torch.where((apart.abs() > 0.02) & apart.isfinite(), power, self.power[at])
        self.last[at], self.lost[at] = radius, lost
        self.proven[at] = torch.where(holds, radius, self.proven[at])
        self.open[at] = torch.where(holds, self.open[at], radius)

    def next(self, at: Tensor, tolerance: float, *, by_law: bool) -> Tensor:
        """The radius to try: one that closes the bracket either way, if there is one; else just below where the law
        says that the margin is used up or, if what is proven is near that already, just above.  Where the law has not
        led to the end (bounds may jump), the middle.
        """
        low, high = self.proven[at], self.open[at]
        least, most = high * (1 - tolerance), low / (1 - tolerance)
        root = self._root(at)
        near = root * torch.where(root * (1 - tolerance / 2) > most, 1 - tolerance / 2, 1 + tolerance / 2)
        width = torch.where(high.isinf(), low, high - low)
        inside = torch.maximum(torch.minimum(near, high - width / 20), low + width / 20)
        if not by_law:
            inside = torch.where(high.isinf(), inside, (low + high) / 2)
        return torch.where(least < most, root.clamp(least, most), inside)

    def is_reached(self, at: Tensor, tolerance: float, *, by_law: bool) -> Tensor:
        """Whether what is proven is within the tolerance of the open end or, by the law, of where that would be."""
        reached = self.proven[at] / (1 - tolerance)
        closed = reached >= self.open[at]
        return closed | ((self.last[at] == self.proven[at]) & (reached >= self._root(at))) if by_law else closed

    def _root(self, at: Tensor) -> Tensor:
        """Where the margin is used up, by the law."""
        parts = (self.margin, self.slope, self.last, self.lost, self.power)
        margin, slope, last, lost, power = (part[at] for part in parts)
        low, high = torch.full_like(margin, -math.log(_GROWTH)), torch.full_like(margin, math.log(_GROWTH))
        for _ in range(30):  # slope * last * e^x + e^(lost + power x) = margin
            x = (low + high) / 2
            over = slope * last * x.exp() + (lost + power * x).exp() > margin
            low, high = torch.where(over, low, x), torch.where(over, x, high)
        return last * low.exp()
