"""Monte Carlo tree search over sets of words: a vertex is a set of positions that are swapped, a child has one more.

    select    the leaf v with the largest  Q(v) / N(v) + alpha sqrt(2 ln N(parent) / N(v))
    expand    one child for every word that v does not swap
    simulate  `sims` texts of each child, all words of its set swapped at random: Q = the largest gain of progress
    back up   N of v and of all its ancestors grows by one

A substitute u of word w with substitutes U is drawn with the weight  (1 - d(w, u) / sum_U d) / (|U| - 1):  the nearer
the likelier.  All successes count, not only the first: the claim is the one with the fewest swaps, of those the one
with the smallest sum of distances; swaps that it does not need are put back.

The exploitation term: Q is a maximum, and a maximum must not be divided by the number of simulations it was taken over,
or it vanishes.  N counts visits, of which a leaf has had one, so Q(v) / N(v) is the largest gain itself.

Reference: La Malfa, Wu, Laurenti, Wang, Hartshorn, Kwiatkowska 2020, Assessing Robustness of Text Classification
through Maximal Safe Radius Computation, section 2.2 and appendix A.1.
Deviations: a set reached in two orders is one vertex; a vertex with at most `sims` texts has each of them scored once;
once a success is known, only vertices that can lead to fewer swaps or a nearer text are expanded; it ends after `steps`
expansions.  Filtering by part of speech belongs to the candidates (`SamePartOfSpeech`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lexproof.attacks.base import Hunt, first_accepted, put_back
from lexproof.errors import InputError
from lexproof.goal import Goal
from lexproof.points import FloatArray, IntArray, Swaps
from lexproof.search import Seed
from lexproof.space import Space

Distance = Callable[[str, str], float]
"""How far a substitute is from a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mcts:
    """At most `steps` expansions with `sims` simulations of each child; a larger `alpha` explores more.

    `distance`: between a word and its substitute; by default the substitute's place in candidate order, 1, 2, …
    """

    sims: int = 25
    steps: int = 25
    alpha: float = 0.5
    distance: Distance | None = None
    needs_gradients: ClassVar[bool] = False
    needs_scores: ClassVar[bool] = True
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {"sims": 1000}}

    def __post_init__(self) -> None:
        if self.sims < 1 or self.steps < 1:
            raise InputError(f"expected sims >= 1 and steps >= 1, got {self.sims} and {self.steps}")
        if not 0 <= self.alpha < np.inf:
            raise InputError(f"expected alpha >= 0 and finite, got {self.alpha}")

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """One request a step; the claim needs each of its swaps."""
        if not space.max_swaps:
            return None
        rng = seed.generator()
        distances = measure(space, self.distance)
        ladder = ladders(distances, space.sizes)
        start = goal.progress((yield space.origin[None]))[0]
        tree = _Tree(space.open)
        nearest: tuple[int, float, IntArray] | None = None
        for _ in range(self.steps):
            new = tree.expand(self.alpha, space.max_swaps if nearest is None else nearest[0])
            if not len(new):
                break
            request, owner = simulate(rng, ladder, space.sizes, tree.sets[tree.expanded], new, self.sims)
            scores = yield request
            best = np.maximum.reduceat(goal.progress(scores), np.searchsorted(owner, np.arange(len(new))))
            tree.add(new, best - start)
            nearest = _nearer(space, distances, request[goal.reached(scores)].dense(), nearest)
        return None if nearest is None else (yield from put_back(space, goal, nearest[2]))


@dataclass(slots=True)
class _Tree:
    """The vertices with their sets, parents, visits and gains; leaves wait to be expanded."""

    open: NDArray[np.int64]
    sets: list[tuple[int, ...]] = field(default_factory=lambda: [()])
    parent: list[int] = field(default_factory=lambda: [0])
    visits: list[int] = field(default_factory=lambda: [1])
    gain: list[float] = field(default_factory=lambda: [0.0])
    leaves: list[int] = field(default_factory=lambda: [0])
    known: set[tuple[int, ...]] = field(default_factory=set)
    expanded: int = 0

    def expand(self, alpha: float, depth: int) -> NDArray[np.int64]:
        """The words that the most urgent leaf with fewer than `depth` of them leads to; none if no leaf is left."""
        while True:
            leaves = [leaf for leaf in self.leaves if len(self.sets[leaf]) < depth]
            if not leaves:
                return np.empty(0, np.int64)
            # a leaf was visited once: when it was simulated
            parents = np.array([self.visits[self.parent[leaf]] for leaf in leaves])
            urgency = np.array([self.gain[leaf] for leaf in leaves]) + alpha * np.sqrt(2 * np.log(parents))
            self.expanded = leaves[int(urgency.argmax())]
            self.leaves.remove(self.expanded)
            old = self.sets[self.expanded]
            new = [i for i in self.open.tolist() if i not in old and self._grown(i) not in self.known]
            if new:
                return np.array(new)

    def add(self, new: NDArray[np.int64], gains: FloatArray) -> None:
        """Hang the sets with one of these words more below the vertex expanded, and count the visit up to the root."""
        first, sets = len(self.sets), list(map(self._grown, new.tolist()))
        self.known.update(sets)
        self.leaves += range(first, first + len(sets))
        self.sets += sets
        self.gain += gains.tolist()
        self.visits += [1] * len(sets)
        self.parent += [self.expanded] * len(sets)
        vertex = self.expanded
        self.visits[vertex] += 1
        while vertex:
            vertex = self.parent[vertex]
            self.visits[vertex] += 1

    def _grown(self, position: int) -> tuple[int, ...]:
        return tuple(sorted((*self.sets[self.expanded], position)))


