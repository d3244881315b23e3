"""The largest radius that the bounds certify, for every row of a network at once.

Guarantee: for each row, every point of the ball of the radius returned (and of the box) keeps the label by a margin of
logits above `theta`: `margin_bound` says so of this very radius, and `recheck` can ask it again.  How the search gets
there does not matter for that.

The search: the next radius lies where, by the law that the radii tried so far teach (`safe_radius.law`), the margin is
just not used up yet, so that it is likely proven, or just is, so that it closes the bracket.  All rows go side by side,
none knows of the others.

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
from lexproof.safe_radius.law import Ends

TOLERANCE = 0.01
_ROWS = 64  # rows bounded at once: more would leave the caches
_FIRST = 0.25  # of the radius at which the gradient says that the margin is used up: bounds lose ground on it
_SMALL = 0.05  # of the way to the farthest corner: the first radius is not larger, whatever the gradient says
_MOST = 40  # evaluations of a row
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
        ends = Ends(margin, slope)
        steep = torch.where(slope > 0, margin / torch.where(slope > 0, slope, 1.0), math.inf)
        next_ = torch.minimum(_FIRST * steep, _SMALL * far)
        active = (margin > 0) & (far > 0)
        ends.proven[(margin > 0) & (far == 0)] = math.inf
        for _ in range(_MOST):
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
            wanted, is_reached = ends.next(at, self.tolerance)
            next_[at], active[at] = wanted.minimum(far[at]), ~is_reached
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
