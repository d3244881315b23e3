"""Decision: find a flip from predicted labels alone, then do with ever fewer swaps.

1. *Draw* random texts with any number of swaps.  A flip within the limit goes to step 4.
2. *Vote*.  Another fooled text (with too many swaps, or else with words deleted: probes, never claimed) is mixed with
   the original word by word, in random order; by bisection two texts are found that differ in one word, of which one
   is fooled and the other is not.  Here a single word decides, so a label says what a gradient would: of q with word i
   set to substitute c, the votes of the swap (i, c) are

       votes(i, c) += fooled(q with i = c) - fooled(q with i original)         for both q of the pair.

3. *Propose* texts of the swaps with the most votes.  No flip: back to 1, the votes are kept.
4. *Reduce*: put back swaps while the text stays fooled, half of them at once, then a quarter, … then singly.
5. *Trade*: for every two swaps of the flip, all ways to put both back and make one other; a flip goes to step 4.

Guarantee: unless `queries` ran out, no swap of the claim can be put back, and no two of them traded for one.

References: Maheshwary, Maheshwary, Pudi 2021, Generating Natural Language Attacks in a Hard Label Black Box Setting;
Ye et al. 2022, TextHoaxer.  Both start from many random swaps and put them back, as here, and then make the text more
similar to the original, by a genetic search or a gradient estimated in the space of word vectors.  Here the space
already says which texts are similar enough, the fewest swaps are sought, and votes take the place of word vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lexproof.attacks.base import Hunt, first_accepted
from lexproof.errors import InputError
from lexproof.goal import Goal
from lexproof.points import DELETED, BoolArray, FloatArray, IntArray, Points, Swaps, dense
from lexproof.search import Search, Seed
from lexproof.space import Space

_CELLS = 1 << 20  # trades looked at to choose from, where there are more than may be asked
_LEAST_CUT = 0.3  # least share of words that is deleted where swaps alone do not fool


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Search by labels; no new round is begun once `queries` texts were asked.

    `draws`: random texts, and texts proposed by votes, at a time.  `probes`: swaps that are voted on at a time.
    """

    queries: int = 2000
    draws: int = 64
    probes: int = 200
    needs_gradients: ClassVar[bool] = False
    needs_scores: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name, value in (("queries", self.queries), ("draws", self.draws), ("probes", self.probes)):
            if value < 1:
                raise InputError(f"expected {name} >= 1, got {value}")

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """The flip with the fewest swaps that the rounds lead to."""
        if not space.max_swaps:
            return None
        labels = _Labels(space, goal, seed.generator())
        point = None
        while point is None and labels.asked < self.queries:
            point = yield from self._round(labels)
        while point is not None:
            best = yield from labels.reduced(point)
            point = yield from labels.traded(best, self.queries - labels.asked)
            if point is None:
                return best
        return None

    def _round(self, labels: _Labels) -> Hunt:
        """Draw, vote and propose: a flip of the space, or None."""
        drawn = labels.draw(self.draws)
        fooled = yield from labels.ask(drawn)
        flip = labels.first(drawn, fooled)
        if flip is not None:
            return flip
        if not fooled.any():
            drawn = labels.cut(drawn)
            fooled = yield from labels.ask(drawn)
        if fooled.any():
            pair = yield from labels.border(drawn[fooled.argmax()])
            yield from labels.vote(pair, self.probes)
        proposed = labels.proposals(self.draws)
        return labels.first(proposed, (yield from labels.ask(proposed)))


