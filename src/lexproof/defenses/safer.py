"""SAFER: training on texts with every word drawn from its set of synonyms, and a victim that reads many such copies.

Texts that differ by synonyms have much the same copies, so they get much the same answer.  How much the same is what
the certificate (`lexproof.certify.smoothing`) computes; it covers swaps for words of overlapping sets, no others.

The sets (`lexproof.victims.safer_sets`) are built from the defender's substitutes over the words of the training texts,
with at most `size` words each.

Reference: Ye et al. 2020, SAFER.  Deviations: the kept epoch is the best on randomised validation texts; words that
stand once in the training texts are not left out; near words are those of few steps in the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from lexproof.defenses.smoothing import Smoothing
from lexproof.errors import InputError, check_whole
from lexproof.space import Candidates
from lexproof.text import Text
from lexproof.training.defense import Setting
from lexproof.victims.base import Victim
from lexproof.victims.safer_sets import SIZE, SynonymSets
from lexproof.victims.smoothed import Safer
from lexproof.victims.smoothed_noise import Swapping, parsed


@dataclass(kw_only=True)
class SaferTraining(Smoothing):
    """Training on copies with swapped words; `size` is the most words of a set."""

    name: ClassVar[str] = "safer"
    needs_synonyms: ClassVar[bool] = True

    size: int = SIZE

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(size=self.size)

    def drawing(self, setting: Setting) -> Swapping:
        """Sets over the words of the training texts."""
        if setting.synonyms is None:
            raise InputError("expected the defender's synonyms for the defense 'safer', got none; pass synonyms=...")
        words = {word.lower() for given in setting.inputs for word in parsed(given).words}
        self.sets = SynonymSets.of(_counting(setting.synonyms, len(words), setting.told), words, self.size)
        return Swapping(self.sets)

    def finish(self, victim: Victim) -> Victim:
        """The trained model on copies."""
        return Safer(victim, self.sets, samples=self.samples, ensemble=self.ensemble, seed=self.setting.seed)


def _counting(synonyms: Candidates, total: int, told: Callable[[str, int, int], None]) -> Candidates:
    """The same substitutes, telling how many words have been looked up."""
    done = 0

    def looked_up(text: Text) -> Sequence[Sequence[str]]:
        nonlocal done
        told("words looked up", done, total)
        done += 1
        return synonyms(text)

    return looked_up
