"""Gradients by single words: finite differences, agreement with first-order estimates, and vectors of words."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

from lexproof.errors import InputError
from lexproof.points import MASKED, FirstOrder, FloatArray, IntArray, WordGradient
from lexproof.space import Space
from lexproof.text import Text
from lexproof.victims.base import Bound, Victim
from lexproof.victims.first_order import narrowed
from small_victims import SHAPES, word_space, word_victim
from toys import Additive

torch = pytest.importorskip("torch")

# a masked word is unknown, and so is "w1-w2": two of them in one text tie in max-pooling, where nothing has a gradient
SPACES = {
    "one token each": Space("w1 w2 w3 w4", [["w5"], ["w6", "never"], [], ["w7"]]),
    "several tokens": Space(Text(("w1", "w2 w3", "w4"), ("", " ", " ", "")), [["w5 w6"], ["w7"], ["!", "w8"]]),
    "pair": Space(Text.parse("w1 w2", premise="w3 w4"), [["w5", "w6 w7"], ["w8"]]),
    "read as strings": Space(Text(("w1", "w2", "w3"), ("", "-", " ", "")), [["w4"], ["w5"], ["w6 w7"]]),
}


def points_of(space: Space) -> IntArray:
    """The text, its last swap, and the text with each word masked in turn if nothing else in it is unknown."""
    masked = np.zeros((0 if "-" in space.original.gaps else space.n, space.n), np.int32)
    np.fill_diagonal(masked, MASKED)
    return np.concatenate([space.points()[[0, -1]], masked]).astype(np.int32)


def every_word(space: Space, points: IntArray, label: int) -> WordGradient:
    """A request about every word of every point."""
    rows, positions = np.divmod(np.arange(points.size, dtype=np.int32), np.int32(space.n))
    return WordGradient(points, rows, positions, label)


def by_differences(victim: Victim, space: Space, request: WordGradient, step: float = 1e-5) -> FloatArray:
    """The same for a word model, by moving the vectors of a word's tokens a little, in float64."""
    layout = victim.bind(space).layout(request.points)
    net = deepcopy(victim.net).double()
    found = []
    with torch.no_grad():
        for row, position in zip(request.rows.tolist(), request.positions.tolist(), strict=True):
            ids = list(layout.rows)[row]
            embedded = net.embedding(torch.from_numpy(ids)[None])
            held = slice(int(layout.starts[row, position]), int(layout.ends[row, position]))

            def score(moved: torch.Tensor, length: int = len(ids)) -> float:
                return torch.softmax(net.logits(moved, torch.tensor([length])), 1)[0, request.label].item()

            slope = []
            for axis in range(embedded.shape[2]):
                move = torch.zeros_like(embedded)
                move[0, held, axis] = step
                slope.append((score(embedded + move) - score(embedded - move)) / (2 * step))
            there = embedded[0, held].mean(0).tolist() if embedded[0, held].numel() else [0.0] * len(slope)
            found.append([*slope, float(np.dot(slope, there)), score(embedded)])
    return np.array(found)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_word_models_by_finite_differences(shape: str, space: Space) -> None:
    victim = word_victim(shape, 3)
    request = every_word(space, points_of(space), 1)
    found = victim.word_gradient(victim.bind(space), request)
    assert found.shape == (len(request.rows), 3 + 2)
    np.testing.assert_allclose(found, by_differences(victim, space, request), atol=2e-5, rtol=1e-3)
    assert np.abs(found[:, :-1]).max() > 1e-3
    # a space that is not compiled gives the same: it is read with the few substitutes that the points use
    np.testing.assert_array_equal(victim.word_gradient(Bound(space), request), found)


def test_words_that_are_not_read_have_no_gradient() -> None:
    victim = word_victim("mlp-mean", 3, max_length=3)
    space = Space("w1 w2 w3 w4", [["w5"]] * 4)
    found = victim.word_gradient(Bound(space), every_word(space, points_of(space)[:1], 0))
    assert (found[:3, :3] != 0).all()
    assert (found[3, :-1] == 0).all()
    np.testing.assert_allclose(found[:, -1], victim.scores(["w1 w2 w3"])[0, 0], atol=1e-6)


@pytest.fixture(scope="module")
def transformer(tmp_path_factory: pytest.TempPathFactory) -> Victim:
    pytest.importorskip("transformers")
    import tables

    return tables.transformer(Path(tmp_path_factory.mktemp("pieces")))


TEXTS = {
    "pieces": Space("w1s0 w2, w3s1s2 unknown", [["w4"], ["w5s0"], [], ["w6"]]),
    "joined": Space("w1/w2 w3", [["w4"], ["w5s0"], []]),
    "pair": Space(Text.parse("w1 w2s0", premise="w3, w4s1"), [["w5"], ["w6"]]),
}


