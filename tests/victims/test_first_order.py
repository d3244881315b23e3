"""First-order estimates: they are directional derivatives, by finite differences, for every kind of network."""

from collections.abc import Callable

import numpy as np
import pytest

from lexproof.errors import InputError
from lexproof.points import DELETED, MASKED, FirstOrder
from lexproof.space import Space
from lexproof.text import Text
from lexproof.victims.base import Bound
from lexproof.victims.first_order import Choices, estimates

torch = pytest.importorskip("torch")

from lexproof.victims.cnn import Cnn  # noqa: E402
from lexproof.victims.lstm import BiLstm, Lstm  # noqa: E402
from lexproof.victims.mlp import Mlp  # noqa: E402
from lexproof.victims.vocabulary import Vocabulary  # noqa: E402
from lexproof.victims.words import WordVictim  # noqa: E402

WORDS = Vocabulary(["a", "the", "film", "movie", "was", "is", "good", "great", "bad", "dull", "not", "very", *",.!'-s"])
Make = Callable[..., WordVictim]


def make(kind: type[WordVictim], **settings: object) -> Make:
    """A constructor of small random victims with dropout, which must not act, and weights that matter."""

    def build(max_length: int = 30) -> WordVictim:
        shape = kind.settings_type(max_length=max_length, dim=5, dropout=0.5, **settings)
        victim = kind(WORDS, ("x", "y", "z"), settings=shape, seed=3)
        with torch.no_grad():
            for weight in victim.net.parameters():
                weight *= 1.5
        return victim

    return build


KINDS = {
    "mlp-flatten": make(Mlp, hidden=7),
    "mlp-mean": make(Mlp, hidden=7, pooling="mean"),
    "cnn": make(Cnn, filters=6, widths=(2, 3)),
    "cnn-deep": make(Cnn, filters=6, widths=(3,), layers=3),
    "cnn-flatten": make(Cnn, filters=4, widths=(2, 3), layers=2, pooling="flatten"),
    "lstm": make(Lstm, units=6),
    "bilstm": make(BiLstm, units=6),
}
every_kind = pytest.mark.parametrize("build", KINDS.values(), ids=KINDS)

SPACES = {
    "one token each": Space("the film was good", [["a"], ["movie", "unknown"], [], ["great", "bad"]]),
    "several tokens": Space("the not-good film", [["a very"], ["bad", "not very good"], ["movie", "!"]]),
    "pair": Space(Text.parse("dull film .", premise="a good movie"), [["bad", "very dull"], ["movie"]]),
    "read as strings": Space(Text(("film", "s", "was"), ("", "-", " ", "")), [["movie"], ["good", "'"], ["a is"]]),
}


def directional(victim: WordVictim, space: Space, point: np.ndarray, label: int, step: float = 1e-5) -> list[float]:
    """Derivatives of the label's probability as each word's tokens move from their mean to the substitute's."""
    layout = victim.bind(space).layout(point[None])
    ids = next(iter(layout.rows))
    net = victim.net.double()
    table = net.embedding.weight
    found = []
    with torch.no_grad():
        embedded = net.embedding(torch.from_numpy(ids)[None])
        lengths = torch.tensor([len(ids)])
        singles = space.singles()
        for position, choice in zip(singles.positions.tolist(), singles.choices.tolist(), strict=True):
            words = [space.original.words[position], *space.choices[position]]
            old, new = (mean(table, victim.vocabulary.encode(words[c])) for c in (int(point[position]), choice))
            held = slice(int(layout.starts[0, position]), int(layout.ends[0, position]))
            ends = []
            for sign in (-1, 1):
                moved = embedded.clone()
                moved[0, held] += sign * step * (new - old)
                ends.append(torch.softmax(net.logits(moved, lengths), 1)[0, label].item())
            found.append((ends[1] - ends[0]) / (2 * step))
    net.float()
    return found


def mean(table: "torch.Tensor", ids: list[int]) -> "torch.Tensor":
    return table[ids].mean(0) if ids else torch.zeros(table.shape[1], dtype=table.dtype)


@every_kind
@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_estimates_are_directional_derivatives(build: Make, space: Space) -> None:
    victim = build()
    points = np.concatenate([space.origin[None], space.points()[-2:]])
    for label in (0, 2):
        found = victim.first_order(victim.bind(space), FirstOrder(points, label))
        assert found.shape == (3, len(space.singles()))
        expected = [directional(victim, space, point, label) for point in points]
        np.testing.assert_allclose(found, expected, atol=2e-5, rtol=1e-3)
    assert np.abs(found).max() > 1e-3


