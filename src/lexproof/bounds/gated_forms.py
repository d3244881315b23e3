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


class _Factor(NamedTuple):
    """A number curve(x): x as affine forms, a strip of the curve, and the middle and half the width of its range."""

    forms: AffineForms
    strip: Strip
    middle: Tensor
    half: Tensor

    @classmethod
    def of(cls, known: Known, curve: Sigmoid | Tanh | None) -> _Factor:
        """The factor; x itself if there is no curve."""
        nothing = torch.zeros_like(known.box.low)
        strip = Strip(nothing + 1, nothing, nothing) if curve is None else curve.strip(known.box)
        low, high = known.box if curve is None else curve.interval(known.box)
        return cls(known.forms, strip, (low + high) / 2, (high - low) / 2)

    def scaled(self, by: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """by * (curve(x) - middle): its slope of x, its value at the form's center, and its error."""
        slope, height, error = self.strip
        return by * slope, by * (slope * self.forms.center + height - self.middle), by * error


def _gated(gate: Known, other: Known, curve: Tanh | None, region: Region) -> _Gated:
    """Parallel planes of sigmoid(y) v, with v = curve(x), or x itself if there is no curve."""
    s, v = _Factor.of(gate, Sigmoid()), _Factor.of(other, curve)
    low, high = _product_range(s, v, region)
    height = v.middle * s.strip.height + s.middle * v.strip.height - s.middle * v.middle + (low + high) / 2
    error = v.middle.abs() * s.strip.error + s.middle.abs() * v.strip.error + (high - low) / 2
    return _Gated(v.middle * s.strip.slope, s.middle * v.strip.slope, height, error)


def _product_range(s: _Factor, v: _Factor, region: Region) -> tuple[Tensor, Tensor]:
    """The least and the largest u w: the meeting of what widths say and of what the joint forms say."""
    moves = (s.half > 0) & (v.half > 0)
    ratio = torch.where(moves, v.half, 1.0) / torch.where(moves, s.half, 1.0)
    free = ratio.sqrt().clamp(1 / _STEEPEST, _STEEPEST)
    (a, u, u_error), (b, w, w_error) = s.scaled(free), v.scaled(1 / free)
    from_gate, from_other = a[:, None] * s.forms.inputs, b[:, None] * v.forms.inputs
    low, high = reach(region, torch.cat([from_gate + from_other, from_gate - from_other], 2).mT)
    spread = torch.cat(joint_spreads((a, s.forms), (b, v.forms)), 1) + torch.cat([u_error + w_error] * 2, 1)
    middle = torch.cat([u + w, u - w], 1)
    farthest = torch.maximum((middle + high + spread).abs(), (middle + low - spread).abs())
    above, below = (farthest.square() / 4).chunk(2, 1)
    widths = s.half * v.half
    return -torch.minimum(widths, below), torch.minimum(widths, above)
