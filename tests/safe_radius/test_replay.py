"""Vectors before the victim itself: the text's own are the text, flips are confirmed, nudged or dropped."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import lexproof as lp  # noqa: E402
from lexproof.errors import NoRule  # noqa: E402
from lexproof.safe_radius.descent import nearest_flip  # noqa: E402
from lexproof.safe_radius.replay import confirmed, vector_scores  # noqa: E402
from lexproof.victims.balls import Item, opened, scale_of, tokens_of  # noqa: E402
from lexproof.victims.base import Victim  # noqa: E402
from small_victims import SHAPES, transformer_victim, word_victim  # noqa: E402

TEXT = lp.Text.parse("w1 w2, w9 never w2 w3")
KINDS = [*SHAPES, "transformer"]


def victim_of(kind: str, folder: Path) -> Victim:
    return transformer_victim(folder, 3) if kind == "transformer" else word_victim(kind, 3)


@pytest.mark.parametrize("premise", [None, "w4 w5"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_vectors_of_a_text_are_the_text(kind: str, premise: str | None, tmp_path: Path) -> None:
    victim = victim_of(kind, tmp_path)
    text = lp.Text.parse(str(TEXT) if premise is None else "w1 w2 w9", premise)
    other = text.swap({0: "w7", 2: "w8"})
    scale = scale_of(victim)
    tokens, moved = (tokens_of(victim, Item(own, (0, 2))) for own in (text, other))
    table = victim.model.get_input_embeddings() if kind == "transformer" else victim.net.embedding  # type: ignore[attr-defined]
    rows = [scale.scaled(table.weight[torch.from_numpy(own.ids[own.places])]) for own in (tokens, moved)]
    scores = vector_scores(victim, tokens, scale, torch.stack(rows))
    assert scores == pytest.approx(victim.scores([text.input, other.input]), abs=1e-5)
    assert np.abs(scores[0] - scores[1]).max() > 1e-3
    assert vector_scores(victim, tokens, scale, rows[1]) == pytest.approx(scores[1], abs=1e-6)
    assert vector_scores(victim, tokens, scale, rows[1].expand(2, 3, -1, -1)).shape == (2, 3, 3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("norm", [1.0, 2.0, math.inf])
def test_flips_are_confirmed(kind: str, norm: float, tmp_path: Path) -> None:
    victim = victim_of(kind, tmp_path)
    found = opened(victim, [Item(TEXT, (word,)) for word in range(len(TEXT))])
    label, seen = int(victim.predict([TEXT.input])[0]), 0
    for group in found.groups:
        network = group.network
        flips = nearest_flip(network, torch.full((len(group.items),), label), norm, theta=2 * victim.rounding, steps=8)
        for row in flips.found.nonzero()[:, 0].tolist():
            tokens, center = found.tokens[group.items[row]], network.center[row]
            own = confirmed(victim, tokens, found.scale, center, flips.vectors[row], label, norm)
            assert own is not None
            seen += 1
            assert own.predicted != label
            assert own.distance == pytest.approx(float(flips.distance[row]))
            assert np.array_equal(own.vectors, flips.vectors[row].numpy())
    assert seen


def test_a_point_just_before_the_boundary_is_nudged_across_it() -> None:
    victim = word_victim("cnn", 3)
    item = Item(TEXT, (2,))
    found = opened(victim, [item])
    (group,), tokens, scale = found.groups, found.tokens[0], found.scale
    label = int(victim.predict([TEXT.input])[0])
    center, top = group.network.center[0], scale.top
    flip = nearest_flip(group.network, torch.tensor([label]), 2.0).vectors[0]
    low, high = 0.9, 1.0
    for _ in range(40):  # the last point on the way that the victim itself does not read as a flip
        middle = (low + high) / 2
        point = center + middle * (flip - center)
        low, high = (middle, high) if vector_scores(victim, tokens, scale, point).argmax() == label else (low, middle)
    before = center + low * (flip - center)
    assert vector_scores(victim, tokens, scale, before).argmax() == label
    own = confirmed(victim, tokens, scale, center, before, label, 2.0)
    assert own is not None
    assert own.predicted != label
    vectors = torch.tensor(own.vectors, dtype=torch.float64)
    assert ((vectors >= 0) & (vectors <= top)).all()
    assert own.distance == pytest.approx(float((vectors - center).norm()))
    length = float((before - center).norm())
    assert length < own.distance <= 1.01 * length
    assert confirmed(victim, tokens, scale, center, center + 0.5 * (flip - center), label, 2.0) is None


def test_a_victim_without_vectors_reads_none() -> None:
    victim = lp.BlackBox(lambda texts: [[0.4, 0.6]] * len(texts), labels=["a", "b"])
    known = word_victim("mlp", 0)
    tokens, scale = tokens_of(known, Item(TEXT, (0,))), scale_of(known)
    with pytest.raises(NoRule, match=r"no embedding to move in: expected a victim with word vectors .* 'blackbox'"):
        vector_scores(victim, tokens, scale, torch.zeros(1, 3).double())
