"""The largest radius that the bounds certify, for every row of a network at once.

Guarantee: for each row, every point of the ball of the radius returned (and of the box) keeps the label by a margin of
logits above `theta`: the bound was evaluated at this very radius.  How the search gets there does not matter for that.

The search: the bound of the least margin falls as the radius grows, the faster the larger it is, from the margin of the
text itself.  The first radius is a share of that at which the gradient says that the margin is used up.  From then on
the parabola through the margin of the text and those at the largest radius that is proven and the smallest that is not
says where the bound is used up; the next radius lies half a tolerance before that, so that it is likely proven, or
after it, so that it closes the bracket.  All rows go side by side; one leaves when its two ends agree to the tolerance.
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
_FIRST = 0.7  # of the radius at which the gradient says that the margin is used up: bounds lose ground on it
_GROWTH = 2.0  # of a radius that was proven, while none is known that is not
_MOST = 40  # evaluations of a row


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
        ends = _Ends(margin, torch.zeros_like(margin), margin.clone(), torch.full_like(margin, math.inf), -margin)
        next_ = torch.where(slope > 0, _FIRST * margin / torch.where(slope > 0, slope, 1.0), far).clamp(max=far)
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
            holds = (found > self.theta) & (found < math.inf)
            ends.learn(at, radius, found - self.theta, holds)
            whole = holds & (radius >= far[at])
            ends.proven[at[whole]] = math.inf
            next_[at] = ends.next(at, self.tolerance).minimum(far[at])
            active[at] = ~whole & (ends.proven[at] < (1 - self.tolerance) * ends.open[at])
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
    """The two ends of each row's bracket, and what the bound leaves of the margin there."""

    margin: Tensor  # of the text itself
    proven: Tensor
    above: Tensor  # what is left at `proven`
    open: Tensor  # not proven
    below: Tensor

    def learn(self, at: Tensor, radius: Tensor, left: Tensor, holds: Tensor) -> None:
        """Move the end that the bound at a radius speaks about."""
        self.proven[at], self.above[at] = (
            torch.where(holds, new, old[at]) for new, old in ((radius, self.proven), (left, self.above))
        )
        # bounds that blow up must not drown the other end: a point as deep below as the text is above says enough
        deep = torch.maximum(left.nan_to_num(-math.inf), -self.margin[at])
        self.open[at], self.below[at] = (
            torch.where(holds, old[at], new) for new, old in ((radius, self.open), (deep, self.below))
        )

    def next(self, at: Tensor, tolerance: float) -> Tensor:
        """The radius to try: beyond what is proven while nothing else is known, else between the two ends."""
        proven, open_ = self.proven[at], self.open[at]
        root = _root(self.margin[at], proven, self.above[at], open_, self.below[at])
        before, after = root * (1 - tolerance / 2), root * (1 + tolerance / 2)
        width = open_ - proven
        tried = torch.where(before > proven, before, after)
        inside = torch.minimum(torch.maximum(tried, proven + width / 20), open_ - width / 20)
        return torch.where(open_.isinf(), proven * _GROWTH, inside)


def _root(margin: Tensor, proven: Tensor, above: Tensor, open_: Tensor, below: Tensor) -> Tensor:
    """Where the parabola through (0, margin), (proven, above), (open, below) is 0; the chord's root if it has none."""
    chord = proven + (open_ - proven) * above / (above - below)
    first, second = (above - margin) / proven, (below - margin) / open_
    bend = (second - first) / (open_ - proven)
    slope = first - bend * proven
    inside = slope.square() - 4 * bend * margin
    root = 2 * margin / (inside.clamp(min=0).sqrt() - slope)
    fits = (inside >= 0) & (root > proven) & (root < open_)
    return torch.where(fits, root, chord)
