"""The worst case: several attacks one after another, the fewest swaps that any of them finds.

Each attack searches only among texts with fewer swaps than the best flip so far, so that later ones can only improve
on it; the search ends early when one swap is enough.  An upper bound on R as honest as the attacks together are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from lexproof.attacks.base import Attack, Hunt
from lexproof.attacks.specs import from_spec
from lexproof.errors import InputError
from lexproof.goal import Goal
from lexproof.points import IntArray
from lexproof.search import Seed
from lexproof.space import Space

_MEMBERS = ("best", "pdp", "textfooler", "pwws", "sempso", "hotflip", "decision")


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst:
    """The attacks `members`, in this order; those that a victim cannot serve are left out.

    A member may have settings (`pdp?beam=20`, separated by commas on the command line).
    """

    members: tuple[str, ...] = _MEMBERS
    needs_gradients: ClassVar[bool] = False
    needs_scores: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.members:
            raise InputError("expected at least one member, got none")
        for name in self.members:
            if name.partition("?")[0] == "worst":
                raise InputError("expected members other than 'worst' itself")
            from_spec(name)

    def adapted(self, *, gradients: bool, scores: bool) -> Attack:
        """The members that a victim with these can serve."""
        kept = tuple(
            name
            for name, attack in zip(self.members, map(from_spec, self.members), strict=True)
            if (gradients or not attack.needs_gradients) and (scores or not attack.needs_scores)
        )
        if not kept:
            raise InputError(f"expected a member that this victim can serve, got {', '.join(self.members)}")
        return replace(self, members=kept)

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """Each member has a seed of its own, so that none depends on which others there are."""
        best: IntArray | None = None
        trouble: InputError | None = None
        for name, attack in self._attacks():
            limit = space.max_swaps if best is None else int(np.count_nonzero(best)) - 1
            if not limit:
                break
            smaller = space if best is None else space.restrict(max_swaps=limit)
            try:
                found = yield from attack(smaller, goal, seed.child(name))
            except InputError as error:  # such as a space too large to sample: the others go on
                trouble = trouble or error
                continue
            best = best if found is None else found
        if best is None and trouble is not None:
            raise trouble
        return best

    def _attacks(self) -> Iterator[tuple[str, Attack]]:
        return ((name, from_spec(name)) for name in self.members)
