"""ADA: adversarial data augmentation.  Train, attack what was trained, train anew with the attacked texts added.

    D' = D ∪ { (x*, y) : (x, y) in D },   x* = what the attack makes of x, whether it flips the label or not

Reference: the baseline of Li et al. 2021, Searching for an Effective Defender (Section 2.3), which takes it from Ren et
al. 2019, Generating Natural Language Adversarial Examples through Probability Weighted Word Saliency.
Deviations: the base model is trained in the first `warmup` of the epochs, not to the end; the second training starts
from the same weights as the first one, but the optimizer and its schedule go on.  Of an attack that fails the most
harmful text that it tried is taken, not the last one.  A text that is misclassified as it stands adds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lexproof.attacks.specs import from_spec
from lexproof.defenses.generated import Generated, Generating, Perturb
from lexproof.errors import InputError
from lexproof.questions import Find
from lexproof.training.defense import Setting


@dataclass(kw_only=True)
class Ada(Generating):
    """Texts attacked once.

    `attack`: any of the attacks, with its settings (NAME?setting=value).  `ratio`: generated texts are at most this
    share of all texts trained on.  `restart`: train anew from the first weights, else go on from those attacked.
    """

    name: ClassVar[str] = "ada"
    attack: str = "pwws"
    ratio: float = 0.5
    restart: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        from_spec(self.attack)
        if not 0 < self.ratio < 1:
            raise InputError(f"expected ratio in (0, 1), got {self.ratio}")

    def begin(self, setting: Setting) -> None:
        """Remember the weights that training starts from; a resumed training starts from the same ones."""
        super().begin(setting)
        self._first = {name: tensor.clone() for name, tensor in setting.learner.module.state_dict().items()}

    def is_due(self, epoch: int) -> bool:
        """Once, when the base model is trained."""
        return epoch == self.plain + 1

    def generated(self) -> list[Generated]:
        """Flips and what came near; the network is put back to where it started."""
        wanted = int(len(self.setting.inputs) * self.ratio / (1 - self.ratio) + 1e-9)
        found = self.asked(Perturb(find=Find(attack=self.attack, seed=self.draw_seed())), wanted)
        if self.restart:
            self.setting.learner.module.load_state_dict(self._first)
        return found
