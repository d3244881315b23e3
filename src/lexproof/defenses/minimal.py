"""Adversarial training on minimal examples: flips with the fewest swaps that there are.

Before each epoch but the plain ones (or every `every`-th of them) the network as it is is asked, about `limit` training
texts, how few swaps fool it; what does so is trained on with the true label.

A text of which the attack finds no flip adds nothing; no proof is sought that it has none.

Guarantee: where the answer is a Minimum no flip of the space has fewer swaps than the one trained on; `measures` says
for how many texts that is so (`exact`).  It is for nearly all with mlp and cnn, whose minimum is solved exactly.  The
other kinds are asked by attack and enumeration alone, since bounds of them take longer than the training: their flips
are proven to be minimal where `max_points` texts are enough, else they are the fewest that the attack found.

Reference: the ILP paper, Section 5.2, which augments the training data in each training loop by exact adversarial
examples; it gives neither their number nor a schedule.  Ours are a setting each.  Budgets count nodes and texts, never
seconds, so that a seed gives the same weights on a slow machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from lexproof.answers import Minimum
from lexproof.attacks.specs import from_spec
from lexproof.certify.bracket import Bracketed, BracketSearch
from lexproof.certify.cascade import PROVERS, Cascade, check_provers
from lexproof.certify.ledger import Ledger
from lexproof.defenses.generated import Generated, Generating, Made, made_of
from lexproof.engine import Limits, Outcome
from lexproof.errors import InputError
from lexproof.evidence import Witness
from lexproof.goal import Goal
from lexproof.points import IntArray
from lexproof.questions import Minimize, resolve_attack
from lexproof.search import Search, Seed
from lexproof.space import Space
from lexproof.victims.base import Victim

_SOLVED = ("mlp", "cnn")  # kinds with an exact solver


class Below(Cascade):
    """Provers of texts with fewer swaps than a flip that is known.

    Where none is known they would prove that the whole space holds, which takes longest and gives no text to train on.
    """

    def __call__(self, space: Space, goal: Goal, ledger: Ledger, upto: int) -> Search[None]:
        """Nothing is settled without a flip."""
        if ledger.flip is not None:
            yield from super().__call__(space, goal, ledger, upto)


@dataclass(slots=True, kw_only=True)
class Fewest:
    """The flip with the fewest swaps, and a count of those that are proven to be so."""

    minimize: Minimize
    exact: list[Minimum] = field(default_factory=list)

    @property
    def limits(self) -> Limits:
        """Budget of one search."""
        return self.minimize.limits

    def search(self, victim: Victim, space: Space, goal: Goal) -> Search[Bracketed]:
        """Attack from above, proof from below."""
        own = self.minimize
        provers = Below(victim, check_provers(own.provers), own.max_points, own.max_nodes, own.record)
        method = BracketSearch(attack=resolve_attack(own.attack, victim, own.default), provers=provers)
        return method(space, goal, Seed(own.seed, ("attack", space.original)))

    def flip(self, outcome: Outcome) -> IntArray | None:
        """The upper end."""
        return self.minimize.flip(outcome)

    def answer(self, victim: Victim, space: Space, outcome: Outcome, witness: Witness | None) -> Made | None:
        """The witness of the checked bracket."""
        answer = self.minimize.answer(victim, space, outcome, witness)
        if isinstance(answer, Minimum) and answer.swaps:
            self.exact.append(answer)
        return made_of(witness)


@dataclass(kw_only=True)
class Minimal(Generating):
    """Minimal flips of the network as it is.

    `every`: so many epochs are trained on the same ones.  `max_nodes` and `max_points`: nodes bounded and texts scored
    for the proof about one text.  `attack`: what finds the first flip, for the upper end.
    """

    name: ClassVar[str] = "minimal"
    limit: int = 1000
    every: int = 1
    attack: str = "best"
    max_nodes: int = 500
    max_points: int = 1_000

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("every", "max_nodes", "max_points"):
            if getattr(self, name) < 1:
                raise InputError(f"expected {name} >= 1, got {getattr(self, name)}")
        from_spec(self.attack)

    def is_due(self, epoch: int) -> bool:
        """The first epoch that is not plain, then every so many."""
        return epoch > self.plain and (epoch - self.plain - 1) % self.every == 0

    def generated(self) -> list[Generated]:
        """Flips with the fewest swaps."""
        minimize = Minimize(
            attack=self.attack,
            provers=PROVERS if self.setting.learner.kind in _SOLVED else ("enumeration",),
            max_points=self.max_points,
            max_nodes=self.max_nodes,
            record=False,
            seed=self.draw_seed(),
        )
        question = Fewest(minimize=minimize)
        found = self.asked(question)
        self._figures["exact"] = float(len(question.exact))
        return found
