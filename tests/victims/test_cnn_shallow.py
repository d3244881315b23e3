"""Edits of a single-layer network: the features of an edited text, to the last bit, whatever else is edited with it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from lexproof.victims.cnn import Cnn, CnnSettings
from lexproof.victims.cnn_shallow import ShallowCnn
from lexproof.victims.vocabulary import GONE, Vocabulary
from lexproof.victims.word_rows import Rows

WORDS = Vocabulary([f"w{k}" for k in range(40)])


def network(widths: tuple[int, ...], seed: int = 3) -> Cnn:
    settings = CnnSettings(dim=6, filters=5, widths=widths, max_length=30)
    return Cnn(WORDS, ["a", "b"], settings=settings, seed=seed)


def shallow(victim: Cnn) -> ShallowCnn:
    found = victim.net.shallow
    assert found is not None
    return found


def padded(rows: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows in their order, padded to the longest."""
    ids = np.zeros((len(rows), max(map(len, rows))), np.int32)
    for row, ids_row in zip(rows, ids, strict=True):
        ids_row[: len(row)] = row
    return torch.from_numpy(ids), torch.tensor([len(row) for row in rows])


def inferred(function: Callable[..., Any], *arguments: object) -> Any:
    with torch.inference_mode():
        return function(*arguments)


def edited(row: list[int], position: int, token: int) -> list[int]:
    return row[:position] + ([] if token == GONE else [token]) + row[position + 1 :]


@pytest.mark.parametrize("widths", [(1,), (2,), (3, 4, 5), (5, 2), (1, 6), (7,)])
def test_edits_have_the_features_of_the_edited_text(widths: tuple[int, ...]) -> None:
    net, rng = shallow(network(widths)), np.random.default_rng(0)
    texts = [rng.integers(1, 43, length).tolist() for length in (1, 2, 3, 4, 9, 12, 12)]
    edits = [
        (row, position, token)
        for row, text in enumerate(texts)
        for position in range(len(text))
        for token in (1, 20, GONE)
        if len(text) > 1 or token != GONE
    ]
    one_place = [(row, len(text) // 2, token) for row, text in enumerate(texts) for token in (5, 6, 7)]
    mixed = one_place[:9] + [edit for edit in edits if edit[0] > 3]
    state = inferred(net.prepare, *padded(texts))
    for chosen in (edits, one_place, mixed, edits[::-1]):  # a prepared text may be used again
        rows, positions, ids = (torch.tensor(column) for column in zip(*chosen, strict=True))
        found = inferred(net.edit, state, rows, positions, ids)
        expected = inferred(net.features, *padded([edited(texts[row], *edit) for row, *edit in chosen]))
        assert torch.equal(found, expected)
        assert len(torch.unique(expected, dim=0)) > 8  # not a comparison of constants


def test_features_are_those_of_the_convolutions() -> None:
    victim = network((2, 3, 5))
    ids, lengths = padded([[4, 5, 6, 7, 8], [9], [10, 11, 12]])
    embedded = victim.net.embedding(ids).transpose(1, 2)
    inside = torch.arange(5) < lengths[:, None]
    tops = [branch.outputs(embedded, inside)[-1] for branch in victim.net.parts]
    expected = torch.cat([torch.relu(top.amax(2)) for top in tops], 1)
    assert torch.allclose(shallow(victim).features(ids, lengths), expected, atol=1e-6)
    assert torch.count_nonzero(expected) > 10


def test_the_table_follows_the_weights() -> None:
    victim, text = network((3,)), ["w1 w2 w3 w4"]
    before = victim.scores(text)
    victim.net.train()
    victim.net.parts[0].stack[0].weight.data.mul_(-1)
    victim.net.eval()
    trained = victim.scores(text)
    assert np.abs(trained - before).max() > 1e-3
    victim.net.parts[0].stack[0].weight.mul_(-1)  # in place, outside training
    assert (victim.scores(text) == before).all()


def test_the_table_grows_with_the_words_it_meets() -> None:
    words = Vocabulary([f"w{k}" for k in range(9000)])
    victim = Cnn(words, ["a", "b"], settings=CnnSettings(dim=2, filters=2), seed=1)
    rows = Rows.of(
        [list(range(3, 3 + count)) for count in (10, 300, 350)]
        + [list(range(8000 + k, 8300 + k)) for k in range(0, 700, 70)]
    )
    alone = np.concatenate([victim.forward(Rows.of([row.tolist()])) for row in rows])
    many = Rows.of([list(range(start, start + 300)) for start in range(3, 8700, 300)])
    victim.forward(many)
    assert np.abs(victim.forward(rows) - alone).max() < 1e-6
