"""What every rule must satisfy, checked at given points of its boxes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from lexproof.bounds.graph import Box, Op, inner

FORMS = 5


def uniform(shape: Sequence[int], low: float, high: float, generator: torch.Generator) -> Tensor:
    return low + (high - low) * torch.rand(*shape, generator=generator, dtype=torch.float64)


def random_points(box: Box, count: int, generator: torch.Generator) -> list[Tensor]:
    """The middle, the ends, random corners and random points of a box."""
    corners = [uniform(box.low.shape, 0, 1, generator).round() for _ in range(count)]
    inside = [uniform(box.low.shape, 0, 1, generator) for _ in range(count)]
    shares = [torch.full_like(box.low, share) for share in (0.0, 0.5, 1.0)]
    return [torch.lerp(box.low, box.high, share) for share in [*shares, *corners, *inside]]


def choices_of_slopes(op: Op, boxes: Sequence[Box], generator: torch.Generator) -> list[Tensor | None]:
    """No choice, both ends and random ones for each form, and the default spelled out for all forms at once."""
    default = op.slopes(*boxes)
    if default is None:
        return [None]
    assert default.min() >= 0 and default.max() <= 1
    shape = (len(default), FORMS, *default.shape[1:])
    ends = [torch.full(shape, share, dtype=torch.float64) for share in (0.0, 1.0)]
    return [None, default[:, None].expand(shape), *ends, uniform(shape, 0, 1, generator)]


def check_rule(op: Op, boxes: Sequence[Box], points: Sequence[Sequence[Tensor]], rounding: float = 1e-10) -> None:
    """`interval` contains the outputs, and no pulled form is above the form of the output, at the given points."""
    generator = torch.Generator().manual_seed(1)
    outputs = [op.value(*point) for point in points]
    found = op.interval(*boxes)
    for output in outputs:
        assert (output >= found.low - rounding).all() and (output <= found.high + rounding).all()
    forms = uniform((len(outputs[0]), FORMS, *outputs[0].shape[1:]), -1, 1, generator)
    forms[:, 0] = forms[:, 0].sign()
    forms[:, 1] = torch.where(forms[:, 1].abs() < 0.5, 0.0, forms[:, 1])
    for slopes in choices_of_slopes(op, boxes, generator):
        for sign in (1.0, -1.0):
            pulled = op.relax(*boxes, slopes=slopes).pull(sign * forms)
            assert torch.isfinite(pulled.constant).all()
            for point, output in zip(points, outputs, strict=True):
                parts = zip(pulled.forms, point, strict=True)
                bound = sum((inner(form, given) for form, given in parts), pulled.constant)
                assert (bound <= inner(sign * forms, output) + rounding).all()
