"""Several words replaced at once: the MSR paper's Monte Carlo tree search among the nearest words.

Guarantee: a flip reported changes the class as text, and only words of the index set.  Its distance is the joint one of
the words it changes; that nothing nearer exists is not claimed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lexproof.answers import Broken
from lexproof.asking import answer_one
from lexproof.attacks.mcts import Mcts
from lexproof.candidates.base import match_case
from lexproof.candidates.filters import SamePartOfSpeech
from lexproof.questions import Find
from lexproof.safe_radius.answer import WordFlip
from lexproof.safe_radius.vocabulary import Words
from lexproof.space import Space
from lexproof.victims.balls import Item, tokens_of
from lexproof.victims.base import Victim


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSearch:
    """`neighbors` nearest words of each open word, `sims` simulations a vertex and `steps` expansions."""

    norm: float = 2.0
    neighbors: int = 1_000
    sims: int = 1_000
    steps: int = 25
    alpha: float = 0.5
    same_part_of_speech: bool = True
    seed: int = 0

    def nearest(self, victim: Victim, item: Item, known: Words, max_swaps: int | None = None) -> WordFlip | None:
        """The nearest text found with at most `max_swaps` of the item's words replaced (all of them by default)."""
        own = {word: self._options(victim, item, word, known) for word in item.words}
        far = {(item.text.words[word], new): way for word, ways in own.items() for new, (way, _) in ways.items()}
        choices = [tuple(own.get(word, ())) for word in range(len(item.text))]
        space = Space(item.text, choices, len(item.words) if max_swaps is None else max_swaps)
        label = int(victim.predict([item.text.input])[0])
        attack = Mcts(sims=self.sims, steps=self.steps, alpha=self.alpha, distance=lambda old, new: far[old, new])
        found = answer_one(Find(attack=attack, seed=self.seed), victim, space, label)
        if not isinstance(found, Broken):
            return None
        tokens = tokens_of(victim, item).ids.copy()
        for change in found.changed:
            (place,) = tokens_of(victim, Item(item.text, (change.position,))).places
            tokens[place] = own[change.position][change.new][1]
        changed = item.text.swap({change.position: change.new for change in found.changed})
        if not np.array_equal(tokens_of(victim, Item(changed, ())).ids, tokens):
            return None  # words that run together: the distance would be that of other words
        ways = [own[change.position][change.new][0] for change in found.changed]
        return WordFlip(
            text=found.witness,
            changed=found.changed,
            distance=float(np.linalg.norm(ways, ord=self.norm)),
            predicted=found.witness_predicted,
        )

    def _options(self, victim: Victim, item: Item, word: int, known: Words) -> dict[str, tuple[float, int]]:
        """The nearest words, written as the word is, with their distances and tokens."""
        written = item.text.words[word]
        order, far = known.nearest(tokens_of(victim, Item(item.text, (word,))), self.norm, self.neighbors)
        number = {known.words[k]: k for k in order.tolist()}
        options = tuple(number)
        if self.same_part_of_speech:
            options = SamePartOfSpeech().keep(written.lower(), options)
        found: dict[str, tuple[float, int]] = {}
        for option in options:
            for new in match_case(written, (option,)):
                found.setdefault(new, (float(far[number[option]]), int(known.ids[number[option]])))
        return found