@every_kind
def test_a_swap_of_one_token_is_estimated_by_autograd_on_its_embedding(build: Make) -> None:
    victim = build()
    space = SPACES["one token each"]
    (found,) = victim.first_order(victim.bind(space), FirstOrder(space.origin[None], 1))
    ids = torch.tensor([victim.vocabulary.encode("the film was good")])
    embedded = victim.net.embedding(ids).detach().requires_grad_()
    torch.softmax(victim.net.logits(embedded, torch.tensor([4])).double(), 1)[0, 1].backward()
    table, gradient = victim.net.embedding.weight, embedded.grad[0]
    new = [(0, "a"), (1, "movie"), (1, "unknown"), (3, "great"), (3, "bad")]
    expected = [float(gradient[at] @ (table[victim.vocabulary.id(word)] - table[ids[0, at]])) for at, word in new]
    np.testing.assert_allclose(found, expected, atol=1e-6)


@every_kind
def test_nothing_is_dropped_and_the_weights_stay_frozen(build: Make) -> None:
    victim = build()
    space = SPACES["several tokens"]
    request = FirstOrder(space.points(), 1)
    bound = victim.bind(space)
    assert (victim.first_order(bound, request) == victim.first_order(bound, request)).all()
    assert not any(weight.requires_grad or weight.grad is not None for weight in victim.net.parameters())
    victim.net.train()
    with pytest.raises(AssertionError, match="in evaluation mode"):
        victim.first_order(bound, request)


@every_kind
def test_words_that_are_not_read_move_nothing(build: Make) -> None:
    victim = build(max_length=3)
    space = Space("good film was dull", [["bad"], ["movie"], ["is", "is not"], ["great"]])
    (found,) = victim.first_order(victim.bind(space), FirstOrder(space.origin[None], 0))
    assert found[-1] == 0
    assert np.count_nonzero(found[:4])
    np.testing.assert_allclose(found[:4], directional(victim, space, space.origin, 0)[:4], atol=2e-5, rtol=1e-3)


def test_what_stands_there_and_what_is_deleted() -> None:
    victim = KINDS["mlp-mean"]()
    space = SPACES["one token each"]
    points = np.array([[1, 2, 0, 0], [DELETED, MASKED, 0, 2]], np.int32)
    found = victim.first_order(Bound(space), FirstOrder(points, 0))  # any bound of the space will do
    assert (found[0] == 0).tolist() == [True, False, True, False, False]
    assert (found[1] == 0).tolist() == [True, False, True, False, True]  # masked and unknown are the same token


def test_spaces_without_swaps_and_requests_without_points() -> None:
    victim = KINDS["cnn"]()
    closed, empty = Space("a film", [[], []]), Space("", [])
    assert victim.first_order(victim.bind(closed), FirstOrder(closed.origin[None], 0)).shape == (1, 0)
    assert victim.first_order(victim.bind(empty), FirstOrder(empty.origin[None], 0)).shape == (1, 0)
    space = SPACES["pair"]
    assert victim.first_order(victim.bind(space), FirstOrder(space.points()[:0], 0)).shape == (0, 3)


def test_labels_are_checked() -> None:
    victim = KINDS["cnn"]()
    space = SPACES["pair"]
    with pytest.raises(InputError, match="expected a label from 0 to 2, got 3"):
        victim.first_order(victim.bind(space), FirstOrder(space.origin[None], 3))


def test_means_by_hand() -> None:
    # two words: choices DELETED, MASKED, 0, 1 and DELETED, MASKED, 0
    choices = Choices(np.array([9, 4, 4, 6, 9, 6]), np.array([0, 1, 1, 2, 0, 1, 1]), np.array([2, 6]))
    table = np.arange(20.0).reshape(10, 2)
    expected = [[0, 0], table[9], table[4], (table[4] + table[6]) / 2, [0, 0], table[9], table[6]]
    assert choices.means(lambda ids: table[ids]).tolist() == np.array(expected).tolist()
    space = Space("x y", [["z z"], []])
    gradients = np.array([[[1.0, -2.0], [5.0, 5.0]]])
    # from (8, 9) to (10, 11): 1 * 2 - 2 * 2
    assert estimates(space, space.origin[None], gradients, choices, lambda ids: table[ids]).tolist() == [[-2.0]]
