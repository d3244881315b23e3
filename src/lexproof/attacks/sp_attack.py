"""SP-Attack: one dangerous word, put anywhere; of the flips the most similar and most fluent one.

The pool is every single swap of the space; around a text of n words, with the M = 50 words of highest kappa as
substitutes (`lexproof words` computes them once for a classifier), n * M texts.  It is shuffled by the seed and
verified in batches until `k` flips are known or the pool is empty.  Of the first `k` flips the one with the least
joint cost of similarity and fluency (`fluency.joint`) is the claim.

Guarantee: the claim has one swap; if the pool was exhausted and nothing is claimed, no swap of the pool is a flip (by
more than rounding).  Without a budget neither the claim nor the flips it was chosen from depend on `batch`.

Reference: Xu et al. 2024, Single Word Change is All You Need, Section 4 and Appendix C.  Deviations: the text itself is
not put into the pool, as the released code does; of the flips in the last batch those beyond `k` are not judged; a word
is what `lexproof.text` calls one, where the released code splits at white space, so that punctuation stays; similarity
and fluency come from MiniLM and the model given, not from the Universal Sentence Encoder and BERT.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from lexproof.attacks.base import Hunt, point_of
from lexproof.candidates.similarity import Encoder, SentenceEncoder, default_encoder
from lexproof.candidates.vocabulary import Vocabulary
from lexproof.errors import InputError
from lexproof.fluency.joint import Joint, Weights
from lexproof.fluency.specs import from_spec
from lexproof.goal import Goal
from lexproof.points import Swaps
from lexproof.search import Search, Seed, Spent, flips
from lexproof.space import Space
from lexproof.text import Text

WORDS = 50
"""M of the paper: how many words of the highest kappa are tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpAttack:
    """Single swaps in random order, the best of the first `k` flips; `batch` are verified at a time.

    `weights`, `alpha`, `beta`: of the joint cost.  `similarity`: whether it counts, by MiniLM or the `encoder` in a
    folder.  `fluency`: `ngram:FILE`, `causal:FOLDER`, or None, and it does not count.  Without both, the first flip is
    the claim.  `words`: a file with one word a line; other substitutes of the space are left alone.
    `joint`: similarity and fluency by objects of your own, instead of all these settings.
    """

    k: int = 50
    batch: int = 32
    weights: Weights = "code"
    alpha: float = 3.0
    beta: float = 20.0
    similarity: bool = True
    encoder: str | None = None
    fluency: str | None = None
    words: str | None = None
    joint: Joint | None = None
    needs_gradients: ClassVar[bool] = False
    needs_scores: ClassVar[bool] = False
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"weights": "paper"}, "code": {"weights": "code"}, "benchmark": {"weights": "code"},
    }  # fmt: skip
    _judge: Joint = field(init=False, repr=False, compare=False)
    _kept: frozenset[str] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """All files are read now: a search would take one that cannot be read for trouble with one text."""
        if self.k < 1 or self.batch < 1:
            raise InputError(f"expected k >= 1 and batch >= 1, got {self.k} and {self.batch}")
        if self.encoder is not None and not self.similarity:
            raise InputError(f"expected no encoder with similarity=0, got {self.encoder!r}")
        kept = None if self.words is None else frozenset(map(str.lower, Vocabulary.load(self.words).words))
        object.__setattr__(self, "_kept", kept)
        object.__setattr__(self, "_judge", self.joint or self._described())

    def _described(self) -> Joint:
        """The joint cost that the settings describe."""
        model = None if self.fluency is None else from_spec(self.fluency)
        if model is not None:
            model.perplexity([])
        encoder: Encoder | None = None
        if self.similarity:
            encoder = default_encoder() if self.encoder is None else _encoder(self.encoder)
        return Joint(encoder=encoder, fluency=model, weights=self.weights, alpha=self.alpha, beta=self.beta)

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """The best of the first flips in random order."""
        pool = self._pool(space)
        if not space.max_swaps or not len(pool):
            return None
        pool = pool[seed.generator().permutation(len(pool))]
        found = yield from self._flips(space, goal, pool)
        if len(found) < 2:
            return point_of(found, 0) if len(found) else None
        texts = [space.text(point) for point in found.dense()]
        costs = self._judge.costs(space.text(space.origin), texts)
        return point_of(found, int(np.argmin(costs)))

    def _pool(self, space: Space) -> Swaps:
        """The single swaps to be tried."""
        singles = space.singles()
        if self._kept is None:
            return singles
        places = zip(singles.positions.tolist(), singles.choices.tolist(), strict=True)
        return singles[np.array([space.choices[at][choice - 1].lower() in self._kept for at, choice in places], bool)]

    def _flips(self, space: Space, goal: Goal, pool: Swaps) -> Search[Swaps]:
        """The first flips of the pool, at most k, or one where all would cost the same."""
        wanted = 1 if self._judge.is_blind else self.k
        rows: list[int] = []
        for start in range(0, len(pool), self.batch):
            asked = pool[start : start + self.batch]
            try:
                scores = yield asked
            except Spent:
                if not rows:
                    raise
                break
            rows += (flips(space, goal, asked, scores) + start).tolist()
            if len(rows) >= wanted:
                break
        return pool[np.array(rows[:wanted], np.int64)]


def sp_attack_space(text: Text | str, words: Vocabulary, count: int = WORDS) -> Space:
    """The space of the paper around a text: any of the first `count` words in the place of any one word."""
    text = Text.parse(text) if isinstance(text, str) else text
    return Space(text, [options[:count] for options in words(text)], max_swaps=1)


@lru_cache(maxsize=4)
def _encoder(folder: str) -> Encoder:
    """The encoder in a folder, loaded, so that an unusable one fails now."""
    encoder = SentenceEncoder(folder)
    encoder.encode([])
    return encoder
