"""RanMASK: training on texts with a share of their words masked, and a victim that reads many such copies.

A swapped word is masked in most copies, so it sways few of them, whatever word it is: no synonyms are needed, and the
certificate (`lexproof.certify.smoothing`) holds for any words.

Of n words k = n - round(rate n) stay, at least two.  A word model reads a masked word as `<unk>`, a transformer as its
mask token.

Reference: Zeng et al. 2021, Certified Robustness to Text Adversarial Attacks by Randomized [MASK]; the rate 0.7 is the
default of its code.  Deviations: the kept epoch is the best on masked validation texts.  Li et al. 2021 print rates of
5 and 90 %, while their code masks 70 % at prediction whatever it was trained with; here both are the same rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lexproof.defenses.smoothing import Smoothing
from lexproof.training.defense import Setting
from lexproof.victims.base import Victim
from lexproof.victims.smoothed import RATE, RanMask
from lexproof.victims.smoothed_noise import Masking, mask_of


@dataclass(kw_only=True)
class RanMaskTraining(Smoothing):
    """Training on masked copies; `rate` is the share of words that are masked."""

    name: ClassVar[str] = "ranmask"

    rate: float = RATE

    def __post_init__(self) -> None:
        super().__post_init__()
        Masking(self.rate)  # says what is wrong with the rate

    def drawing(self, setting: Setting) -> Masking:
        """Masks as the learner reads them."""
        return Masking(self.rate, mask_of(setting.learner.snapshot()))

    def finish(self, victim: Victim) -> Victim:
        """The trained model on masked copies."""
        return RanMask(victim, rate=self.rate, samples=self.samples, ensemble=self.ensemble, seed=self.setting.seed)
