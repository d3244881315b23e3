"""Where the inputs of a network may lie: a set of which a linear form's exact minimum is known.

`SwapRegion`, at most r swaps: every position has its original vector and the changes its substitutes make.
A ball of embedding space is another such set; the rules above know only this interface.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor


class Region(Protocol):
    """A set of inputs (L, d) in each of N rows."""

    @property
    def center(self) -> Tensor:
        """A point of the set: (N, L, d)."""
        ...

    def minimum(self, form: Tensor) -> Tensor:
        """The exact minimum of <form, x> over the set: (N, S, L, d) to (N, S)."""
        ...

    def box(self) -> tuple[Tensor, Tensor]:
        """The least and largest value of each coordinate: (N, L, d) each."""
        ...


class Additive(NamedTuple):
    """A function of swaps: base (N, S) and what each swap adds (N, S, P, J)."""

    base: Tensor
    gains: Tensor


@dataclass(frozen=True, slots=True)
class SwapRegion:
    """At most `budget` swaps: position `places[n, p]` may move by `changes[n, p, j]`, one j at a time.

    Row n holds the points x with x_i = original_i, but for at most `budget[n]` of the places, where it is
    original_i + changes_ij for one j.  A change of 0 is no change, so rows are padded with zeros.
    The places of a row are distinct, but for those whose changes are all 0.
    """

    original: Tensor  # (N, L, d)
    places: Tensor  # (N, P), integers
    changes: Tensor  # (N, P, J, d)
    budget: Tensor  # (N,), integers

    @property
    def center(self) -> Tensor:
        """The original."""
        return self.original

    def additive(self, form: Tensor) -> Additive:
        """<form, x> as a function of the swaps."""
        base = torch.einsum("nsk,nk->ns", form.flatten(2), self.original.flatten(1))
        at = self.places[:, None, :, None].expand(-1, form.shape[1], -1, form.shape[3])
        return Additive(base, torch.einsum("nspd,npjd->nspj", form.gather(2, at), self.changes))

    def minimum(self, form: Tensor) -> Tensor:
        """The exact minimum of <form, x>.

        <form, x> = <form, original> + sum over swapped positions p of <form_p, changes_pj>.  Positions do not interact,
        so each swapped one takes its best j, and the best set of at most r positions is that of the r least sums that
        are negative: the value at the original plus the r best gains.
        """
        base, gains = self.additive(form)
        return base + least_sum(gains, self.budget)

    def box(self) -> tuple[Tensor, Tensor]:
        """The original and, where there is a budget, every substitute."""
        may = (self.budget > 0)[:, None, None]
        at = self.places[:, :, None].expand(-1, -1, self.original.shape[2])
        lows, highs = self.ends()
        low = self.original.scatter_add(1, at, torch.where(may, lows, 0.0))
        high = self.original.scatter_add(1, at, torch.where(may, highs, 0.0))
        return low, high

    def ends(self) -> tuple[Tensor, Tensor]:
        """The least and largest change of each coordinate at each place, no change included: (N, P, d) each."""
        if not self.changes.shape[2]:
            none = self.changes.sum(2)
            return none, none
        return self.changes.amin(2).clamp(max=0), self.changes.amax(2).clamp(min=0)

    def repeat(self, budgets: Tensor) -> SwapRegion:
        """Each row once for every one of the budgets (R,): rows are ordered by text, then by budget."""
        count = len(budgets)
        return SwapRegion(
            self.original.repeat_interleave(count, 0),
            self.places.repeat_interleave(count, 0),
            self.changes.repeat_interleave(count, 0),
            budgets.repeat(len(self.original)),
        )


def least_sum(gains: Tensor, budget: Tensor) -> Tensor:
    """The least sum of at most `budget[n]` gains at different positions, and of none: (N, S, P, J) to (N, S)."""
    if not gains.shape[2] or not gains.shape[3]:
        return gains.new_zeros(gains.shape[:2])
    return least_sum_of_positions(gains.amin(3).clamp(max=0), budget)


def least_sum_of_positions(best: Tensor, budget: Tensor) -> Tensor:
    """The sum of the `budget[n]` least of numbers that are at most 0: (N, ..., P) to (N, ...).

    What is not a number (an overflow on the way) counts as the least of all, so that no bound comes out of it.
    """
    most = min(int(budget.max()), best.shape[-1])
    if most <= 0:
        return best.new_zeros(best.shape[:-1])
    least = torch.where(best.isnan(), -torch.inf, best).topk(most, dim=-1, largest=False).values
    counted = torch.arange(most) < budget.reshape(-1, *[1] * (best.ndim - 1))
    return torch.where(counted, least, 0.0).sum(-1)
