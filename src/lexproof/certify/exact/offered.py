"""Which victims an exact solver exists for, and how its candidates stand for the swaps of a space."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lexproof.certify.exact.solved import Solved
from lexproof.certify.lowering import rivals
from lexproof.errors import NoRule
from lexproof.goal import Goal
from lexproof.points import IntArray
from lexproof.space import Space
from lexproof.victims.base import Victim

if TYPE_CHECKING:
    from lexproof.certify.exact.additive import AdditiveNet
    from lexproof.certify.exact.cnn_net import WindowedNet

Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Exact:
    """A network with an exact solver; candidate c stands for the swap (word[c], choice[c]) of a text with n words."""

    net: AdditiveNet | WindowedNet
    word: Index
    choice: Index
    n: int

    def solve(
        self,
        method: str,
        theta: float,
        max_swaps: int,
        *,
        time_limit: float,
        max_nodes: int | None,
        record: bool = True,
    ) -> Solved:
        """The smallest number of swaps with a margin of at most theta, by `branch-and-bound` or `milp`."""
        from lexproof.certify.exact import cnn_solver, milp, milp_maxpool, solver
        from lexproof.certify.exact.additive import AdditiveNet

        seconds = None if math.isinf(time_limit) else time_limit
        if method == "milp":
            by_milp: Any = (milp if isinstance(self.net, AdditiveNet) else milp_maxpool).minimum_by_milp
            solved: Solved = by_milp(self.net, theta=theta, budget=max_swaps, time_limit=seconds)
            return solved
        wanted: dict[str, Any] = {
            "theta": theta,
            "max_swaps": max_swaps,
            "max_nodes": max_nodes,
            "record": record,
        }
        if isinstance(self.net, AdditiveNet):
            return solver.minimum(self.net, time_limit=seconds, **wanted)
        return cnn_solver.minimum(self.net, time_limit=time_limit, **wanted)

    def point(self, candidates: tuple[int, ...]) -> IntArray:
        """The point of a set of candidates."""
        point: IntArray = np.zeros(self.n, np.int32)
        made = np.array(candidates, np.int64)
        point[self.word[made]] = self.choice[made]
        return point


def exact_of(victim: Victim, space: Space, goal: Goal) -> Exact:
    """The network of a victim that has an exact solver, for a goal; NoRule if there is none."""
    if victim.kind == "mlp":
        return _mlp(victim, space, goal)
    if victim.kind == "cnn":
        return _cnn(victim, space, goal)
    raise NoRule(f"no exact solver for a {victim.kind!r} victim; enumeration still works")


def _heads(weight: NDArray[np.float64], bias: NDArray[np.float64], goal: Goal) -> tuple[NDArray[np.float64], ...]:
    """The margins over the rivals as affine functions of the last hidden layer: (K, H) and (K,)."""
    others = rivals(goal, len(bias))
    return weight[goal.label] - weight[others], bias[goal.label] - bias[others]


def _mlp(victim: Victim, space: Space, goal: Goal) -> Exact:
    from lexproof.certify.exact.additive import AdditiveNet
    from lexproof.victims.mlp import Mlp, MlpNet
    from lexproof.victims.word_candidates import token_candidates

    assert isinstance(victim, Mlp) and isinstance(victim.net, MlpNet)
    net, found = victim.net, token_candidates(victim.bind(space))
    table = net.embedding.weight.numpy()
    first = net.first.numpy().astype(np.float64)
    words = table[found.ids].astype(np.float64)
    moved = table[found.token].astype(np.float64) - words[found.at]
    if net.is_flat:
        hidden = np.einsum("td,tdh->h", words, first[: len(words)])
        change = np.einsum("sd,sdh->sh", moved, first[found.at])
    else:
        hidden, change = words.mean(0) @ first[0], moved @ first[0] / len(words)
    weight, bias = _heads(net.last.weight.numpy().astype(np.float64), net.last.bias.numpy().astype(np.float64), goal)
    hidden = hidden + net.bias.numpy().astype(np.float64)
    return Exact(AdditiveNet(hidden, change, found.at, weight, bias), found.word, found.choice, space.n)


def _cnn(victim: Victim, space: Space, goal: Goal) -> Exact:
    from lexproof.certify.exact.cnn_words import windowed_net
    from lexproof.victims.cnn import Cnn

    assert isinstance(victim, Cnn)
    net, table = windowed_net(victim, victim.bind(space), goal.label, rivals(goal, victim.classes))
    return Exact(net, table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), space.n)