@dataclass(slots=True)
class _Labels:
    """What is known of one text from labels."""

    space: Space
    goal: Goal
    rng: np.random.Generator
    singles: Swaps = field(init=False)
    votes: FloatArray = field(init=False)  # of each of the singles
    asked: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.singles = self.space.singles()
        self.votes = np.zeros(len(self.singles))

    def ask(self, points: Points) -> Search[BoolArray]:
        """Which of these points are fooled."""
        self.asked += len(points)
        return self.goal.reached((yield points))

    def first(self, points: Points, fooled: BoolArray) -> IntArray | None:
        """Of the fooled points one of the space, with the fewest swaps."""
        rows = fooled.nonzero()[0]
        swaps = np.count_nonzero(dense(points[rows]), axis=1)
        order = np.argsort(swaps, kind="stable")
        row = first_accepted(self.space, points, rows[order[swaps[order] <= self.space.max_swaps]])
        return None if row is None else dense(points[row : row + 1])[0]

    def draw(self, count: int) -> IntArray:
        """Random points with 1 to all words swapped, each number as likely."""
        at = self.space.open
        rank = self.rng.random((count, len(at))).argsort(axis=1)
        chosen = self.rng.integers(1, self.space.sizes[at] + 1, (count, len(at)))
        points = np.zeros((count, self.space.n), np.int32)
        points[:, at] = np.where(rank < self.rng.integers(1, len(at) + 1, (count, 1)), chosen, 0)
        return points

    def cut(self, points: IntArray) -> IntArray:
        """The points with random words deleted, from some to nearly all: near the border, however sure the victim."""
        share = self.rng.uniform(_LEAST_CUT, 1.0, (len(points), 1))
        return np.where(self.rng.random(points.shape) < share, np.int32(DELETED), points)

    def border(self, start: IntArray) -> Search[IntArray]:
        """Two points between the original, which is not fooled, and a start that is; they differ in one word."""
        order = self.rng.permutation(start.nonzero()[0])
        low, high = 0, len(order)
        while high - low > 1:
            middle = (low + high) // 2
            fooled = yield from self.ask(_mixed(start, order[:middle])[None])
            low, high = (low, middle) if fooled[0] else (middle, high)
        return np.stack([_mixed(start, order[:low]), _mixed(start, order[:high])])

    def vote(self, bases: IntArray, count: int) -> Search[None]:
        """Try random single swaps on these bases, each against the original word."""
        picked = np.sort(self.rng.permutation(len(self.singles))[:count])
        positions = self.singles.positions[picked]
        words, owner = np.unique(positions, return_inverse=True)
        tried = np.concatenate([positions, words])
        choices = np.concatenate([self.singles.choices[picked], np.zeros_like(words)])
        rows = np.repeat(np.arange(len(bases), dtype=np.int32), len(tried))
        fooled = yield from self.ask(Swaps(bases, rows, np.tile(tried, len(bases)), np.tile(choices, len(bases))))
        votes = fooled.reshape(len(bases), -1).sum(axis=0)
        self.votes[picked] += votes[: len(picked)] - votes[len(picked) :][owner]

    def proposals(self, count: int) -> IntArray:
        """Points with as many swaps as are allowed, those with the most votes; half of them less strictly so."""
        space, counts = self.space, self.space.sizes[self.space.open]
        doubt = np.where(np.arange(count) % 2, 2.0, 1.0)[:, None]  # less than 1 decides among equals only
        keys = self.votes + doubt * self.rng.random((count, len(self.votes)))
        best = np.maximum.reduceat(keys, np.cumsum(counts) - counts, axis=1)  # of each open word
        least = np.maximum(-np.sort(-best, axis=1)[:, [space.max_swaps - 1]], 0.0)
        rows, chosen = np.nonzero(keys == np.repeat(np.where(best >= least, best, np.inf), counts, axis=1))
        points = np.zeros((count, space.n), np.int32)
        points[rows, self.singles.positions[chosen]] = self.singles.choices[chosen]
        return points

    def reduced(self, point: IntArray) -> Search[IntArray]:
        """The flip without swaps that it does not need: blocks of them put back, then smaller blocks."""
        swapped = self.rng.permutation(point.nonzero()[0])
        blocks = 2
        while len(swapped) > 1:
            blocks = min(blocks, len(swapped))
            parts = np.array_split(swapped, blocks)
            points = np.stack([_mixed(point, np.setdiff1d(swapped, part)) for part in parts])
            fewer = self.first(points, (yield from self.ask(points)))
            if fewer is not None:
                point, swapped = fewer, swapped[fewer[swapped] != 0]
                blocks = max(2, blocks - 1)
            elif blocks == len(swapped):
                break
            else:
                blocks *= 2
        return point

    def traded(self, point: IntArray, room: int) -> Hunt:
        """A flip with one other swap in place of two, or None; of more than `room` trades the most voted for."""
        swapped = point.nonzero()[0]
        first, second = self._pairs(swapped, room)
        bases = np.repeat(point[None], len(first), axis=0)
        bases[np.arange(len(first)), swapped[first]] = 0
        bases[np.arange(len(first)), swapped[second]] = 0
        rows, columns = np.nonzero(bases[:, self.singles.positions] == 0)
        if len(rows) > room:
            order = np.argsort(-self.votes[columns] - self.rng.random(len(rows)), kind="stable")[: max(room, 0)]
            rows, columns = rows[order], columns[order]
        trades = Swaps(bases, rows.astype(np.int32), self.singles.positions[columns], self.singles.choices[columns])
        return self.first(trades, (yield from self.ask(trades)))

    def _pairs(self, swapped: NDArray[np.int64], room: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Every two of the swaps, as places; if their trades are more than `room` and would fill the memory, some."""
        first, second = np.triu_indices(len(swapped), 1)
        here = int(self.space.sizes[swapped].sum())  # singles at a swapped word fit only pairs with that word
        trades = len(first) * (len(self.singles) - here) + (len(swapped) - 1) * here
        most = max(1, max(_CELLS, room) // len(self.singles))
        if trades <= room or len(first) <= most:
            return first, second
        some = np.sort(self.rng.permutation(len(first))[:most])
        return first[some], second[some]


def _mixed(point: IntArray, positions: IntArray) -> IntArray:
    """The original text with these words as in a point."""
    mixed = np.zeros_like(point)
    mixed[positions] = point[positions]
    return mixed
