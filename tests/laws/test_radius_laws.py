"""The laws of safe radii over every network: never contradicted, ordered as norms and index sets are, edges."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from lexproof.bounds.ball_network import BallNetwork  # noqa: E402
from lexproof.safe_radius.descent import nearest_flip  # noqa: E402
from lexproof.safe_radius.lower import certified_radii, margin_bound, region_of  # noqa: E402
from lexproof.text import Text  # noqa: E402
from lexproof.victims.balls import Item, Opened, opened  # noqa: E402
from lexproof.victims.base import Victim  # noqa: E402
from small_victims import SHAPES, WORDS, transformer_victim, word_victim  # noqa: E402

KINDS = [*SHAPES, "transformer"]
SLOW = {"cnn-deep", "lstm", "bilstm", "transformer"}
NORMS = (1.0, 2.0, math.inf)
TOLERANCE = 0.1
STEPS = 10


@pytest.fixture(scope="module")
def victims(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Victim]:
    folder: Path = tmp_path_factory.mktemp("transformer")
    words = {kind: word_victim(kind, seed, scale=0.6) for seed, kind in enumerate(SHAPES)}
    return {**words, "transformer": transformer_victim(folder, 3)}


@pytest.fixture(params=KINDS)
def victim(request: pytest.FixtureRequest, victims: dict[str, Victim]) -> Victim:
    """Each network in turn."""
    return victims[request.param]


def texts(victim: Victim, seed: int, count: int, length: int = 5) -> list[Text]:
    """Texts of one length, with repeated and unknown words; of many those that are closest to another class."""
    rng = np.random.default_rng(seed)
    found = [Text.from_words([str(word) for word in rng.choice([*WORDS[:9], "never"], length)]) for _ in range(40)]
    scores = np.sort(victim.scores([text.input for text in found]), axis=1)
    margins = scores[:, -1] - scores[:, -2]
    margins[margins < 20 * victim.rounding] = np.inf  # as good as ties
    return [found[number] for number in np.argsort(margins)[:count].tolist()]


def labels_of(network: BallNetwork) -> Any:
    return network.graph(torch.arange(len(network.center))).value(network.center).argmax(1)


def lowers(victim: Victim, found: Opened, norm: float, tolerance: float = TOLERANCE) -> dict[int, float]:
    """The certified radius of each item."""
    radii: dict[int, float] = {}
    for group in found.groups:
        labels = labels_of(group.network)
        own = certified_radii(group.network, labels, norm, theta=2 * victim.rounding, tolerance=tolerance)
        radii |= dict(zip(group.items, own.tolist(), strict=True))
    return radii


def uppers(found: Opened, norm: float) -> dict[int, float]:
    """The distance of the nearest flip found of each item."""
    radii: dict[int, float] = {}
    for group in found.groups:
        flips = nearest_flip(group.network, labels_of(group.network), norm, seed=0, steps=STEPS, restarts=1)
        radii |= dict(zip(group.items, flips.distance.tolist(), strict=True))
    return radii


# ---------------------------------------------------------------------- soundness


def own_logits(victim: Any, found: Opened, items: Sequence[int], points: Any) -> Any:
    """The victim's own network on the vectors that points stand for."""
    ids, places, types = (
        torch.from_numpy(np.stack([getattr(found.tokens[item], name) for item in items]))
        for name in ("ids", "places", "types")
    )
    is_word_model = victim.kind != "transformer"
    vectors = (victim.net.embedding if is_word_model else victim.model.get_input_embeddings())(ids).clone()
    raw = found.scale.raw(points).to(vectors.dtype)
    vectors = vectors.scatter(1, places[:, :, None].expand_as(raw), raw)
    with torch.no_grad():
        if is_word_model:
            return victim.net.logits(vectors, torch.full((len(vectors),), vectors.shape[1]))
        return victim.model(inputs_embeds=vectors, token_type_ids=types).logits


