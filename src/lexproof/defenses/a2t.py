"""A2T: adversarial training on flips that a cheap attack finds anew in each epoch.

Before each epoch but the plain ones, training texts are attacked in random order until flips of `share` times as many
as there are training texts are found; the network trains on the given texts and on the flips.

Reference: Yoo and Qi 2021, Towards Improving Adversarial Training of NLP Models.
Deviations: substitutes come from the defender's synonyms instead of a masked language model or counter-fitted vectors
of its own; at most `limit` texts are attacked before an epoch (the paper goes through all of them if it has to);
clean and adversarial texts are shuffled together, so that their losses have equal weight (alpha = 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from lexproof.attacks.greedy import check_share
from lexproof.attacks.specs import from_spec
from lexproof.defenses.generated import Generated, Generating, Perturb
from lexproof.questions import Find


@dataclass(kw_only=True)
class A2TTraining(Generating):
    """Flips of the network as it is, in every epoch.

    `share`: flips to find, as a share of the training texts.  `attack`: what finds them.
    """

    name: ClassVar[str] = "a2t"
    attack: str = "a2t"
    share: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        from_spec(self.attack)
        check_share("share", self.share)

    def generated(self) -> list[Generated]:
        """Flips alone."""
        wanted = math.ceil(self.share * len(self.setting.inputs) - 1e-9)
        find = Find(attack=self.attack, seed=self.draw_seed())
        return self.asked(Perturb(find=find, keep_failed=False), wanted)
