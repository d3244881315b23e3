"""Word models as programs: the network they state, and bounds that hold for every text of a space."""

import numpy as np
import pytest
import torch
from torch import Tensor

from lexproof.bounds.backward import interval_relaxation, linear_relaxation, margins
from lexproof.bounds.graph import inner
from lexproof.bounds.program import Program
from lexproof.bounds.slopes import optimized
from lexproof.certify.curve import interval_margin
from lexproof.errors import NoRule
from lexproof.points import IntArray
from lexproof.space import Space
from lexproof.text import Text
from lexproof.victims.base import Victim
from lexproof.victims.word_candidates import token_candidates
from lexproof.victims.word_program import word_program
from small_victims import SHAPES, all_scores, word_space, word_victim

CLASSES, ROUNDING = 3, 1e-9
SHORT = [Space("w1 w2 w3", [["w4"], ["w20", "w5"], []], 2)]  # a recurrent network has an operation for every word


def program_of(victim: Victim, spaces: list[Space], budget: int) -> Program:
    return word_program(victim.net, [token_candidates(victim.bind(space)) for space in spaces], budget)  # type: ignore[attr-defined]


def inputs_of(program: Program, points: IntArray, row: int = 0) -> Tensor:
    """What a program's graph reads for points of a text; swaps that the program does not know change nothing."""
    region = program.region
    slots = {
        (int(word), int(choice)): (p, j)
        for p, places in enumerate(program.swaps[row])
        for j, (word, choice) in enumerate(places)
        if choice > 0
    }
    given = region.original[row].expand(len(points), -1, -1).clone()
    for b, word in zip(*np.nonzero(points), strict=True):
        slot = slots.get((int(word), int(points[b, word])))
        if slot is not None:
            given[b, region.places[row, slot[0]]] += region.changes[row, slot[0], slot[1]]
    return given


def wide_logits(victim: Victim, space: Space, points: IntArray) -> Tensor:
    """The logits of texts by the victim's own network in float64."""
    rows = victim.encode(space.render(points))  # type: ignore[attr-defined]
    logits = torch.empty(len(points), victim.classes, dtype=torch.float64)
    wide = victim._wide_net()  # type: ignore[attr-defined]
    table = victim.net.embedding.weight  # type: ignore[attr-defined]
    for chosen, ids, lengths in rows.batches(10_000):
        logits[torch.from_numpy(chosen)] = wide.logits(table[torch.from_numpy(ids)].double(), torch.from_numpy(lengths))
    return logits


def spaces(count: int) -> list[Space]:
    """Small spaces; the last ones are longer than the network reads, or have a single word."""
    long = Space(" ".join(f"w{i}" for i in range(10)), [["w20"] if i in (2, 5, 8) else [] for i in range(10)])
    return [*(word_space(seed) for seed in range(count)), long, Space("w1", [["w2", "w3"]])]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(2))
def test_a_program_is_its_network(shape: str, seed: int) -> None:
    victim = word_victim(shape, seed)
    for space in spaces(8):
        points, scores = all_scores(victim, space)
        program = program_of(victim, [space], space.max_swaps)
        given = inputs_of(program, points)
        logits = program.graph.repeated(len(points)).value(given)
        torch.testing.assert_close(logits, wide_logits(victim, space, points), rtol=0, atol=1e-9)
        # and the victim's scores are those of the logits, up to half of its rounding
        assert np.abs(torch.softmax(logits, 1).numpy() - scores).max() <= victim.rounding / 2


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(2))
def test_bounds_hold_for_every_text(shape: str, seed: int) -> None:
    victim = word_victim(shape, seed)
    form = margins(CLASSES, 0, [1, 2])
    for space in SHORT if "lstm" in shape else spaces(5):
        program = program_of(victim, [space], space.max_swaps)
        points = space.points()
        values = program.graph.repeated(len(points)).values(inputs_of(program, points))
        least = inner(form.expand(len(points), -1, -1), values[-1]).amin(0)
        linear = linear_relaxation(program.graph, program.region)
        for relaxation in (interval_relaxation(program.graph, program.region), linear):
            for box, value in zip(relaxation.boxes, values, strict=True):
                assert (value >= box.low - ROUNDING).all()
                assert (value <= box.high + ROUNDING).all()
            assert (interval_margin(relaxation, form)[0] <= least + ROUNDING).all()
        default = linear.lower(linear.graph.last, form[None])[0]
        chosen = optimized(linear, linear.graph.last, form[None], steps=5)[0]
        assert (default <= least + ROUNDING).all()
        assert (default <= chosen + ROUNDING).all()
        assert (chosen <= least + ROUNDING).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_texts_and_budgets_together_are_each_alone(shape: str) -> None:
    victim, form = word_victim(shape, 1), margins(CLASSES, 1, [0, 2])
    texts = [
        Space("w1 w2 w3 w4", [["w5"], ["w6", "w7"], [], ["w20", "w21"]]),
        Space("w4 w4 w9 w0", [[], ["w1"], [], []]),
    ]
    if "lstm" in shape:
        texts = SHORT
    budgets = torch.tensor([0, 1, 2, 4])
    together = program_of(victim, texts, 9)
    region = together.region.repeat(budgets)
    if any(hasattr(node.op, "repeated") for node in together.graph.nodes):
        texts = texts[:1]  # constants of a text: such a graph is for one text
        together = program_of(victim, texts, 9)
        region = together.region.repeat(budgets)
    rows = len(texts) * len(budgets)
    graph = together.graph.repeated(rows) if len(texts) == 1 else together.graph
    found = linear_relaxation(graph, region).lower(graph.last, form.expand(rows, -1, -1))
    quick = interval_margin(interval_relaxation(graph, region), form)
    for n, space in enumerate(texts):
        for r, budget in enumerate(budgets.tolist()):
            alone = program_of(victim, [space], 9).budgeted(budget)
            row = n * len(budgets) + r
            relaxation = linear_relaxation(alone.graph, alone.region)
            torch.testing.assert_close(relaxation.lower(relaxation.graph.last, form[None])[0], found[row])
            rough = interval_relaxation(alone.graph, alone.region)
            torch.testing.assert_close(interval_margin(rough, form)[0], quick[row])
            for k in range(2):
                one = relaxation.lower(relaxation.graph.last, form[None, k : k + 1])[0, 0]
                torch.testing.assert_close(one, found[row, k])


