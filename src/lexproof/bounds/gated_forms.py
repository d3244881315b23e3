"""The two halves of an LSTM step for affine forms: each product of a gate between two parallel planes.

A product is s v with s = sigmoid(y) and v = tanh(x), or v = x, and y, x known as affine forms inside boxes.
1. Strips (curves.py): s = k y + m + e with |e| <= E, and v = k' x + m' + e' with |e'| <= E'.
2. With any numbers s0, v0 and u = s - s0, w = v - v0,
       s v = v0 s + s0 v - s0 v0 + u w = v0 (k y + m) + s0 (k' x + m') - s0 v0 + (v0 e + s0 e' + u w).
   The bracket is the error: |v0| E + |s0| E' around the range of u w.  The slopes are v0 k and s0 k'.
3. The range of u w.  With s0, v0 in the middle of the ranges of s and v, |u w| <= r r' for their half-widths.
   And for any number l > 0, as 4 u w = (l u + w / l)^2 - (l u - w / l)^2,
       -max (l u - w / l)^2 / 4 <= u w <= max (l u + w / l)^2 / 4,
   where l u +- w / l is again an affine form up to the errors of the strips: what y and x have in common counts.
   With l = sqrt(r' / r) and linear forms a, b of an L2 ball of radius t these are -t^2 (|a||b| - <a, b>) / 2 and
   t^2 (|a||b| + <a, b>) / 2, exactly the range of <a, x> <b, x>: half as wide as r r' alone says.
Each step holds for every choice of its free numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from lexproof.bounds.affine_forms import AffineForms, joint_spreads, mixed
from lexproof.bounds.curves import Sigmoid, Strip, Tanh
from lexproof.bounds.gates import Plane, UnitPlanes
from lexproof.bounds.graph import Box
from lexproof.bounds.reach import reach
from lexproof.bounds.region import Region

_STEEPEST = 1e6  # of the free number l


class Known(NamedTuple):
    """Numbers (N, F) as affine forms, and their box, which may be tighter than that of the forms."""

    forms: AffineForms
    box: Box

    def part(self, number: int, units: int) -> Known:
        """One block of so many units."""
        cut = slice(number * units, (number + 1) * units)
        forms = self.forms.part(cut.start, cut.stop)
        return Known(forms, Box(self.box.low[:, cut], self.box.high[:, cut]))


class Bounded(NamedTuple):
    """An operation's output as affine forms, and its planes for backward bounds."""

    forms: AffineForms
    planes: UnitPlanes


def cell_state(gates: Known, cell: Known, region: Region, block: int) -> Bounded:
    """sigmoid(f) c + sigmoid(i) tanh(g) of the gates i, f, g side by side and the cell state c."""
    units = cell.box.low.shape[1]
    into, forget, new = (gates.part(number, units) for number in range(3))
    old = Known(cell.forms.with_shared_symbols(), cell.box)
    kept, added = _gated(forget, old, None, region), _gated(into, new, Tanh(), region)
    slopes = (added.gate, kept.gate, added.other, kept.other)
    return _bounded((into, forget, new, old), slopes, kept.height + added.height, kept.error + added.error, block)


def hidden_state(out: Known, cell: Known, region: Region, block: int) -> Bounded:
    """sigmoid(o) tanh(c) of the gate o and the cell state c."""
    found = _gated(out, cell, Tanh(), region)
    return _bounded((out, cell), (found.gate, found.other), found.height, found.error, block)


def _bounded(
    inputs: tuple[Known, ...], slopes: tuple[Tensor, ...], height: Tensor, error: Tensor, block: int
) -> Bounded:
    parts = [(slope, known.forms) for slope, known in zip(slopes, inputs, strict=True)]
    planes = UnitPlanes(Plane(slopes, height - error), Plane(slopes, height + error))
    return Bounded(mixed(parts, height, error, block), planes)


class _Gated(NamedTuple):
    """|s v - gate y - other x - height| <= error."""

    gate: Tensor
    other: Tensor
    height: Tensor
    error: Tensor


def _gated(gate: Known, other: Known, curve: Tanh | None, region: Region) -> _Gated:
    """Parallel planes of sigmoid(y) v, with v = curve(x), or x itself if there is no curve."""
    nothing = torch.zeros_like(other.box.low)
    lines = (
        Sigmoid().strip(gate.box),
        Strip(nothing + 1, nothing, nothing) if curve is None else curve.strip(other.box),
    )
    ranges = Sigmoid().interval(gate.box), other.box if curve is None else curve.interval(other.box)
    (s0, v0), (r, r_other) = ([end / 2 for end in ends] for ends in _sums_and_widths(ranges))
    low, high = _product_range((gate, lines[0], s0, r), (other, lines[1], v0, r_other), region)
    height = v0 * lines[0].height + s0 * lines[1].height - s0 * v0 + (low + high) / 2
    error = v0.abs() * lines[0].error + s0.abs() * lines[1].error + (high - low) / 2
    return _Gated(v0 * lines[0].slope, s0 * lines[1].slope, height, error)


def _sums_and_widths(boxes: tuple[Box, Box]) -> tuple[list[Tensor], list[Tensor]]:
    return [box.low + box.high for box in boxes], [box.high - box.low for box in boxes]


_Factor = tuple[Known, Strip, Tensor, Tensor]
"""What a factor is a curve of, its strip, the middle of its range and half the width of that."""


def _product_range(first: _Factor, second: _Factor, region: Region) -> tuple[Tensor, Tensor]:
    """The range of u w: the meeting of what widths say and of what the joint forms say."""
    (y, strip, s0, r), (x, other_strip, v0, r_other) = first, second
    free = (
        torch.where((r > 0) & (r_other > 0), r_other / torch.where(r > 0, r, 1.0), 1.0)
        .sqrt()
        .clamp(1 / _STEEPEST, _STEEPEST)
    )
    a, b = free * strip.slope, other_strip.slope / free
    u0 = free * (strip.slope * y.forms.center + strip.height - s0)
    w0 = (other_strip.slope * x.forms.center + other_strip.height - v0) / free
    errors = free * strip.error + other_strip.error / free
    spreads = joint_spreads((a, y.forms), (b, x.forms))
    from_y, from_x = a[:, None] * y.forms.inputs, b[:, None] * x.forms.inputs
    reached = [
        torch.stack(part.chunk(2, 1)) for part in reach(region, torch.cat([from_y + from_x, from_y - from_x], 2).mT)
    ]
    middles, wide = torch.stack([u0 + w0, u0 - w0]), torch.stack(spreads) + errors
    largest = torch.maximum((middles + reached[1] + wide).abs(), (middles + reached[0] - wide).abs())
    joint, product = largest.square() / 4, r * r_other
    return -torch.minimum(product, joint[1]), torch.minimum(product, joint[0])
