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
    """The best lower bound, and the slopes that give it for each row and form, both as mere numbers.

    `relaxation.lower` with these slopes is the same bound, differentiable in the weights.
    """
    default = relaxation.default_slopes(form.shape[1])
    slopes = {number: tensor.detach() for number, tensor in default.items() if number <= at}
    best = relaxation.lower(at, form, slopes).detach()
    kept = {number: tensor.clone() for number, tensor in slopes.items()}
    if not slopes or not steps or bool((best > enough).all()):
        return best, kept
    free = {number: tensor.clone().requires_grad_() for number, tensor in slopes.items()}
    ascent = torch.optim.Adam(free.values(), lr=_RATE, maximize=True)
    for _ in range(steps):
        if check is not None:
            check()
        bound = _with_gradients(relaxation, at, form, free)
        better = bound > best
        best = torch.where(better, bound, best)
        for number, tensor in free.items():
            wide = better.reshape(*better.shape, *[1] * (tensor.ndim - 2))
            kept[number] = torch.where(wide, tensor.detach(), kept[number])
        if bool((best > enough).all()):
            break
        ascent.step()
        with torch.no_grad():
            for tensor in free.values():
                tensor.clamp_(0.0, 1.0)
    return best, kept


def _with_gradients(relaxation: Relaxation, at: int, form: Tensor, free: dict[int, Tensor]) -> Tensor:
    """The bound, as numbers; each slope is given its gradient, None if it has no say in this value.

    Of the slopes only: weights under training keep their own gradients, and the graph behind the boxes stays whole.
    """
    slopes = list(free.values())
    with torch.enable_grad():
        bound = relaxation.lower(at, form, free)
        found = (
            torch.autograd.grad(bound.sum(), slopes, allow_unused=True) if bound.requires_grad else [None] * len(free)
        )
    for tensor, gradient in zip(slopes, found, strict=True):
        tensor.grad = gradient
    return bound.detach()