def descended(network: BallNetwork, labels: Any, radius: Any, norm: float, seed: int) -> list[Any]:
    """Points of the balls with small margins: towards the minimizers of the linearized margin, from two starts."""
    rows = torch.arange(len(labels))
    region, graph = region_of(network, rows, radius, norm), network.graph(rows)
    generator = torch.Generator().manual_seed(seed)
    found = []
    for start in range(2):
        noise = torch.randn(region.center.shape, generator=generator, dtype=torch.float64)
        point = torch.lerp(region.center, farthest_along(region, noise), float(start))
        for step in range(STEPS):
            point = point.detach().requires_grad_()
            logits = graph.value(point)
            own = logits.gather(1, labels[:, None])[:, 0]
            margin = own - logits.scatter(1, labels[:, None], -math.inf).amax(1)
            (gradient,) = torch.autograd.grad(margin.sum(), point)
            found.append(point.detach())
            # a mean of points of a convex set stays in it
            point = torch.lerp(point, farthest_along(region, gradient), 2.0 / (step + 2))
    return found


def farthest_along(region: Any, form: Any) -> Any:
    """The minimizers of linear forms: by the envelope theorem the gradient of the minimum."""
    wide = form[:, None].detach().clone().requires_grad_()
    return torch.autograd.grad(region.minimum(wide).sum(), wide)[0][:, 0]


@pytest.mark.parametrize(
    ("kind", "norm"), [*product(sorted(set(KINDS) - SLOW), NORMS), *zip(sorted(SLOW), NORMS * 2, strict=False)]
)
def test_no_point_of_a_certified_ball_changes_the_class(victims: dict[str, Victim], kind: str, norm: float) -> None:
    victim = victims[kind]
    items = [Item(text, words) for text in texts(victim, 1, 3) for words in ((2,), (1, 3))]
    found = opened(victim, items)
    certified = 0
    for group in found.groups:
        network, rows, labels = group.network, torch.arange(len(group.items)), labels_of(group.network)
        radii = certified_radii(network, labels, norm, theta=2 * victim.rounding, tolerance=TOLERANCE)
        certified += int((radii > 0).sum())
        radii = torch.minimum(radii, region_of(network, rows, torch.zeros_like(radii), norm).farthest())
        bound = margin_bound(network, rows, radii, labels, norm)
        for point in descended(network, labels, radii, norm, seed=2):
            distance = torch.linalg.vector_norm((point - network.center).flatten(1), ord=norm, dim=1)
            assert (distance <= radii + 1e-9).all()
            logits = network.graph(rows).value(point)
            own = logits.gather(1, labels[:, None])[:, 0]
            assert (own - logits.scatter(1, labels[:, None], -math.inf).amax(1) >= bound - 1e-9).all()
            theirs = own_logits(victim, found, group.items, point)
            assert ((theirs.argmax(1) == labels) | (radii == 0)).all()
    assert certified


# ---------------------------------------------------------------------- order


def test_lower_ends_are_below_upper_ends_in_every_norm(victim: Victim) -> None:
    """MSR_inf <= MSR_2 <= MSR_1 <= D MSR_inf, for D numbers that move: so are any lower and upper ends of them."""
    found = opened(victim, [Item(text, (1, 2)) for text in texts(victim, 3, 2)])
    lower = {norm: lowers(victim, found, norm) for norm in NORMS}
    upper = {norm: uppers(found, norm) for norm in NORMS}
    assert any(value < math.inf for ends in upper.values() for value in ends.values())
    for item, own in enumerate(found.tokens):
        size = len(own.places) * len(found.scale.low)
        for one, other in combinations(NORMS, 2):  # `one` is the larger norm
            assert lower[other][item] <= upper[one][item] * (1 + 1e-9)
            assert lower[one][item] <= size * upper[other][item] * (1 + 1e-9)
        for norm in NORMS:
            assert 0 <= lower[norm][item] <= upper[norm][item] * (1 + 1e-9)


def test_more_words_have_no_larger_radius(victim: Victim) -> None:
    text = texts(victim, 4, 1)[0]
    found = opened(victim, [Item(text, words) for words in ((1,), (1, 2), (0, 1, 2, 4))])
    lower, upper = lowers(victim, found, 2.0), uppers(found, 2.0)
    for few, many in combinations(range(3), 2):
        assert lower[many] <= upper[few] * (1 + 1e-9)


