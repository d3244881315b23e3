"""Convolution and max over the text in one, with a backward pass that knows that only maxima have gradients.

Of L outputs a filter has in a text, the max passes the gradient to one: B F windows matter out of B F L.  So the
weights' gradient is a sum of B windows a filter, and the input's gradient a sum of filters at the windows they chose,
instead of two convolutions over the whole text.

Guarantee: the values are those of the convolution and of `amax`; the gradient is that of the max at the first largest
output (where several are equal, any of them is a subgradient).  It cannot be differentiated again.

Symbols: B texts of L words, vectors of d numbers, F filters of a width.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


class _LargestOutput(torch.autograd.Function):
    """(B, d, L + width - 1) padded, (F, d, width), (F,), (B, L) which places count: (B, F)."""

    @staticmethod
    def forward(ctx: Any, padded: Tensor, weight: Tensor, bias: Tensor, inside: Tensor) -> Tensor:
        outputs = nn.functional.conv1d(padded, weight, bias).masked_fill_(~inside[:, None], -torch.inf)
        largest, at = outputs.max(2)
        ctx.save_for_backward(padded, weight, at)
        return largest

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None]:
        padded, weight, at = ctx.saved_tensors
        rows = padded.transpose(1, 2).contiguous()  # (B, L + width - 1, d): a window is one run of numbers
        wants_input, wants_weight = ctx.needs_input_grad[:2]
        return (
            _input_gradient(rows.shape, weight, at, gradient).transpose(1, 2) if wants_input else None,
            _weight_gradient(rows, weight.shape, at, gradient) if wants_weight else None,
            gradient.sum(0),
            None,
        )


def _weight_gradient(rows: Tensor, shape: torch.Size, at: Tensor, gradient: Tensor) -> Tensor:
    """Of each filter the sum of the windows it chose, one a text, weighed by their gradients."""
    filters, dim, width = shape
    count, length, _ = rows.shape
    windows = rows.flatten(1).unfold(1, width * dim, dim).reshape(-1, width * dim)  # (B L, width d)
    chosen = at + torch.arange(count)[:, None] * (length - width + 1)
    summed = nn.functional.embedding_bag(
        chosen.T.contiguous(), windows, mode="sum", per_sample_weights=gradient.T.contiguous()
    )
    return summed.view(filters, width, dim).transpose(1, 2)


def _input_gradient(shape: torch.Size, weight: Tensor, at: Tensor, gradient: Tensor) -> Tensor:
    """At each window the sum of the filters that chose it, added up where windows overlap."""
    filters, _, width = weight.shape
    count, length, dim = shape
    places = length - width + 1
    keys, order = (at + torch.arange(count)[:, None] * places).flatten().sort(stable=True)
    starts = torch.searchsorted(keys, torch.arange(count * places))
    by_window = nn.functional.embedding_bag(
        order % filters,
        weight.transpose(1, 2).reshape(filters, -1).contiguous(),
        starts,
        mode="sum",
        per_sample_weights=gradient.flatten()[order],
    ).view(count, places, width, dim)
    found = gradient.new_zeros(count, length, dim)
    for k in range(width):
        found[:, k : k + places] += by_window[:, :, k]
    return found


def largest_output(conv: nn.Conv1d, padded: Tensor, inside: Tensor) -> Tensor:
    """The largest output of each filter over the places inside each text: (B, F)."""
    found: Tensor = _LargestOutput.apply(padded, conv.weight, conv.bias, inside)  # type: ignore[no-untyped-call]
    return found
