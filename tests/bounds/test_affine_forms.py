"""Affine forms: every operation keeps all numbers that the forms stand for, rounding included."""

import pytest
import torch
from form_cases import ROWS, ball, forms, points, symbols, values
from torch import Tensor

from lexproof.bounds.affine_forms import AffineForms, joint_spreads, mixed
from lexproof.bounds.ball import NORMS
from lexproof.bounds.graph import Box

COUNT, WIDTH = 60, 4
BLOCKS = {1: 4, 2: 4, 3: WIDTH, 4: WIDTH}


def cases(norm: float = 2.0) -> tuple[object, Tensor, dict[int, Tensor], Tensor]:
    region = ball(0, norm)
    chosen = symbols(BLOCKS, COUNT, 2)
    slack = symbols({0: WIDTH}, COUNT, 3)[0]
    return region, points(region, COUNT, 1), chosen, slack


def residual(found: AffineForms, true: Tensor, case: tuple, block: int | None = None) -> Tensor:  # type: ignore[type-arg]
    """How far numbers are from what their forms say without the slack and without the symbols of a block."""
    region, at, chosen, _ = case
    rest = {**chosen, block: torch.zeros_like(true)} if block is not None else chosen
    return (true - values(found, region, at, rest, torch.zeros(()))).abs()  # type: ignore[arg-type]


@pytest.mark.parametrize("norm", NORMS)
def test_the_box_holds_all_values_and_is_attained(norm: float) -> None:
    case = cases(norm)
    region, at, chosen, slack = case
    given = forms(0, WIDTH, (1, 2), (3,))
    true = values(given, region, at, chosen, slack)  # type: ignore[arg-type]
    box = given.box(region)  # type: ignore[arg-type]
    assert (true >= box.low - 1e-12).all() and (true <= box.high + 1e-12).all()
    point = given.center[0] + given.spread[0]  # the first ball is a point: its ends are sums of sizes
    torch.testing.assert_close(box.high[0], point)
    sizes = sum(symbols_.double().abs().sum(1) for symbols_ in given.shared.values())
    torch.testing.assert_close(given.spread, sizes + given.own[3].abs() + given.slack, rtol=1e-5, atol=0)


