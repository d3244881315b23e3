"""Points near a text that are classified otherwise, found by descent: an upper bound of the safe radius.

Guarantee: every point returned lies in the box, was evaluated by the network's own graph, and there another class leads
the label by more than `theta`; its distance is that of this very point.  How it was found does not matter for that.

The descent takes the network as linear where it stands: with the margin g over a rival and its gradient a at x, the
boundary is g + <a, y - x> = 0, and the point of it that is nearest to the *text*, inside the box, has a closed form
(`halfspace`).  It goes there, or only a share of the way: the share grows while the margin falls about as foretold, and
a step after which it does not is taken back.  Starts are the text, once for each of its nearest rivals and once for
each of several open tokens, which then moves alone, random points about as far away as the boundary seems, and at last
the nearest flip of all.  Before and after that each flip is drawn towards the text as far as it stays one.  A row
without a flip is sent downhill through the whole box, from its far corner and from random points, with a look at the
corner ahead at each step.

Random starts are the same for all rows: the answer of a row does not depend on which others are beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from lexproof.bounds.backward import Check
from lexproof.bounds.ball_network import Evaluated, Movable
from lexproof.certify.deadline import TimeUp
from lexproof.safe_radius.halfspace import least_step

_ROWS = 32  # rows evaluated at once, with all of their starts
_RIVALS = 2  # classes that the text itself is sent to
_NEAREST = -1  # in place of a rival: whichever class is nearest at the time
_BEYOND, _JUST_BEYOND = 1.02, 1.001  # of the way to the boundary, which bends: at first, and near its nearest point
_WRONG = 0.5  # how much of what was foretold may fail to come true
_LONGER, _SHORTER = 1.5, 0.4  # the share of the way after a step that was right, or wrong
_SECTIONS, _ROUNDS = 6, 5  # looks between a flip and the text, then in the gap before the first flip, and so on
_FAR_STEPS = 8  # through the whole box
_PROBES = 256  # random points a row, over the number of coordinates


class Flips(NamedTuple):
    """Of each row the nearest point found that is classified otherwise; the text itself, at inf, where there is none.

    `predicted` is the class of the point.
    """

    vectors: Tensor  # (N, K, d)
    distance: Tensor  # (N,)
    predicted: Tensor  # (N,)
    found: Tensor  # (N,), bool


def nearest_flip(
    network: Movable,
    labels: Tensor,
    norm: float,
    *,
    theta: float = 0.0,
    seed: int = 0,
    steps: int = 20,
    restarts: int = 2,
    check: Check | None = None,
) -> Flips:
    """The nearest flip found of each row in the norm, by `steps` from each start, `restarts` of which are random.

    `check` is called before every evaluation; where it raises TimeUp, what is found so far is the answer.
    """
    blank = Flips(network.center[:0], network.center.new_zeros(0), labels[:0], torch.zeros(0, dtype=torch.bool))
    parts = [blank]
    for rows in torch.split(torch.arange(len(labels)), _ROWS) if len(labels) else ():
        search = _Rows.of(network, rows, labels[rows], norm, theta, check)
        try:
            _run(search, torch.Generator().manual_seed(seed), steps, restarts)
        except TimeUp:
            check = _time_is_up  # for the rows after these
        found = search.distance < math.inf
        parts.append(Flips(search.best.reshape(-1, *search.shape), search.distance, search.predicted, found))
    return Flips(*(torch.cat(columns) for columns in zip(*parts, strict=True)))


def _time_is_up() -> None:
    raise TimeUp


@dataclass(slots=True)
class _Rows:
    """N rows of D coordinates, and the nearest flip of each that any look has met.  Points are (S, N, D): S a row."""

    network: Movable
    rows: Tensor
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
    graphs: dict[int, Evaluated] = field(default_factory=dict)  # by S

    @classmethod
    def of(
        cls, network: Movable, rows: Tensor, labels: Tensor, norm: float, theta: float, check: Check | None
    ) -> _Rows:
        center, low, high = (part[rows].flatten(1) for part in (network.center, network.low, network.high))
        far = torch.full((len(rows),), math.inf, dtype=center.dtype)
        return cls(network, rows, labels, norm, theta, check, center, low, high, center, far, labels)

    @property
    def shape(self) -> torch.Size:
        """Of the vectors of a row."""
        return self.network.center.shape[1:]

    def length(self, steps: Tensor) -> Tensor:
        """The norm of each step."""
        length: Tensor = torch.linalg.vector_norm(steps, ord=self.norm, dim=-1)
        return length

    def inside(self, points: Tensor) -> Tensor:
        """The points put into the box."""
        return torch.minimum(torch.maximum(points, self.low), self.high)

    def look(self, points: Tensor) -> Tensor:
        """Which points are flips, (S, N); the nearest one of each row is kept."""
        with torch.no_grad():
            return self._keep(points, self._leads(points))

    def downhill(self, points: Tensor, rivals: Tensor) -> tuple[Tensor, Tensor]:
        """How much margin over the rivals (S, N) is left, theta included, and its gradient; flips are kept."""
        given = points.detach().clone().requires_grad_()
        with torch.enable_grad():
            leads = self._leads(given)
            nearest = leads.detach().argmax(2)
            taken = torch.where(rivals == _NEAREST, nearest, rivals)
            margin = -leads.gather(2, taken[:, :, None])[:, :, 0]
            (gradient,) = torch.autograd.grad(margin.sum(), given, allow_unused=True)
        self._keep(points, leads.detach())
        form = torch.zeros_like(points) if gradient is None else gradient.nan_to_num(0.0, 0.0, 0.0)
        return margin.detach() + self.theta, form

    def target(self, points: Tensor, margin: Tensor, form: Tensor, beyond: float) -> Tensor:
        """A little beyond the points, nearest to the texts, at which the lines through `points` foretell a flip.

        That may be outside the box: a target that was put into it could be the boundary itself, and no flip.
        """
        need = margin - (form * (points - self.center)).sum(2)
        rooms = (self.center - self.low, self.high - self.center)
        below, above = (room.expand_as(points).flatten(0, 1) for room in rooms)
        step = least_step(form.flatten(0, 1), need.flatten(), below, above, self.norm)
        return self.center + beyond * step.view_as(points)

    def _leads(self, points: Tensor) -> Tensor:
        """By how much each class leads the label, -inf for the label itself: (S, N, classes)."""
        if self.check is not None:
            self.check()
        copies = len(points)
        if copies not in self.graphs:
            self.graphs[copies] = self.network.graph(self.rows.repeat(copies))
        logits = self.graphs[copies].value(points.reshape(-1, *self.shape))
        own = self.labels.repeat(copies)[:, None]
        return (logits - logits.gather(1, own)).scatter(1, own, -math.inf).reshape(*points.shape[:2], -1)

    def _keep(self, points: Tensor, leads: Tensor) -> Tensor:
        lead, rival = leads.max(2)
        flipped = lead > self.theta
        far = torch.where(flipped, self.length(points - self.center), math.inf)
        distance, first = far.min(0)
        nearer, row = distance < self.distance, torch.arange(len(distance))
        self.best = torch.where(nearer[:, None], points[first, row], self.best)
        self.distance = torch.where(nearer, distance, self.distance)
        self.predicted = torch.where(nearer, rival[first, row], self.predicted)
        return flipped


def _run(search: _Rows, generator: torch.Generator, steps: int, restarts: int) -> None:
    rivals, reach = _nearest_rivals(search)
    _probe(search, generator)
    drawn = torch.stack([_random(search, generator) for _ in range(restarts + 2)])
    way = search.low + drawn[:restarts, None] * (search.high - search.low) - search.center
    length = search.length(way)
    share = torch.minimum(torch.minimum(reach, search.distance), length) / torch.where(length > 0, length, 1.0)
    from_text = search.center.expand(len(rivals), -1, -1)
    starts = torch.cat([from_text, search.center + share[:, :, None] * way, search.best[None]])
    free = torch.full((restarts + 1, len(search.rows)), _NEAREST)
    _descend(search, search.inside(starts), steps, torch.cat([rivals, free]), _BEYOND)
    _each_alone(search, steps)
    _through_the_box(search, drawn[restarts:])
    _draw_in(search)
    _descend(search, search.best[None], steps, torch.full((1, len(search.rows)), _NEAREST), _JUST_BEYOND)
    _draw_in(search)


def _probe(search: _Rows, generator: torch.Generator) -> None:
    """Look at random points of the box, of its corners and along few axes: what finds flips in few dimensions only."""
    kinds = max(1, _PROBES // search.center.shape[1] // 3)
    drawn = torch.stack([_random(search, generator) for _ in range(3 * kinds)])
    drawn[:kinds] = drawn[:kinds].round()
    way = search.low + drawn[:, None] * (search.high - search.low) - search.center
    sparse = torch.stack([_random(search, generator) < 1 / 3 for _ in range(kinds)])
    way[-kinds:] = way[-kinds:] * sparse[:, None]
    search.look(search.inside(search.center + way))
    _draw_in(search)


def _random(search: _Rows, generator: torch.Generator) -> Tensor:
    return torch.rand(search.center.shape[1], generator=generator, dtype=search.center.dtype)


def _nearest_rivals(search: _Rows) -> tuple[Tensor, Tensor]:
    """The classes whose boundaries seem nearest from each text, (R, N), and how far the nearest seems to be, (N,)."""
    here = search.center[None]
    search.look(here)
    classes = search.graphs[1].value(search.center.reshape(-1, *search.shape)).shape[1]
    ways = []
    for step in range(1, classes):  # the class so many after the label, in a circle
        margin, form = search.downhill(here, ((search.labels + step) % classes)[None])
        ways.append(search.length(search.target(here, margin, form, 1.0) - search.center)[0])
        ways[-1] = torch.where(form[0].any(1), ways[-1], math.inf)  # nothing changes: it is nowhere
    reach, order = torch.stack(ways).sort(dim=0, stable=True)
    return (search.labels + order[:_RIVALS] + 1) % classes, reach[0]


def _each_alone(search: _Rows, steps: int) -> None:
    """Descent in which one token moves and the others stay: a flip of one is a flip of the set."""
    tokens, width = search.shape
    if tokens == 1:
        return
    alone = torch.eye(tokens, dtype=search.center.dtype).repeat_interleave(width, 1)[:, None]
    starts = search.center.expand(tokens, -1, -1)
    _descend(search, starts, steps, torch.full(starts.shape[:2], _NEAREST), _BEYOND, alone)


def _descend(
    search: _Rows, points: Tensor, steps: int, rivals: Tensor, beyond: float, moves: Tensor | None = None
) -> None:
    """Steps to the nearest point of the boundary as it seems, as long as they do what they seem to do.

    `moves` (S, 1, D) is 1 for the coordinates that may move, all of them by default.
    """
    share = torch.ones(*points.shape[:2], 1, dtype=points.dtype)
    free = torch.ones(1, dtype=points.dtype) if moves is None else moves
    margin, form = search.downhill(points, rivals)
    form = free * form
    for _ in range(steps):
        ahead = search.inside(points + share * (search.target(points, margin, form, beyond) - points))
        foretold = (form * (ahead - points)).sum(2)
        found, next_form = search.downhill(ahead, rivals)
        next_form = free * next_form
        right = found - (margin + foretold) <= _WRONG * (margin.abs() + foretold.abs())
        points = torch.where(right[:, :, None], ahead, points)
        margin, form = torch.where(right, found, margin), torch.where(right[:, :, None], next_form, form)
        share = torch.where(right[:, :, None], (_LONGER * share).clamp(max=1.0), _SHORTER * share)


def _draw_in(search: _Rows) -> None:
    """Look for flips between each flip and its text: at some places, then in the gap before the first flip, and on."""
    text, way = search.center, search.best - search.center
    low, high = torch.zeros_like(search.distance), torch.ones_like(search.distance)
    parts = torch.arange(1, _SECTIONS + 1, dtype=low.dtype)[:, None] / (_SECTIONS + 1)
    for _ in range(_ROUNDS):
        at = low + parts * (high - low)
        flipped = search.look(search.inside(text + at[:, :, None] * way))
        marks = torch.cat([low[None], at, high[None]])
        first = torch.cat([flipped, torch.ones_like(flipped[:1])]).int().argmax(0)  # of the marks from `at` on
        row = torch.arange(len(low))
        low, high = marks[first, row], marks[first + 1, row]


def _through_the_box(search: _Rows, drawn: Tensor) -> None:
    """Descent of rows without a flip, by shrinking steps along the signs of the gradient."""
    at = (search.distance == math.inf).nonzero()[:, 0]
    if not len(at):
        return
    rest = _Rows.of(search.network, search.rows[at], search.labels[at], search.norm, search.theta, search.check)
    width, middle = rest.high - rest.low, (rest.high + rest.low) / 2
    corner = torch.where(rest.center > middle, rest.low, rest.high)
    points = torch.cat([corner[None], rest.low + drawn[:, None] * width])
    rivals = torch.full(points.shape[:2], _NEAREST)
    for step in range(_FAR_STEPS):
        _, form = rest.downhill(points, rivals)
        rest.look(torch.where(form > 0, rest.low, torch.where(form < 0, rest.high, points)))
        points = rest.inside(points - form.sign() * width * (0.5 - 0.5 * step / _FAR_STEPS))
    search.best, search.distance, search.predicted = (
        old.index_copy(0, at, new)
        for old, new in (
            (search.best, rest.best),
            (search.distance, rest.distance),
            (search.predicted, rest.predicted),
        )
    )
