"""SemPSO: a swarm of texts, each drawn word by word to the best text it has been and to the best of all.

With T iterations, t = 0, 1, …; x a text, l the best it has been, g the best of all, V = `speed`:

    inertia     w   = 0.2 + 0.6 (T - t) / T
    velocity    v_i = w v_i + (1 - w) (I(x_i, l_i) + I(x_i, g_i))     I(a, b) = -V if a = b, else V
    move to l   with probability 0.8 - 0.6 t / T, then to g with probability 0.2 + 0.6 t / T;
                in a move, word i becomes that of l (or g) with probability 1 / (1 + exp(-v_i))
    mutate      with probability max(0, 1 - 2 swaps / n)              (see `population`)

The swarm starts as mutations of the text itself, with one velocity a text drawn from [-V, V].  An iteration is one
request: which texts mutate does not depend on the scores of the move.  The first request with a flip ends the search.

Reference: Zang, Qi, Yang, Liu, Zhang, Liu, Sun 2020, Word-level Textual Adversarial Attacking as Combinatorial
Optimization.  The paper bounds velocities by V = 3, its released code does not (variant `code`); there, and in common
reimplementations, the word to mutate is for long texts drawn by the gain of its best substitute (`pick="gain"`).
Deviations: the paper rejects texts with too many swaps at the end; here a move over the limit loses random swaps, so
that no query is spent on a text outside the space.  Sememes belong to the candidates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from lexproof.attacks.base import Hunt
from lexproof.attacks.population import Brood, keep_to, mutate
from lexproof.errors import InputError
from lexproof.goal import Goal
from lexproof.points import BoolArray, FloatArray, IntArray
from lexproof.search import Seed
from lexproof.space import Space

_MOST_CANDIDATES = 10  # a word with more substitutes is not picked more often
_FASTEST = 1e6  # beyond a few dozen a word moves for certain or never
_HIGH, _LOW = 0.8, 0.2  # inertia and the pull of a text's own best fall from one to the other; the pull of all rises


@dataclass(frozen=True, slots=True, kw_only=True)
class SemPso:
    """A swarm of `population` texts over `iterations`; `speed` is the largest velocity, `clip` whether it is kept to.

    `pick`: the word to mutate, in proportion to its `substitutes` or to the `gain` of the best of them.
    """

    population: int = 60
    iterations: int = 20
    speed: float = 3.0
    clip: bool = True
    pick: Literal["substitutes", "gain"] = "substitutes"
    needs_gradients: ClassVar[bool] = False
    needs_scores: ClassVar[bool] = True
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},
        "code": {"clip": False},
        "benchmark": {"clip": False, "pick": "gain"},
    }

    def __post_init__(self) -> None:
        if self.population < 1 or self.iterations < 0:
            raise InputError(
                f"expected population >= 1 and iterations >= 0, got {self.population} and {self.iterations}"
            )
        if not 0 < self.speed <= _FASTEST:
            raise InputError(f"expected speed > 0 and at most {_FASTEST:g}, got {self.speed}")
        if self.pick not in ("substitutes", "gain"):
            raise InputError(f"expected pick substitutes or gain, got {self.pick!r}")

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """One request an iteration; the claim has no more swaps than allowed."""
        if not space.max_swaps:
            return None
        rng = seed.generator()
        capped = np.minimum(space.sizes, _MOST_CANDIDATES).astype(np.float64)
        weights = capped if self.pick == "substitutes" else None
        start = goal.progress((yield space.origin[None]))
        swarm = Brood(np.zeros((self.population, space.n), np.int32), np.repeat(start, self.population))
        everyone = np.ones(self.population, np.bool_)
        swarm = yield from mutate(space, goal, rng, swarm.texts, swarm, mutating=everyone, weights=weights)
        velocity = np.repeat(rng.uniform(-self.speed, self.speed, (self.population, 1)), space.n, axis=1)
        own, best = swarm, fittest(swarm)
        for t in range(self.iterations):
            if swarm.flip is not None:
                return swarm.flip
            velocity = self._steer(velocity, t / self.iterations, swarm.texts, own.texts, best.texts)
            moved = _move(rng, velocity, t / self.iterations, swarm.texts, own.texts, best.texts)
            moved = keep_to(rng, moved, space.max_swaps)
            swarm = yield from mutate(space, goal, rng, moved, swarm, mutating=_mutating(rng, moved), weights=weights)
            own, best = better(own, swarm), better(best, fittest(swarm))
        return swarm.flip

    def _steer(self, velocity: FloatArray, time: float, texts: IntArray, own: IntArray, best: IntArray) -> FloatArray:
        """Velocities after one iteration: high where a text differs from its own best and from the best of all."""
        inertia = _HIGH - (_HIGH - _LOW) * time
        pull = np.where(texts == own, -self.speed, self.speed) + np.where(texts == best, -self.speed, self.speed)
        velocity = inertia * velocity + (1 - inertia) * pull
        return np.clip(velocity, -self.speed, self.speed) if self.clip else velocity


def _move(
    rng: np.random.Generator, velocity: FloatArray, time: float, texts: IntArray, own: IntArray, best: IntArray
) -> IntArray:
    """The texts drawn to their own best, then to the best of all."""
    follow = (1 + np.tanh(velocity / 2)) / 2  # = 1 / (1 + exp(-velocity)), without overflow
    to_own, to_best = _HIGH - (_HIGH - _LOW) * time, _LOW + (_HIGH - _LOW) * time
    for share, target in ((to_own, own), (to_best, best)):
        going = rng.random((len(texts), 1)) < share
        texts = np.where(going & (rng.random(texts.shape) < follow), target, texts)
    return texts


def _mutating(rng: np.random.Generator, texts: IntArray) -> BoolArray:
    """Which texts mutate: the fewer swaps, the more likely, none with half of its words swapped."""
    chance = 1 - 2 * np.count_nonzero(texts, axis=1) / texts.shape[1]
    return np.asarray(rng.random(len(texts)) < chance, np.bool_)


def fittest(brood: Brood) -> Brood:
    """The best text of a brood, as a brood of one."""
    first = brood.harm.argmax()
    return Brood(brood.texts[first : first + 1], brood.harm[first : first + 1])


def better(old: Brood, new: Brood) -> Brood:
    """The better of two texts each; the old one of equals."""
    gained = new.harm > old.harm
    return Brood(np.where(gained[:, None], new.texts, old.texts), np.where(gained, new.harm, old.harm))
