"""Genetic attack: a population of texts, bred by their progress towards the goal and mutated one word at a time.

    p(parent k) = exp(h_k / T) / sum_l exp(h_l / T)      h = progress towards the goal, T = temperature
    child       = each word from one of two parents, with probability 1/2 each; then one mutation (see `population`)

The most harmful text of a generation lives on unchanged.  The first population are mutations of the text itself; each
generation is scored in one request, and the first one with a flip ends the search with the flip of fewest swaps.

Reference: Alzantot, Sharma, Elgohary, Ho, Srivastava, Chang 2018, Generating Natural Language Adversarial Examples;
variant `jia`: Jia, Raghunathan, Göksel, Liang 2019, Certified Robustness to Adversarial Word Substitutions.
Deviations: the released code states a limit on changed words and never applies it; here a child over the limit loses
random swaps, and one at the limit gives one up before its mutation.  The language model and the stop words belong to
the candidates, which the space fixes beforehand, so a word never drifts away from its own substitutes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from lexproof.attacks.base import Hunt
from lexproof.attacks.population import Brood, Rows, keep_to, mutate
from lexproof.errors import InputError
from lexproof.goal import Goal
from lexproof.points import FloatArray, IntArray
from lexproof.search import Seed
from lexproof.space import Space

_MOST_NEIGHBORS = 50  # a word with more substitutes is not picked more often


@dataclass(frozen=True, slots=True, kw_only=True)
class Genetic:
    """`population` texts bred for `generations`; a lower `temperature` favors the most harmful parents.

    `pick`: the word to mutate, in proportion to its `substitutes` or `uniform`.
    `again`: a swapped word may be mutated once more, or put back; otherwise only words not swapped yet are.
    """

    population: int = 60
    generations: int = 20
    temperature: float = 0.3
    pick: Literal["substitutes", "uniform"] = "substitutes"
    again: bool = False
    needs_gradients: ClassVar[bool] = False
    needs_scores: ClassVar[bool] = True
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},
        "code": {"population": 20, "generations": 100},
        "jia": {"generations": 40, "pick": "uniform", "again": True},
    }

    def __post_init__(self) -> None:
        if self.population < 2 or self.generations < 0:
            raise InputError(
                f"expected population >= 2 and generations >= 0, got {self.population} and {self.generations}"
            )
        if not self.temperature > 0:
            raise InputError(f"expected temperature > 0, got {self.temperature}")
        if self.pick not in ("substitutes", "uniform"):
            raise InputError(f"expected pick substitutes or uniform, got {self.pick!r}")

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """One request a generation; the claim has no more swaps than allowed."""
        if not space.max_swaps:
            return None
        rng = seed.generator()
        cap = 1 if self.pick == "uniform" else _MOST_NEIGHBORS
        weights = np.minimum(space.sizes, cap).astype(np.float64)
        start = goal.progress((yield space.origin[None]))
        before = Brood(np.zeros((self.population, space.n), np.int32), np.repeat(start, self.population))
        texts, mutating = before.texts, np.ones(self.population, np.bool_)
        for _ in range(self.generations + 1):
            brood = yield from mutate(
                space, goal, rng, texts, before, mutating=mutating, weights=weights, again=self.again
            )
            if brood.flip is not None:
                return brood.flip
            elite = int(brood.harm.argmax())
            first, second = parents(rng, brood.harm, self.population - 1, self.temperature)
            children = keep_to(rng, crossover(rng, brood.texts[first], brood.texts[second]), space.max_swaps)
            texts = np.concatenate([brood.texts[elite : elite + 1], children])
            mutating = np.arange(self.population) > 0  # the elite, in front, lives on as it is
            origin = np.append(elite, first)
            before = Brood(brood.texts[origin], brood.harm[origin])
        return None


def parents(rng: np.random.Generator, harm: FloatArray, count: int, temperature: float) -> tuple[Rows, Rows]:
    """Two parents for each of `count` children, the more harmful the more likely."""
    fitness = np.exp((harm - harm.max()) / temperature)
    drawn = rng.choice(len(harm), size=(2, count), p=fitness / fitness.sum())
    return drawn[0], drawn[1]


def crossover(rng: np.random.Generator, first: IntArray, second: IntArray) -> IntArray:
    """Texts with each word from one of two parents."""
    return np.where(rng.random(first.shape) < 0.5, second, first)