def test_an_item_has_the_same_radius_alone_and_among_others(victim: Victim) -> None:
    items = [Item(text, (2,)) for text in texts(victim, 5, 3)]
    among = lowers(victim, opened(victim, [*items, items[0]]), 2.0)
    assert among[0] == pytest.approx(among[3], rel=1e-6)
    for number, item in enumerate(items):
        alone = lowers(victim, opened(victim, [item]), 2.0)
        assert alone[0] == pytest.approx(among[number], rel=2 * TOLERANCE)


def test_the_bound_of_a_row_does_not_depend_on_the_rows_beside_it(victim: Victim) -> None:
    for group in opened(victim, [Item(text, (1, 2)) for text in texts(victim, 9, 4)]).groups:
        rows, labels = torch.arange(len(group.items)), labels_of(group.network)
        for scale in (0.02, 0.2, 1.0):
            radius = scale * torch.linspace(0.1, 1.0, len(rows), dtype=torch.float64)
            together = margin_bound(group.network, rows, radius, labels, 2.0)
            for row in torch.split(rows, 1):
                alone = margin_bound(group.network, row, radius[row], labels[row], 2.0)
                torch.testing.assert_close(alone, together[row], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", [1, 3, 6])
def test_a_radius_is_proven_by_a_bound_that_knows_nothing_of_the_search(seed: int, norm: float) -> None:
    """Boxes handed on from larger balls can be tighter than those of the ball itself: no proof may rest on them."""
    victim = word_victim("cnn-deep", seed)
    rng = np.random.default_rng(seed)
    lines = [Text.from_words([str(word) for word in rng.choice(WORDS, 7)]) for _ in range(6)]
    found = opened(victim, [Item(text, (word,)) for text in lines for word in range(7)])
    radii, theta = lowers(victim, found, norm, tolerance=0.01), 2 * victim.rounding
    for group in found.groups:
        for row, number in enumerate(group.items):
            if 0 < radii[number] < math.inf:
                at, radius = torch.tensor([row]), torch.tensor([radii[number]], dtype=torch.float64)
                assert float(margin_bound(group.network, at, radius, labels_of(group.network)[at], norm)) > theta


# ---------------------------------------------------------------------- edges


def last_layer(victim: Any) -> Any:
    return victim.model.classifier if victim.kind == "transformer" else victim.net.last


def test_a_ball_of_radius_0_is_the_text(victim: Victim) -> None:
    found = opened(victim, [Item(text, (0, 4)) for text in texts(victim, 6, 3)])
    for group in found.groups:
        rows, labels = torch.arange(len(group.items)), labels_of(group.network)
        bound = margin_bound(group.network, rows, torch.zeros(len(rows)).double(), labels, 2.0)
        logits = group.network.graph(rows).value(group.network.center)
        own = logits.gather(1, labels[:, None])[:, 0] - logits.scatter(1, labels[:, None], -math.inf).amax(1)
        torch.testing.assert_close(bound, own, rtol=1e-7, atol=1e-9)


def test_a_tie_has_no_radius_and_a_sure_thing_all_of_the_box(victim: Victim) -> None:
    tied, sure = copy.deepcopy(victim), copy.deepcopy(victim)
    items = [Item(text, (1,)) for text in texts(victim, 7, 2)]
    with torch.no_grad():
        last_layer(tied).weight[1:] = last_layer(tied).weight[0]
        last_layer(tied).bias[1:] = last_layer(tied).bias[0]
        last_layer(sure).weight[:] = 0.0
        last_layer(sure).bias[:] = torch.tensor([0.0, 1.0, 0.5])
    for norm in NORMS:
        assert set(lowers(tied, opened(tied, items), norm).values()) == {0.0}
        assert set(lowers(sure, opened(sure, items), norm).values()) == {math.inf}


def test_words_that_are_never_read_have_no_vectors(victim: Victim) -> None:
    (text,) = texts(victim, 8, 1, length=20)
    found = opened(victim, [Item(text, (19,)), Item(text, (0, 19)), Item(text, (0,))])
    assert sorted(item for group in found.groups for item in group.items) == [1, 2]
    radii = lowers(victim, found, 2.0)
    assert radii[1] == pytest.approx(radii[2], rel=2 * TOLERANCE)