def of_whole_texts(victim: Victim, space: Space, request: WordGradient, step: float = 1e-5) -> FloatArray:
    """The same for a transformer: tokenized as a text, embeddings moved a little, in float64."""
    tokenizer, model = victim.encoder.tokenizer, deepcopy(victim.model).double()
    found = []
    for row, position in zip(request.rows.tolist(), request.positions.tolist(), strict=True):
        pieces = space.pieces(request.points[row], tokenizer.mask_token)
        begin = len("".join(pieces[: 2 * position + 1]))
        end, premise = begin + len(pieces[2 * position + 1]), space.original.premise
        given = ("".join(pieces),) if premise is None else (premise, "".join(pieces))
        encoded = tokenizer(*given, return_tensors="pt")
        offsets, sequence = encoded.encodings[0].offsets, 0 if premise is None else 1
        held = [
            t
            for t, (a, b) in enumerate(offsets)
            if encoded.sequence_ids(0)[t] == sequence and max(a, begin) < min(b, end)
        ]
        assert held
        with torch.no_grad():
            embedded = model.get_input_embeddings()(encoded["input_ids"])
            others = {key: value for key, value in encoded.items() if key != "input_ids"}

            def score(moved: torch.Tensor, others: dict[str, torch.Tensor] = others) -> float:
                return torch.softmax(model(inputs_embeds=moved, **others).logits, -1)[0, request.label].item()

            slope = []
            for axis in range(embedded.shape[2]):
                move = torch.zeros_like(embedded)
                move[0, held, axis] = step
                slope.append((score(embedded + move) - score(embedded - move)) / (2 * step))
            there = embedded[0, held].mean(0).tolist()
            found.append([*slope, float(np.dot(slope, there)), score(embedded)])
    return np.array(found)


@pytest.mark.parametrize("space", TEXTS.values(), ids=TEXTS)
def test_transformers_by_finite_differences(transformer: Victim, space: Space) -> None:
    points = points_of(space)
    request = every_word(space, points, 2)
    found = transformer.word_gradient(Bound(space), request)
    np.testing.assert_allclose(found, of_whole_texts(transformer, space, request), atol=1e-5, rtol=1e-3)
    assert np.abs(found[:, :-1]).max() > 1e-3


def test_a_point_is_differentiated_once(transformer: Victim, monkeypatch: pytest.MonkeyPatch) -> None:
    space = TEXTS["pieces"]
    read: list[int] = []
    run = transformer.run
    monkeypatch.setattr(transformer, "run", lambda rows: read.append(len(rows)) or run(rows))
    transformer.word_gradient(Bound(space), every_word(space, space.origin[None], 0))
    assert sum(read) == 1


def check_first_order(victim: Victim, space: Space) -> None:
    """First-order estimates are the gradients times the vectors of the substitutes, less what stands there."""
    singles = space.singles()
    estimates = victim.first_order(victim.bind(space), FirstOrder(space.origin[None], 0))[0]
    found = victim.word_gradient(Bound(space), every_word(space, space.origin[None], 0))
    words = [space.choices[i][c - 1] for i, c in zip(singles.positions, singles.choices, strict=True)]
    own = found[singles.positions]
    expected = np.einsum("sd,sd->s", own[:, :-2], victim.word_vectors(words)) - own[:, -2]
    np.testing.assert_allclose(estimates, expected, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_estimates_agree(transformer: Victim, seed: int) -> None:
    for shape in ("cnn-widths", "bilstm"):
        check_first_order(word_victim(shape, seed, max_length=20), word_space(seed, odd=0.3))
    check_first_order(transformer, Space("w1 w2s0 w3", [["w4", "w5s1"], ["w6"], ["w7s0s1"]]))


def test_vectors_of_words_are_means_of_their_tokens(transformer: Victim) -> None:
    victim = word_victim("cnn", 1)
    table = victim.net.embedding.weight.numpy()
    found = victim.word_vectors(["w0", "W1", "never", "w0 w1 w1", ""])
    expected = [table[3], table[4], table[1], table[[3, 4, 4]].mean(0), table[0]]
    np.testing.assert_allclose(found, expected, atol=1e-7)
    ids = transformer.encoder.tokenizer.convert_tokens_to_ids(["w3", "##s0", "##s1", "[UNK]"])
    table = transformer.model.get_input_embeddings().weight.detach().numpy()
    expected = [table[ids[0]], table[ids[:3]].mean(0), table[ids[3]], 0 * table[0]]
    np.testing.assert_allclose(transformer.word_vectors(["w3", "w3s0s1", "strange", ""]), expected, atol=1e-7)


@pytest.mark.parametrize("seed", range(10))
def test_narrowed_spaces_have_the_same_texts(seed: int) -> None:
    space = word_space(seed)
    rng = np.random.default_rng(seed)
    points = rng.integers(MASKED, space.sizes + 1, (4, space.n)).astype(np.int32)
    small, moved = narrowed(space, points)
    assert small.render(moved) == space.render(points)
    assert all(len(options) <= 4 for options in small.choices)


def test_what_cannot_be_asked_is_refused() -> None:
    space = SPACES["one token each"]
    request = every_word(space, space.origin[None], 3)
    with pytest.raises(InputError, match="expected a label from 0 to 2, got 3"):
        word_victim("cnn", 0).word_gradient(Bound(space), request)
    with pytest.raises(InputError, match="expected a victim with gradients, got 'additive'"):
        Additive().word_gradient(Bound(space), request)
    with pytest.raises(InputError, match="expected a victim with gradients, got 'additive'"):
        Additive().word_vectors(["a"])