def test_a_matrix_maps_the_numbers() -> None:
    case = cases()
    region, at, chosen, slack = case
    given = forms(1, WIDTH, (1, 2), (3, 4))
    weight = torch.randn(7, WIDTH, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    weight[2] = 0.0
    found = given.mapped(weight)
    true = values(given, region, at, chosen, slack) @ weight.T  # type: ignore[arg-type]
    assert not found.own and set(found.shared) == {1, 2, 3, 4}
    assert (residual(found, true, case) <= found.slack + 1e-13).all()
    assert (found.slack <= given.slack @ weight.abs().T + 1e-5 * given.spread @ weight.abs().T + 1e-20).all()


def test_rounding_of_wide_products_is_in_the_slack() -> None:
    """512 terms in float32 against float64: the coefficients are off, but by less than the slack."""
    generator = torch.Generator().manual_seed(0)
    coefficients = torch.randn(1, 300, 512, generator=generator, dtype=torch.float64).float()
    nothing = torch.zeros(1, 512, dtype=torch.float64)
    given = AffineForms.of(nothing, nothing[:, None], {1: coefficients}, {}, nothing)
    weight = torch.randn(64, 512, generator=generator, dtype=torch.float64)
    found = given.mapped(weight)
    off = (found.shared[1].double() - coefficients.double() @ weight.T).abs().sum(1)
    assert (off > 0).all() and (off <= found.slack).all()
    assert (found.slack <= 1e-3 * found.spread).all()


def test_parts_are_the_numbers_themselves() -> None:
    given = forms(2, 6, (1, 2))
    part = given.part(2, 5)
    assert torch.equal(part.center, given.center[:, 2:5]) and torch.equal(part.inputs, given.inputs[:, :, 2:5])
    assert torch.equal(part.shared[2], given.shared[2][:, :, 2:5])
    assert torch.equal(part.slack, given.slack[:, 2:5]) and torch.equal(part.spread, given.spread[:, 2:5])


def test_own_symbols_may_be_shared() -> None:
    case = cases()
    given = forms(3, WIDTH, (1,), (3, 4))
    found = given.with_shared_symbols()
    assert not found.own and set(found.shared) == {1, 3, 4}
    true = values(given, *case)  # type: ignore[arg-type]
    assert (residual(found, true, case) <= found.slack + 1e-13).all()
    assert (found.slack <= given.slack + 1e-6).all() and (found.spread >= given.spread).all()


def test_a_mix_is_the_sum_and_a_new_symbol() -> None:
    case = cases()
    parts = [forms(4, WIDTH, (1, 2)), forms(5, WIDTH, (1,), (3,)), forms(6, WIDTH, (2,)), forms(7, WIDTH, ())]
    slopes = torch.randn(4, ROWS, WIDTH, generator=torch.Generator().manual_seed(8), dtype=torch.float64)
    height, error = slopes[0] / 2, slopes[1].abs()
    found = mixed(list(zip(slopes, parts, strict=True)), height, error, 4)
    assert set(found.shared) == {1, 2} and set(found.own) == {3, 4} and not found.slack.any()
    true = height + sum(
        slope * values(part, *case)  # type: ignore[arg-type]
        for slope, part in zip(slopes, parts, strict=True)
    )
    for end in (error, -error):
        assert (residual(found, true + end, case, block=4) <= found.own[4] + 1e-13).all()
    slack = sum(slope.abs() * part.slack for slope, part in zip(slopes, parts, strict=True))
    assert (found.own[4] <= error + slack + 1e-5).all()


def test_blocks_that_hardly_matter_join_the_new_symbol() -> None:
    case = cases()
    faint = forms(4, WIDTH, (1,), size=1e-9)
    loud = forms(5, WIDTH, (2,))
    one = torch.ones(ROWS, WIDTH, dtype=torch.float64)
    found = mixed([(one, faint), (one, loud)], 0 * one, one, 4)
    assert set(found.shared) == {2}
    true = values(faint, *case) + values(loud, *case)  # type: ignore[arg-type]
    assert (residual(found, true, case, block=4) <= found.own[4] - 1 + 1e-13).all()
    torch.testing.assert_close(found.spread, AffineForms.of(*_parts(found)).spread)


def test_a_block_may_hardly_matter_in_some_rows_alone() -> None:
    """There it joins the new symbol, whatever the rows beside them hold."""
    case = cases()
    given = forms(4, WIDTH, (1, 2))
    given.shared[1][0] *= 1e-9
    given = AffineForms.of(*_parts(given))  # type: ignore[arg-type]
    one = torch.ones(ROWS, WIDTH, dtype=torch.float64)
    found = mixed([(one, given)], 0 * one, 0 * one, 4)
    assert not found.shared[1][0].any() and all(found.shared[1][row].any() for row in range(1, ROWS))
    assert (residual(found, values(given, *case), case, block=4) <= found.own[4] + 1e-13).all()  # type: ignore[arg-type]
    assert (found.own[4][0] >= given.shared[1][0].abs().sum(0)).all()


def _parts(given: AffineForms) -> tuple[object, ...]:
    return given.center, given.inputs, given.shared, given.own, given.slack


@pytest.mark.parametrize("blocks", [((1, 2), (1, 2)), ((1, 2), (1,)), ((1,), (2,)), ((), ())])
def test_joint_spreads_cover_sums_and_differences(blocks: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    region, _, chosen, slack = cases()
    x, y = forms(0, WIDTH, blocks[0], (3,)), forms(1, WIDTH, blocks[1], (4,))
    a, b = torch.randn(2, ROWS, WIDTH, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    found = joint_spreads((a, x), (b, y))
    center = region.center.expand(COUNT, -1, -1, -1)  # type: ignore[attr-defined]
    for spread, sign in zip(found, (1, -1), strict=True):
        for other in (slack, -slack):
            first = values(x, region, center, chosen, slack) - x.center  # type: ignore[arg-type]
            second = values(y, region, center, chosen, other) - y.center  # type: ignore[arg-type]
            assert ((a * first + sign * b * second).abs() <= spread + 1e-13).all()
    apart = a.abs() * x.spread + b.abs() * y.spread
    assert all((spread <= apart * (1 + 1e-5) + 1e-20).all() for spread in found)


def test_joint_spreads_see_what_is_in_common() -> None:
    """x - x is nothing but its slack and its own symbols; x + x is twice x."""
    x = forms(0, WIDTH, (1, 2))
    one = torch.ones(ROWS, WIDTH, dtype=torch.float64)
    plus, minus = joint_spreads((one, x), (one, x))
    torch.testing.assert_close(plus, 2 * x.spread, rtol=1e-4, atol=0)
    torch.testing.assert_close(minus, 2 * x.slack, rtol=0, atol=1e-4)


def test_a_box_may_take_the_place_of_forms() -> None:
    region, at, chosen, slack = cases()
    given = forms(0, WIDTH, (1, 2), (3,))
    where = torch.rand(ROWS, WIDTH, generator=torch.Generator().manual_seed(1)) < 0.5
    box = Box(torch.full((ROWS, WIDTH), -0.5).double(), torch.full((ROWS, WIDTH), 1.5).double())
    found = given.replaced(where, box, 3)
    assert (found.center[where] == 0.5).all() and (found.own[3][where] == 1.0).all()
    assert (found.spread[where] == 1.0).all()
    true = values(given, region, at, chosen, slack)  # type: ignore[arg-type]
    again = values(found, region, at, chosen, slack)  # type: ignore[arg-type]
    torch.testing.assert_close(again[:, ~where], true[:, ~where])


def test_constants_do_not_move() -> None:
    value = torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = AffineForms.constant(value, 4)
    box = found.box(ball(0, 2.0))
    assert torch.equal(box.low, value) and torch.equal(box.high, value)
    assert not found.mapped(torch.ones(2, WIDTH, dtype=torch.float64)).shared


@pytest.mark.parametrize("setting", ["medium", "high", "highest"])
def test_float64_takes_the_place_of_untrusted_products(setting: str) -> None:
    given = forms(1, WIDTH, (), (3,))
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision(setting)
        found = given.mapped(torch.ones(2, WIDTH, dtype=torch.float64)).shared[3]
    finally:
        torch.set_float32_matmul_precision(before)
    assert found.dtype == (torch.float32 if setting == "highest" else torch.float64)


def test_products_that_torch_casts_are_not_trusted() -> None:
    given = forms(1, WIDTH, (), (3,))
    with torch.autocast("cpu", torch.bfloat16):
        assert given.mapped(torch.ones(2, WIDTH, dtype=torch.float64)).shared[3].dtype == torch.float64


@pytest.mark.parametrize(("setting", "kept"), [("highest", torch.float32), ("medium", torch.float64)])
def test_older_releases_have_one_setting(setting: str, kept: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    given = forms(1, WIDTH, (), (3,))
    monkeypatch.setattr(torch.backends, "mkldnn", object())
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: setting)
    assert given.mapped(torch.ones(2, WIDTH, dtype=torch.float64)).shared[3].dtype == kept
