"""Layer normalization and the maps to and from heads: against torch, against every point, in degenerate boxes."""

import math

import pytest
import torch
from rule_checks import FORMS, choices_of_slopes, random_points, uniform
from torch import Tensor

from lexproof.bounds.graph import Box, Graph, LinearOp, inner
from lexproof.bounds.heads import FromHeads, ToHeads
from lexproof.bounds.layer_norm import Center, MeanPlus, Normalize, Scale, add_layer_norm
from lexproof.bounds.linear_ops import Affine
from lexproof.bounds.region import SwapRegion


def normalized(x: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    centered = x - x.mean(-1, keepdim=True)
    return centered, (centered.square().mean(-1, keepdim=True) + epsilon).rsqrt()


def test_graph_is_torch() -> None:
    generator = torch.Generator().manual_seed(0)
    weight, bias, x = (
        uniform((6,), -2, 2, generator),
        uniform((6,), -1, 1, generator),
        uniform((4, 3, 6), -5, 5, generator),
    )
    graph = Graph()
    assert add_layer_norm(graph, 0, weight, bias, 1e-5) == graph.last
    torch.testing.assert_close(graph.value(x), torch.nn.functional.layer_norm(x, (6,), weight, bias, 1e-5))


@pytest.mark.parametrize("width", [0.0, 1e-6, 0.3, 3.0])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_normalize_holds_with_a_true_root(width: float, size: int) -> None:
    """Boxes of c and r are those of sampled x, so the points are all that the guarantee speaks of."""
    generator = torch.Generator().manual_seed(size)
    center = uniform((30, 2, size), -1, 1, generator)
    points = random_points(Box(center - width, center + width), 40, generator)
    pairs = [normalized(x, 1e-3) for x in points]
    ends = [Box(torch.stack(part).amin(0), torch.stack(part).amax(0)) for part in zip(*pairs, strict=True)]
    for slack in (0.0, 0.5):  # boxes that are too wide, as bounds are
        boxes = [Box(box.low - slack * width, box.high + slack * width) for box in ends]
        boxes[1] = Box(boxes[1].low.clamp(min=1e-3), boxes[1].high.clamp(max=1e-3**-0.5))
        op = Normalize(1e-3)
        found = op.interval(*boxes)
        forms = uniform((30, FORMS, 2, size), -1, 1, generator)
        for slopes in choices_of_slopes(op, boxes, generator):
            pulled = op.relax(*boxes, slopes=slopes).pull(forms)
            assert pulled.forms[1].shape == (30, FORMS, 2, 1)
            for centered, root in pairs:
                output = centered * root
                assert (output >= found.low - 1e-12).all() and (output <= found.high + 1e-12).all()
                bound = inner(pulled.forms[0], centered) + inner(pulled.forms[1], root) + pulled.constant
                assert (bound <= inner(forms, output) + 1e-10).all()


def test_normalize_without_any_knowledge_of_the_variance() -> None:
    """However large the root may be, outputs stay within sqrt(d - 1), and so do the planes: no vast number arises."""
    boxes = [Box(-torch.ones(1, 1, 5).double(), torch.ones(1, 1, 5).double())]
    boxes.append(Box(torch.full((1, 1, 1), 0.5).double(), torch.full((1, 1, 1), 1e6).double()))
    found = Normalize(1e-12).interval(*boxes)
    assert found.high.max() <= 2 + 1e-9 and found.low.min() >= -2 - 1e-9
    assert found.high.max() > 1.9  # it is reached: one number against four equal ones
    pulled = Normalize(1e-12).relax(*boxes).pull(torch.ones(1, 1, 1, 5).double())
    assert pulled.constant.item() == pytest.approx(-10)
    assert all(form.abs().max() == 0 for form in pulled.forms)


def test_normalize_range_uses_the_other_numbers() -> None:
    low, high = torch.tensor([[3.0, -1.0, -3.0]]).double(), torch.tensor([[3.0, 1.0, -2.0]]).double()
    root = Box(torch.full((1, 1), 1e-3).double(), torch.full((1, 1), 1e3).double())
    found = Normalize(0.0).interval(Box(low, high), root)
    assert found.high[0, 0].item() == pytest.approx(3 / math.sqrt((9 + max(4.0, 4.5)) / 3))  # 4.5 by the sum of 0
    assert found.high[0, 1].item() == pytest.approx(1 / math.sqrt((1 + 9 + 4) / 3))


LINEAR = [
    (Center(), (3, 4)),
    (MeanPlus(0.5, 4), (3, 4)),
    (Scale(torch.tensor([1.0, -2.0, 0.0, 3.0]).double(), torch.tensor([0.5, 1.0, 2.0, 0.0]).double()), (3, 4)),
    (ToHeads(Affine(torch.arange(24.0).double().reshape(6, 4).sin(), torch.arange(6.0).double()), 2), (3, 4)),
    (FromHeads(Affine(torch.arange(20.0).double().reshape(5, 4).sin(), torch.arange(5.0).double()), 2), (2, 3, 2)),
]


@pytest.mark.parametrize(("op", "shape"), LINEAR, ids=lambda part: type(part).__name__)
def test_linear_parts(op: LinearOp, shape: tuple[int, ...]) -> None:
    """Forms are exact, and each end of the interval is reached: at the corner its own form points to."""
    generator = torch.Generator().manual_seed(5)
    low = uniform((2, *shape), -1, 1, generator)
    box = Box(low, low + uniform((2, *shape), 0, 1, generator))
    output = op.value(low)
    units = (
        torch.eye(output[0].numel(), dtype=torch.float64)
        .reshape(1, -1, *output.shape[1:])
        .expand(2, *[-1] * output.ndim)
    )
    (form,), constant = op.relax(box).pull(units)
    torch.testing.assert_close(inner(form, low) + constant, output.flatten(1))
    least = torch.where(form > 0, box.low[:, None], box.high[:, None])
    torch.testing.assert_close((form * least).flatten(2).sum(2) + constant, op.interval(box).low.flatten(1))
    most = torch.where(form > 0, box.high[:, None], box.low[:, None])
    torch.testing.assert_close((form * most).flatten(2).sum(2) + constant, op.interval(box).high.flatten(1))


@pytest.mark.parametrize("places", [0, 2])
@pytest.mark.parametrize("budget", [0, 1, 9])
def test_heads_of_words_have_their_exact_range(budget: int, places: int) -> None:
    generator = torch.Generator().manual_seed(8)
    affine = Affine(uniform((6, 4), -1, 1, generator), uniform((6,), -1, 1, generator))
    op = ToHeads(affine, 3)
    original = uniform((1, 3, 4), -1, 1, generator)
    changes = uniform((1, places, 2, 4), -1, 1, generator)
    region = SwapRegion(original, torch.tensor([[2, 0][:places]]), changes, torch.tensor([budget]))
    texts = [original[0]]
    for p, place in enumerate([2, 0][:places]):
        for j in range(2 if budget else 0):
            texts.append(original[0].clone())
            texts[-1][place] += changes[0, p, j]
    values = op.value(torch.stack(texts))
    found = op.budgeted(region)
    torch.testing.assert_close(found.low[0], values.amin(0))
    torch.testing.assert_close(found.high[0], values.amax(0))