def measure(space: Space, distance: Distance | None) -> FloatArray:
    """Distances of all substitutes, (n, most substitutes), 0 where there is none."""
    widest = int(space.sizes.max(initial=0))
    exists = np.arange(widest) < space.sizes[:, None]
    if distance is None:
        return np.where(exists, np.arange(1.0, widest + 1), 0.0)
    found = np.zeros((space.n, widest))
    for i in space.open.tolist():
        word = space.original.words[i]
        found[i, : space.sizes[i]] = [distance(word, option) for option in space.choices[i]]
    wrong = found[~((found >= 0) & np.isfinite(found))]
    if len(wrong):
        raise InputError(f"expected finite distances >= 0, got {wrong[0]}")
    return found


def pickup(distances: FloatArray, sizes: NDArray[np.int64]) -> FloatArray:
    """The probability of each substitute of each word: the nearer the likelier, in a row that sums to 1."""
    exists = np.arange(distances.shape[1]) < sizes[:, None]
    total = distances.sum(axis=1, keepdims=True)
    share = np.divide(distances, total, out=exists / np.maximum(sizes[:, None], 1), where=total > 0)
    weights = np.where(sizes[:, None] > 1, (1 - share) / np.maximum(sizes[:, None] - 1, 1), 1.0)
    return np.where(exists, weights, 0.0)


def ladders(distances: FloatArray, sizes: NDArray[np.int64]) -> FloatArray:
    """Cumulative pickup probabilities of each word; from the last rung on they are infinite, whatever the rounding."""
    rungs = np.cumsum(pickup(distances, sizes), axis=1)
    rungs[np.arange(distances.shape[1]) >= sizes[:, None] - 1] = np.inf
    return rungs


def simulate(
    rng: np.random.Generator,
    ladder: FloatArray,
    sizes: NDArray[np.int64],
    old: tuple[int, ...],
    new: NDArray[np.int64],
    sims: int,
) -> tuple[Swaps, NDArray[np.int64]]:
    """Texts with all words of `old` and one of `new` swapped, and the place in `new` of that one.

    All texts of a set that has at most `sims`, otherwise as many draws; draws of different sets share the words of
    `old`, which makes the sets easier to compare and lets a victim evaluate only the last swap.
    """
    texts = np.prod(sizes[list(old)], dtype=np.float64) * sizes[new]
    whole = texts <= sims
    draws = 0 if whole.all() else sims
    chances = rng.random((draws, len(old)))
    steps = [np.searchsorted(ladder[i], own, side="right") for i, own in zip(old, chances.T, strict=True)]
    drawn = 1 + np.array(steps, np.int64).reshape(len(old), draws).T
    listed = list(product(*(range(1, sizes[i] + 1) for i in old))) if whole.any() else []
    bases = np.zeros((draws + len(listed), len(sizes)), np.int32)
    bases[:, list(old)] = np.concatenate([drawn, np.array(listed).reshape(len(listed), len(old))])
    counts = np.where(whole, texts, sims).astype(np.int64)
    owner = np.repeat(np.arange(len(new)), counts)
    number = np.arange(len(owner)) - (np.cumsum(counts) - counts)[owner]
    position, size = new[owner], sizes[new[owner]]
    draws_of = np.split(rng.random(len(owner)), np.cumsum(counts)[:-1])
    last = np.concatenate([np.searchsorted(ladder[i], own, side="right") for i, own in zip(new, draws_of, strict=True)])
    choices = 1 + np.where(whole[owner], number % size, last)
    rows = np.where(whole[owner], draws + number // size, number)
    return Swaps(bases, rows.astype(np.int32), position.astype(np.int32), choices.astype(np.int32)), owner


def _nearer(
    space: Space, distances: FloatArray, flips: IntArray, known: tuple[int, float, IntArray] | None
) -> tuple[int, float, IntArray] | None:
    """The success with the fewest swaps, then the least distance, of these and the one known."""
    swaps = np.count_nonzero(flips, axis=1)
    padded = np.pad(distances, ((0, 0), (1, 0)))  # the word itself is at distance 0
    far = padded[np.arange(space.n), flips].sum(axis=1)
    order = np.lexsort((far, swaps))
    if known is not None:
        order = order[(swaps[order] < known[0]) | ((swaps[order] == known[0]) & (far[order] < known[1]))]
    row = first_accepted(space, flips, order)
    return known if row is None else (int(swaps[row]), float(far[row]), flips[row])
