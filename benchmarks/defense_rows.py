"""What a row of the defense table holds: everything that is asked of one trained model.

The texts are the first of the test split in the order of one seed, the same for every model of a setting and whether
classified correctly or not, so that models can be compared text by text.  Attacks have the Defender paper's frame
(`lexproof.constraints`, preset `agnews`: 30 % of the words, 50 substitutes, similarity 0.84, 50 queries a word).
Proofs and minima are about the same substitutes and swaps without the similarity floor: a larger space, so that what
is proven there holds within the floor too.

A smoothed model scores many copies for each text it is asked about; a query is one text, whatever copies it takes.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

import lexproof as lp
from lexproof.asking import Item, answer_all
from lexproof.auditing.summary import share_of
from lexproof.candidates import from_spec
from lexproof.certify.smoothing import certify_smoothed
from lexproof.constraints import Constraints, Rationed, preset
from lexproof.engine import Limits
from lexproof.questions import Find, Minimize
from lexproof.victims.base import Victim

ATTACKS = ("textfooler", "textbugger", "best")
WORST = ATTACKS[-1]
PARTS = ("clean", *ATTACKS, "minima", "smoothed", "rho")
"""What a row holds, in the order in which it is measured."""

SUBSTITUTES = "default?k=50&floor=0"
"""The attacker's, those of the benchmark recipes."""

FRAME = preset("agnews")
OPEN_FRAME = Constraints(max_candidates=FRAME.max_candidates, max_share=FRAME.max_share)


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is asked of a model; nothing where a number is 0."""

    clean: int  # texts
    attacked: int  # texts
    minima: int  # texts
    provers: str  # separated by commas
    max_queries: int  # for a minimum, attack and proof together
    max_points: int  # texts scored for the proof of a minimum
    max_nodes: int  # nodes bounded for it
    limit: float  # seconds a text, in case that points and nodes do not end it before: depends on the machine
    rho_texts: int
    rho_words: int
    rho_method: str
    patience: int  # of EUBA
    votes: int  # draws for a certificate of a smoothed model

    def for_copies(self, share: float) -> "Sizes":
        """So much less of everything that asks the model itself, for one that scores many copies of a text."""
        names = ("clean", "attacked", "minima", "max_points", "rho_texts", "rho_words")
        fewer = {name: max(min(1, getattr(self, name)), round(share * getattr(self, name))) for name in names}
        return replace(self, **fewer)


@dataclass(frozen=True)
class Texts:
    """Test texts in the order of the draw, and the words that rho is about."""

    texts: Sequence[str]
    labels: Sequence[int]
    words: Sequence[str]
    _made: dict[Constraints, list[Item]] = field(default_factory=dict)

    def spaces(self, frame: Constraints, count: int) -> list[Item]:
        """The spaces of the first texts, made once: what is known of similarities serves every attack and model."""
        made, substitutes = self._made.setdefault(frame, []), from_spec(SUBSTITUTES)
        for key in range(len(made), min(count, len(self.texts))):
            made.append(Item(key, frame.space(self.texts[key], substitutes), self.labels[key]))
        return made[:count]


def attacked(victim: Victim, items: Sequence[Item], attack: str, seed: int) -> dict[str, Any]:
    """Swaps of the flip found (0: misclassified as it stands, None: none found) and queries, of each text."""
    begun = time.process_time()
    swaps: dict[int, int | None] = {}
    queries: dict[int, int] = {}
    for done in answer_all(Find(attack=attack, seed=seed), victim, items, Rationed(victim, FRAME)):
        if done.error is not None:
            raise done.error
        swaps[done.item.key] = done.answer.swaps if isinstance(done.answer, lp.Broken) else None
        queries[done.item.key] = done.outcome.cost.queries
    keys = sorted(swaps)
    seconds = time.process_time() - begun
    return {"swaps": [swaps[key] for key in keys], "queries": [queries[key] for key in keys], "seconds": seconds}


def minima(victim: Victim, items: Sequence[Item], sizes: Sizes, seed: int) -> dict[str, Any]:
    """The bracket of the minimum of each text, and the most swaps that its space allows."""
    begun = time.process_time()
    limits = Limits(sizes.max_queries, sizes.limit)
    provers = tuple(sizes.provers.split(","))
    budget = {"max_points": sizes.max_points, "max_nodes": sizes.max_nodes, "limits": limits}
    question = Minimize(provers=provers, record=False, seed=seed, **budget)
    found: dict[int, dict[str, Any]] = {}
    for done in answer_all(question, victim, items):
        if done.answer is None:
            raise done.error or RuntimeError(f"text {done.item.key} has no answer")
        ends = {"lower": done.answer.lower, "upper": done.answer.upper, "most": done.item.space.max_swaps}
        timed = isinstance(done.answer, lp.Bracket) and "time limit" in done.answer.reason
        found[done.item.key] = {**ends, "timed_out": timed}
    return {"texts": [found[key] for key in sorted(found)], "seconds": time.process_time() - begun}


def single_words(victim: Victim, texts: Texts, sizes: Sizes) -> dict[str, Any] | None:
    """Rho over the first texts and words."""
    if not sizes.rho_texts:
        return None
    begun = time.process_time()
    found = lp.flip_words(
        victim,
        texts.texts[: sizes.rho_texts],
        texts.labels[: sizes.rho_texts],
        texts.words[: sizes.rho_words],
        method=sizes.rho_method if victim.has_gradients else "exact",
        patience=sizes.patience,
    )
    record = {"method": found.method, "words": len(found.words), "seconds": time.process_time() - begun}
    return {**found.rho.to_json(), **record}


def clean(victim: Victim, texts: Texts, count: int) -> dict[str, Any]:
    """Accuracy on the first texts, which of them are right, and what always naming one class would reach."""
    gold = np.array(texts.labels[:count])
    right = victim.predict(list(texts.texts[:count])) == gold
    majority = float(np.bincount(gold).max() / len(gold))
    return {**share_of(int(right.sum()), len(right)), "right": right.astype(int).tolist(), "majority": majority}


def smoothed(victim: Victim, items: Sequence[Item], sizes: Sizes, seed: int) -> dict[str, Any] | None:
    """The radius that the gold label of each text withstands in the smoothed classifier, None if not even 0.

    None for a model that is not smoothed.
    """
    if victim.kind not in ("safer", "ranmask"):
        return None
    begun = time.process_time()
    found = [certify_smoothed(victim, item.space, item.label, samples=sizes.votes, seed=seed) for item in items]
    radii = [certificate.radius for certificate in found]
    return {"radii": radii, "confidence": found[0].confidence, "seconds": time.process_time() - begun}


def parts(victim: Victim, texts: Texts, sizes: Sizes, seed: int) -> dict[str, Callable[[], Any]]:
    """What a row consists of, by name; each is measured when it is called."""

    def attack(name: str) -> dict[str, Any]:
        return attacked(victim, texts.spaces(FRAME, sizes.attacked), name, seed)

    asked = {
        "clean": lambda: clean(victim, texts, sizes.clean),
        **{name: partial(attack, name) for name in ATTACKS},
        "minima": lambda: minima(victim, texts.spaces(OPEN_FRAME, sizes.minima), sizes, seed),
        "smoothed": lambda: smoothed(victim, texts.spaces(OPEN_FRAME, sizes.minima), sizes, seed),
        "rho": lambda: single_words(victim, texts, sizes),
    }
    return {name: asked[name] for name in PARTS}
