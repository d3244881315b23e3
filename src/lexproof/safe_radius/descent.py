"""Points near a text that are classified otherwise, found by descent: an upper bound of the safe radius.

Guarantee: every point returned lies in the box, was evaluated by the network's own graph, and there another class leads
the label by more than `theta`; its distance is that of this very point.  How it was found does not matter for that.

The descent takes the network as linear where it stands: with the margin g over a rival and its gradient a at x, the
boundary is g + <a, y - x> = 0, and the point of it that is nearest to the *text*, inside the box, has a closed form
(`halfspace`).  It goes there, or only a share of the way: the share grows while the margin falls about as foretold, and
a step after which it does not is taken back.  Starts are the text, once for each of its nearest rivals, random points
no farther away than what is known, and the nearest flip itself.  In between each flip is drawn towards the text as far
as it stays one.  A row without a flip is sent downhill through the whole box, from its far corner and random points,
with a look at the corner ahead after each step.

Random starts are the same for all rows: the answer of a row does not depend on which others are beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from lexproof.bounds.backward import Check
from lexproof.bounds.ball_network import BallNetwork
from lexproof.bounds.graph import Graph
from lexproof.certify.deadline import TimeUp
from lexproof.safe_radius.halfspace import least_step

_ROWS = 64  # rows evaluated at once
_RIVALS = 2  # classes that the text itself is sent to, one by one
_BEYOND = 1.02  # of the way to the boundary: it bends
_WRONG = 0.5  # how much of what was foretold may fail to come true
_LONGER, _SHORTER = 1.5, 0.4  # the share of the way after a step that was right, or wrong
_GRID, _HALVINGS = 8, 12  # looks on the way to the text, and halvings of the gap they leave
_FAR_STARTS, _FAR_STEPS = 3, 8  # through the whole box


class Flips(NamedTuple):
    """Of each row the nearest point found that is classified otherwise; the text itself, at inf, where there is none.

    `predicted` is the class of the point.
    """

    vectors: Tensor  # (N, K, d)
    distance: Tensor  # (N,)
    predicted: Tensor  # (N,)
    found: Tensor  # (N,), bool


def nearest_flip(
    network: BallNetwork,
    labels: Tensor,
    norm: float,
    *,
    theta: float = 0.0,
    seed: int = 0,
    steps: int = 20,
    restarts: int = 1,
    check: Check | None = None,
) -> Flips:
    """The nearest flip found of each row in the norm, by `steps` from each start, `restarts` of which are random.

    `check` is called before every evaluation; where it raises TimeUp, what is found so far is the answer.
    """
    blank = Flips(network.center[:0], network.center.new_zeros(0), labels[:0], torch.zeros(0, dtype=torch.bool))
    parts = [blank]
    for rows in torch.split(torch.arange(len(labels)), _ROWS):
        search = _Rows.of(network, rows, labels[rows], norm, theta, check)
        try:
            _run(search, torch.Generator().manual_seed(seed), steps, restarts)
        except TimeUp:
            check = _none_left
        found = search.distance < math.inf
        parts.append(Flips(search.best.unflatten(1, search.shape), search.distance, search.predicted, found))
    return Flips(*(torch.cat(columns) for columns in zip(*parts, strict=True)))


def _none_left() -> None:
    raise TimeUp


@dataclass(slots=True)
class _Rows:
    """Rows side by side, D coordinates each, and the nearest flip of each that any look has met."""

    network: BallNetwork
    rows: Tensor
    graph: Graph
    labels: Tensor
    norm: float
    theta: float
    check: Check | None
    center: Tensor
    low: Tensor
    high: Tensor
    best: Tensor
    distance: Tensor
    predicted: Tensor

    @classmethod
    def of(
        cls, network: BallNetwork, rows: Tensor, labels: Tensor, norm: float, theta: float, check: Check | None
    ) -> _Rows:
        center, low, high = (part[rows].flatten(1) for part in (network.center, network.low, network.high))
        far = torch.full((len(rows),), math.inf, dtype=center.dtype)
        graph = network.graph(rows)
        return cls(network, rows, graph, labels, norm, theta, check, center, low, high, center, far, labels)

    @property
    def shape(self) -> torch.Size:
        """Of the vectors of a row."""
        return self.network.center.shape[1:]

    def length(self, step: Tensor) -> Tensor:
        """The norm of each row."""
        return torch.linalg.vector_norm(step, ord=self.norm, dim=1)

    def inside(self, points: Tensor) -> Tensor:
        """The points put into the box."""
        return torch.minimum(torch.maximum(points, self.low), self.high)

    def flipped(self, points: Tensor) -> Tensor:
        """Which points are flips; the nearest one of each row is kept."""
        with torch.no_grad():
            return self._keep(points, self._logits(points))

    def downhill(self, points: Tensor, rivals: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """How much margin over the rivals (by default the nearest) is left, and its gradient; flips are kept."""
        given = points.detach().clone().requires_grad_()
        with torch.enable_grad():
            logits = self._logits(given)
            leads = _leads(logits, self.labels)
            taken = leads.detach().argmax(1) if rivals is None else rivals
            margin = -leads.gather(1, taken[:, None])[:, 0]
            (gradient,) = torch.autograd.grad(margin.sum(), given, allow_unused=True)
        self._keep(points, logits.detach())
        form = torch.zeros_like(points) if gradient is None else gradient.nan_to_num(0.0, 0.0, 0.0)
        return margin.detach() + self.theta, form

    def nearest_on(self, points: Tensor, margin: Tensor, form: Tensor) -> Tensor:
        """The points of the box, nearest to the texts, at which the lines through `points` foretell a flip."""
        need = margin - (form * (points - self.center)).sum(1)
        return self.center + least_step(
            form, _BEYOND * need, self.center - self.low, self.high - self.center, self.norm
        )

    def without_flip(self) -> tuple[Tensor, _Rows]:
        """The rows of which no flip is known, and a search among them alone."""
        at = (self.distance == math.inf).nonzero()[:, 0]
        return at, _Rows.of(self.network, self.rows[at], self.labels[at], self.norm, self.theta, self.check)

    def take(self, at: Tensor, other: _Rows) -> None:
        """Keep what a search among the rows `at` has found."""
        self.best, self.distance, self.predicted = (
            old.index_copy(0, at, new)
            for old, new in (
                (self.best, other.best),
                (self.distance, other.distance),
                (self.predicted, other.predicted),
            )
        )

    def _logits(self, points: Tensor) -> Tensor:
        if self.check is not None:
            self.check()
        return self.graph.value(points.unflatten(1, self.shape))

    def _keep(self, points: Tensor, logits: Tensor) -> Tensor:
        flipped = _leads(logits, self.labels).amax(1) > self.theta
        distance = self.length(points - self.center)
        nearer = flipped & (distance < self.distance)
        self.best = torch.where(nearer[:, None], points, self.best)
        self.distance = torch.where(nearer, distance, self.distance)
        self.predicted = torch.where(nearer, logits.argmax(1), self.predicted)
        return flipped


def _leads(logits: Tensor, labels: Tensor) -> Tensor:
    """By how much each class leads the label, -inf for the label itself: (N, classes)."""
    own = labels[:, None]
    return (logits - logits.gather(1, own)).scatter(1, own, -math.inf)


def _run(search: _Rows, generator: torch.Generator, steps: int, restarts: int) -> None:
    for rivals in _nearest_rivals(search):
        _descend(search, search.center, steps, rivals)
    _through_the_box(search, generator)
    _draw_in(search)
    for _ in range(restarts):
        point = search.inside(search.low + _random(search, generator) * (search.high - search.low))
        way = point - search.center
        reach = search.length(way)
        share = torch.minimum(search.distance, reach) / torch.where(reach > 0, reach, 1.0)
        _descend(search, search.inside(search.center + share[:, None] * way), steps)
        _draw_in(search)
    _descend(search, search.best, steps)
    _draw_in(search)


def _random(search: _Rows, generator: torch.Generator) -> Tensor:
    return torch.rand(search.center.shape[1], generator=generator, dtype=search.center.dtype)


def _nearest_rivals(search: _Rows) -> Iterator[Tensor]:
    """The classes (N,) whose boundaries seem nearest from the texts, the nearest first."""
    classes = search.graph.value(search.center.unflatten(1, search.shape)).shape[1]
    ways = []
    for step in range(1, classes):  # the class so many after the label, in a circle
        margin, form = search.downhill(search.center, (search.labels + step) % classes)
        steepest = torch.linalg.vector_norm(form, ord=_dual(search.norm), dim=1)
        ways.append(margin.clamp(min=0) / steepest)  # nan or inf, which is last, where nothing changes
    order = torch.stack(ways, 1).argsort(dim=1, stable=True) + 1
    for steps in order.unbind(1)[:_RIVALS]:
        yield (search.labels + steps) % classes


def _dual(norm: float) -> float:
    return {1.0: math.inf, 2.0: 2.0, math.inf: 1.0}[norm]


def _descend(search: _Rows, points: Tensor, steps: int, rivals: Tensor | None = None) -> None:
    """Steps to the nearest point of the boundary as it seems, as long as they do what they seem to do."""
    share = torch.ones(len(points), 1, dtype=points.dtype)
    margin, form = search.downhill(points, rivals)
    for _ in range(steps):
        ahead = points + share * (search.nearest_on(points, margin, form) - points)
        ahead = search.inside(ahead)
        foretold = (form * (ahead - points)).sum(1)
        found, next_form = search.downhill(ahead, rivals)
        worse = found - (margin + foretold)
        right = worse <= _WRONG * (margin.abs() + foretold.abs())
        points = torch.where(right[:, None], ahead, points)
        margin, form = torch.where(right, found, margin), torch.where(right[:, None], next_form, form)
        share = torch.where(right[:, None], (_LONGER * share).clamp(max=1.0), _SHORTER * share)


def _draw_in(search: _Rows) -> None:
    """Look for flips on the way from each flip to the text: the first of a grid, then by halving the gap before it."""
    start, far = search.center, search.best
    known, below = torch.ones_like(search.distance), torch.zeros_like(search.distance)
    for k in range(_GRID - 1, 0, -1):
        at = torch.full_like(known, k / _GRID)
        flipped = search.flipped(start + at[:, None] * (far - start))
        known = torch.where(flipped, at, known)
    below = known - 1 / _GRID
    for _ in range(_HALVINGS):
        at = (known + below) / 2
        flipped = search.flipped(start + at[:, None] * (far - start))
        known, below = torch.where(flipped, at, known), torch.where(flipped, below, at)


def _through_the_box(search: _Rows, generator: torch.Generator) -> None:
    """Descent of rows without a flip, by shrinking steps along the signs of the gradient."""
    at, rest = search.without_flip()
    width, middle = rest.high - rest.low, (rest.high + rest.low) / 2
    starts = [torch.where(rest.center > middle, rest.low, rest.high)]
    starts += [rest.low + _random(rest, generator) * width for _ in range(_FAR_STARTS - 1)]
    for points in starts if len(at) else ():
        for step in range(_FAR_STEPS):
            _, form = rest.downhill(points)
            rest.flipped(torch.where(form > 0, rest.low, torch.where(form < 0, rest.high, points)))
            points = rest.inside(points - form.sign() * width * (0.5 - 0.5 * step / _FAR_STEPS))
    search.take(at, rest)
