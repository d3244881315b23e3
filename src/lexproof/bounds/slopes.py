"""Choosing the free slopes of the bounds: gradient ascent on the bound itself.

Every value of the slopes in [0, 1] gives a valid bound, so ascent never needs to be exact, only to improve; the best
bound seen is kept, row by row and form by form.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lexproof.bounds.backward import Check, Relaxation

_RATE = 0.1


def optimized(
    relaxation: Relaxation,
    at: int,
    form: Tensor,
    *,
    steps: int,
    enough: float = float("inf"),
    check: Check | None = None,
) -> Tensor:
    """The best lower bound of <form, value of node `at`> after so many steps, or once all exceed `enough`: (N, S)."""
    best, _ = optimized_slopes(relaxation, at, form, steps=steps, enough=enough, check=check)
    return best


def optimized_slopes(
    relaxation: Relaxation,
    at: int,
    form: Tensor,
    *,
    steps: int,
    enough: float = float("inf"),
    check: Check | None = None,
) -> tuple[Tensor, dict[int, Tensor]]:
    """The best lower bound, and the slopes that give it for each row and form."""
    slopes = relaxation.default_slopes(form.shape[1])
    best = relaxation.lower(at, form, slopes).detach()
    kept = {number: tensor.clone() for number, tensor in slopes.items()}
    if not slopes or not steps or bool((best > enough).all()):
        return best, kept
    free = [tensor.detach().clone().requires_grad_() for tensor in slopes.values()]
    names = list(slopes)
    ascent = torch.optim.Adam(free, lr=_RATE, maximize=True)
    for _ in range(steps):
        if check is not None:
            check()
        with torch.enable_grad():
            bound = relaxation.lower(at, form, dict(zip(names, free, strict=True)))
            ascent.zero_grad()
            torch.autograd.backward(bound.sum())
        better = bound.detach() > best
        if bool(better.any()):
            best = torch.where(better, bound.detach(), best)
            for name, tensor in zip(names, free, strict=True):
                kept[name] = torch.where(
                    better.reshape(*better.shape, *[1] * (tensor.ndim - 2)), tensor.detach(), kept[name]
                )
        if bool((best > enough).all()):
            break
        ascent.step()
        with torch.no_grad():
            for tensor in free:
                tensor.clamp_(0.0, 1.0)
    return best, kept
