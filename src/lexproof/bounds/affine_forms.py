"""Numbers of a network as affine forms of its input and of error symbols: what bounds carry forward.

Row n, number k is
    center[n, k] + <inputs[n, :, k], x - c> + sum over symbols s of coefficient[n, s, k] e_s + an error of at most slack
for some numbers e_s in [-1, 1], the same ones for all numbers of the row; x is the input and c the region's center.
So what two numbers have in common, errors included, cancels where they are subtracted: that is why affine forms stay
tight over many steps, where intervals do not.

Symbols come in blocks, named by the operation that made them, one symbol for each of its units.  At first a unit has
its *own* symbol; once mixed with others by a matrix a block is *shared* by all of them.

Rounding.  Shared coefficients are held in float32, which halves the work; with u = 2^-24:
- a product of matrices with m inner terms, summed in any order, is off by at most (m + 4) u times the product of their
  sizes, the rounding of both to float32 included; over all symbols that is (m + 4) u |W| (sum_s |coefficient_s|);
- a sum of four products with numbers of float64 rounded to float32 is off by at most 8 u times the sum of their sizes;
- a sum of m sizes is off by at most (m + 4) u times itself.
Each is added where it arises, with room to spare: to the slack, to a new symbol or to a sum of sizes.  Where torch may
multiply with less than float32 (it can be told to), float64 takes its place.  All else is computed in float64.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lexproof.bounds.graph import Box
from lexproof.bounds.reach import reach
from lexproof.bounds.region import Region

_UNIT = 2.0**-24
_NEGLIGIBLE = 1e-5  # of all coefficients' sizes
_TINY = 1e-30  # more than underflow of float32 takes from any sum here


@dataclass(frozen=True, slots=True, eq=False)
class AffineForms:
    """F numbers in each of N rows."""

    center: Tensor  # (N, F)
    inputs: Tensor  # (N, D, F), for D coordinates of the input
    shared: Mapping[int, Tensor]  # by block: (N, symbols, F)
    own: Mapping[int, Tensor]  # by block: (N, F), the coefficient of symbol k for number k
    slack: Tensor  # (N, F)
    spread: Tensor  # (N, F): at least the sum of all coefficients' sizes and of the slack

    @classmethod
    def of(
        cls, center: Tensor, inputs: Tensor, shared: Mapping[int, Tensor], own: Mapping[int, Tensor], slack: Tensor
    ) -> AffineForms:
        """The forms with their spread."""
        spread = slack + _sum(sizes.abs() for sizes in own.values()) + _sum(map(_size, shared.values()))
        return cls(center, inputs, shared, own, slack, spread)

    @classmethod
    def constant(cls, value: Tensor, coordinates: int) -> AffineForms:
        """Numbers (N, F) that depend on nothing."""
        nothing = torch.zeros_like(value)
        return cls(value, nothing[:, None].expand(-1, coordinates, -1), {}, {}, nothing, nothing)

    def part(self, start: int, stop: int) -> AffineForms:
        """Some of the numbers; none has a symbol of its own."""
        assert not self.own, "own symbols are numbered as the units are"
        shared = {block: symbols[:, :, start:stop] for block, symbols in self.shared.items()}
        inputs = self.inputs[:, :, start:stop]
        center, slack, spread = (given[:, start:stop] for given in (self.center, self.slack, self.spread))
        return AffineForms(center, inputs, shared, {}, slack, spread)

    def with_shared_symbols(self) -> AffineForms:
        """The same with all symbols shared; the rounding of own ones goes to the slack."""
        own = {block: torch.diag_embed(sizes.to(_symbol_type())) for block, sizes in self.own.items()}
        slack = self.slack + _sum(4 * _UNIT * sizes.abs() for sizes in self.own.values())
        return AffineForms(self.center, self.inputs, {**self.shared, **own}, {}, slack, self.spread * (1 + 8 * _UNIT))

    def box(self, region: Region) -> Box:
        """The least and largest value of each number over the region."""
        low, high = reach(region, self.inputs.mT)
        return Box(self.center + low - self.spread, self.center + high + self.spread)

    def mapped(self, weight: Tensor) -> AffineForms:
        """W times the numbers, for a matrix W (out, F)."""
        narrow = weight.T.to(_symbol_type())
        shared = {block: symbols @ narrow for block, symbols in self.shared.items()}
        shared |= {block: sizes.to(narrow.dtype)[:, :, None] * narrow for block, sizes in self.own.items()}
        slack = (self.slack + _rounding(len(narrow)) * self.spread + _TINY) @ weight.abs().T
        return AffineForms.of(self.center @ weight.T, self.inputs @ weight.T, shared, {}, slack)

    def replaced(self, where: Tensor, box: Box, block: int) -> AffineForms:
        """The numbers of a mask (N, F) as the middles of their boxes, with a symbol of that block for the rest."""
        keep = (~where).double()
        own = {name: sizes * keep for name, sizes in self.own.items()}
        own[block] = torch.where(where, box.high / 2 - box.low / 2, own[block])
        narrow = keep.to(_symbol_type())[:, None]
        return AffineForms.of(
            torch.where(where, box.low / 2 + box.high / 2, self.center),
            self.inputs * keep[:, None],
            {name: symbols * narrow for name, symbols in self.shared.items()},
            own,
            self.slack * keep,
        )


def mixed(parts: Sequence[tuple[Tensor, AffineForms]], height: Tensor, error: Tensor, block: int) -> AffineForms:
    """The sum of slope (N, F) times form over at most four parts, plus a height and a new symbol for an error.

    A block that one part owns, no other part has.  Shared blocks that hardly matter any more join the new symbol.
    """
    slopes = [slope.to(_symbol_type())[:, None] for slope, _ in parts]
    shared: dict[int, Tensor] = {}
    for narrow, (_, forms) in zip(slopes, parts, strict=True):
        for name, symbols in forms.shared.items():
            if name in shared:
                shared[name].addcmul_(symbols, narrow)
            else:
                shared[name] = symbols * narrow
    own = {name: sizes * slope for slope, forms in parts for name, sizes in forms.own.items()}
    own[block] = error + _TINY + _sum(slope.abs() * (forms.slack + 16 * _UNIT * forms.spread) for slope, forms in parts)
    sizes = {name: _size(symbols) for name, symbols in shared.items()}
    spread = _sum(sizes.values()) + _sum(size.abs() for size in own.values())
    for name, size in sizes.items():
        joins = (size <= _NEGLIGIBLE * spread).all(1)  # row by row: the bounds of a row are its own
        if bool(joins.any()):
            own[block] = own[block] + torch.where(joins[:, None], size, 0.0)
            if bool(joins.all()):
                del shared[name]
            else:
                shared[name] = shared[name] * ~joins[:, None, None]
    center = height + _sum(slope * forms.center for slope, forms in parts)
    inputs = _sum(slope[:, None] * forms.inputs for slope, forms in parts)
    return AffineForms(center, inputs, shared, own, torch.zeros_like(error), spread)


def joint_spreads(first: tuple[Tensor, AffineForms], second: tuple[Tensor, AffineForms]) -> tuple[Tensor, Tensor]:
    """At least what symbols and slack of a x + b y, and of a x - b y, add up to, for (a, x) and (b, y)."""
    (a, x), (b, y) = first, second
    sizes = a.abs() * x.spread + b.abs() * y.spread
    symbols = max([a.shape[1], *(own.shape[1] for own in (*x.shared.values(), *y.shared.values()))])
    alone = _rounding(symbols) * sizes + a.abs() * x.slack + b.abs() * y.slack + _TINY
    for factor, forms, other in ((a, x, y), (b, y, x)):
        alone = alone + _sum((factor * own).abs() for own in forms.own.values())
        for name in forms.shared.keys() - other.shared.keys():
            alone = alone + factor.abs() * forms.shared[name].abs().sum(1).double()
    plus, minus = alone, alone
    narrow = [factor.to(_symbol_type())[:, None] for factor in (a, b)]
    for name in x.shared.keys() & y.shared.keys():
        p, q = x.shared[name] * narrow[0], y.shared[name] * narrow[1]
        plus, minus = plus + (p + q).abs_().sum(1).double(), minus + p.sub_(q).abs_().sum(1).double()
    return plus, minus


def _size(symbols: Tensor) -> Tensor:
    """At least the sum of the sizes of a block's coefficients: (N, symbols, F) to (N, F)."""
    return symbols.abs().sum(1).double() * (1 + _rounding(symbols.shape[1]))


def _rounding(terms: int) -> float:
    """More than the relative error of sums of so many products in float32."""
    return 1.01 * (terms + 32) * _UNIT


def _symbol_type() -> torch.dtype:
    """float32, unless torch was told that its products may be computed with less precision, or casts them itself."""
    if torch.is_autocast_enabled("cpu"):
        return torch.float64
    settings = getattr(torch.backends.mkldnn, "matmul", None)  # not in older releases, which have only the other one
    if settings is None:
        is_full = torch.get_float32_matmul_precision() == "highest"
    else:
        is_full = settings.fp32_precision in ("none", "ieee")
    return torch.float32 if is_full else torch.float64


def _sum(terms: Iterable[Tensor]) -> Tensor:
    return sum(terms, torch.zeros((), dtype=torch.float64))