@pytest.mark.parametrize("shape", SHAPES)
def test_bounds_by_intervals_fall_as_the_budget_grows(shape: str) -> None:
    form = margins(CLASSES, 0, [1, 2])
    for seed in range(1 if "lstm" in shape else 4):
        victim, space = word_victim(shape, seed), word_space(seed + 50, words=7)
        program = program_of(victim, [space], 0)
        bounds = []
        for budget in range(space.n + 2):
            at = program.budgeted(budget)
            bounds.append(interval_margin(interval_relaxation(at.graph, at.region), form)[0])
        swept = torch.stack(bounds)
        assert (swept[1:] <= swept[:-1] + ROUNDING).all()
        torch.testing.assert_close(swept[space.n], swept[space.n + 1])


def test_the_swaps_of_a_program_are_those_that_change_a_token_that_is_read() -> None:
    victim = word_victim("cnn", 0)
    space = Space(
        "w1 never w3 w4 w5 w6 w7 w8", [["w2", "w9"], ["seen", "w2"], [], [], [], [], ["w0"], ["w0"]], 3
    )  # `seen` looks like `never`, and the eighth word is not read
    program = program_of(victim, [space], 3)
    swaps = {(int(i), int(j)) for i, j in program.swaps[0].reshape(-1, 2) if j}
    assert swaps == {(0, 1), (0, 2), (1, 2), (6, 1)}


def test_substitutes_without_a_rule_are_named() -> None:
    victim = word_victim("cnn", 0)
    for space, message in (
        (
            Space("w1 w2", [["w3 w4"], []]),
            "no bound rule for the substitute 'w3 w4' of word 0, 'w1': expected one token",
        ),
        (Space("w1 w2", [[], ["w3", ""]]), "no bound rule for the substitute '' of word 1, 'w2': expected one token"),
        (Space(Text(("w1", "w2"), ("", "-", "")), [["w3"], ["w4"]]), "no bound rule for words that run together"),
    ):
        with pytest.raises(NoRule, match=message):
            token_candidates(victim.bind(space))  # type: ignore[arg-type]
    not_read = Space("w1 w2 w3 w4 w5 w6 w7 w8", [[]] * 7 + [["w3 w4"]])  # the eighth word is not read
    assert not len(token_candidates(victim.bind(not_read)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"widths": (2, 3), "layers": 2}, "no bound rule for convolutions of several widths and several layers"),
        (
            {"widths": (2, 3), "pooling": "flatten"},
            "no bound rule for convolutions of several widths that are flattened",
        ),
    ],
)
def test_networks_without_a_rule_are_named(settings: dict[str, object], message: str) -> None:
    victim = word_victim("cnn", 0, **settings)
    with pytest.raises(NoRule, match=message):
        program_of(victim, [word_space(1)], 1)


def test_a_network_of_another_kind_has_no_rule() -> None:
    victim = word_victim("cnn", 0)
    other = torch.nn.Module()
    other.embedding = victim.net.embedding  # type: ignore[attr-defined]
    with pytest.raises(NoRule, match="no bound rule for the network 'Module'"):
        word_program(other, [token_candidates(victim.bind(Space("w1", [["w2"]])))], 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_space_whose_swaps_change_nothing(shape: str) -> None:
    victim = word_victim(shape, 0)
    space = Space("never w1 w2", [["seen", "heard"], [], []])
    program = program_of(victim, [space], 2)
    form = margins(CLASSES, 0, [1, 2])
    expected = inner(form[None], wide_logits(victim, space, space.points()[:1]))
    for relaxation in (f(program.graph, program.region) for f in (interval_relaxation, linear_relaxation)):
        torch.testing.assert_close(relaxation.lower(relaxation.graph.last, form[None]), expected)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("tight", [False, True])
def test_bounds_are_differentiable_in_the_weights_of_the_network(shape: str, tight: bool) -> None:
    """The gradient matches the difference of the bound along it, for all weights at once, word vectors included."""
    victim, form = word_victim(shape, 4), margins(CLASSES, 0, [1, 2])
    victim.net.double().requires_grad_(True)  # type: ignore[attr-defined]
    relax = linear_relaxation if tight else interval_relaxation

    def bound() -> Tensor:
        program = program_of(victim, SHORT, 1)
        return relax(program.graph, program.region).lower(program.graph.last, form[None]).sum()

    weights = dict(victim.net.named_parameters())  # type: ignore[attr-defined]
    found = torch.autograd.grad(bound(), list(weights.values()))
    for name, gradient in zip(weights, found, strict=True):
        assert torch.isfinite(gradient).all() and gradient.any(), name
    step = 1e-6 / sum(float(gradient.square().sum()) for gradient in found) ** 0.5
    ends = []
    for by in (step, -2 * step):
        with torch.no_grad():
            for weight, gradient in zip(weights.values(), found, strict=True):
                weight += by * gradient
            ends.append(float(bound()))
    slope = sum(float(gradient.square().sum()) for gradient in found)
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(slope, rel=1e-3)
