"""Laws of every word model: points score as their texts, alone or in any batch, by full or by changed evaluation."""

import pickle
from collections.abc import Callable

import numpy as np
import pytest
import torch

from lexproof.errors import InputError, ModelError
from lexproof.points import DELETED, MASKED, Sensitivity, Swaps
from lexproof.space import Space
from lexproof.text import Text
from lexproof.victims.base import Bound
from lexproof.victims.cnn import Cnn, CnnSettings
from lexproof.victims.lstm import BiLstm, BiLstmSettings, Lstm, LstmSettings
from lexproof.victims.mlp import Mlp, MlpSettings
from lexproof.victims.vocabulary import Vocabulary
from lexproof.victims.words import WordVictim

WORDS = Vocabulary(
    ["a", "the", "film", "movie", "was", "is", "good", "great", "bad", "dull", "not", "very", *",.!'-sé"]
)
LABELS = ("neg", "pos")
Make = Callable[..., WordVictim]


def make(kind: type[WordVictim], scale: float = 1.2, **settings: object) -> Make:
    """A constructor of small random victims; weights are large enough to make scores differ, not to saturate them."""

    def build(seed: int = 0, max_length: int = 30) -> WordVictim:
        victim = kind(WORDS, LABELS, settings=kind.settings_type(max_length=max_length, **settings), seed=seed)
        weights = {name: tensor * scale for name, tensor in victim.net.state_dict().items()}
        return kind(WORDS, LABELS, settings=victim.settings, weights=weights)

    return build


KINDS = {
    "mlp-flatten": make(Mlp, scale=0.7, dim=3, hidden=7),
    "mlp-mean": make(Mlp, dim=5, hidden=7, pooling="mean"),
    "cnn": make(Cnn, dim=5, filters=4),
    "cnn-even": make(Cnn, dim=5, filters=4, widths=(1, 2, 4), layers=2),
    "cnn-msr": make(Cnn, dim=5, filters=6, widths=(3,), layers=3),
    "cnn-msr-flatten": make(Cnn, dim=5, filters=6, widths=(3,), layers=3, pooling="flatten"),
    "cnn-flatten": make(Cnn, dim=5, filters=4, widths=(2, 3), layers=2, pooling="flatten"),
    "lstm": make(Lstm, dim=5, units=6),
    "bilstm": make(BiLstm, dim=5, units=6),
}


@pytest.fixture(autouse=True)
def _always_by_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small examples too are evaluated by what swaps change."""
    for kind in (Mlp, Cnn, Lstm, BiLstm):
        monkeypatch.setattr(kind, "min_swaps", 1)
        monkeypatch.setattr(kind, "min_tokens", 0)


every_kind = pytest.mark.parametrize("build", KINDS.values(), ids=KINDS)

SPACES = [
    Space("the film was good", [["a"], ["movie", "plot"], [], ["great", "bad", "not good", "!"]]),
    Space("é", [["good"]]),
    Space(Text.parse("good ' bad film - the end", premise="a movie ."), [["great"], [], ["film s"], ["x"], []]),
    Space(Text(("film", "s", "plot"), ("", "-", " ", "")), [["movie"], ["good", "'"], ["a b"]]),  # read as strings
    Space("", []),
]


def close(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(a - b).max(initial=0) < 2e-6)


@every_kind
def test_points_score_as_their_texts(build: Make) -> None:
    victim = build()
    for space in SPACES:
        bound, points = victim.bind(space), space.points()
        expected = victim.scores(space.render(points))
        (found,) = victim.score([(bound, points)])
        assert expected.shape == (space.size, 2)
        assert close(expected.sum(axis=1), np.ones(space.size))
        assert close(found, expected)
        (as_text,) = victim.score([(Bound(space), points)])
        assert close(as_text, expected)
        assert np.ptp(expected[:, 0]) > 1e-4 or space.size == 1  # the comparison is not one of constants


@every_kind
def test_scores_do_not_depend_on_the_batch(build: Make) -> None:
    victim = build()
    texts = ["good", "the film was not very good , was it ?", "", "dull " * 29, "a bad plot !", ("a film", "a movie")]
    alone = np.concatenate([victim.scores([text]) for text in texts])
    assert close(victim.scores(texts), alone)
    assert close(victim.scores(texts * 500)[: len(texts)], alone)
    assert np.ptp(alone[:, 0]) > 1e-3


def random_swaps(space: Space, rng: np.random.Generator, count: int = 60, probes: bool = True) -> Swaps:
    low = DELETED if probes else 0
    bases = np.where(rng.random((4, space.n)) < 0.5, 0, rng.integers(low, space.sizes + 1, (4, space.n))).astype(
        np.int32
    )
    positions = rng.integers(0, space.n, count).astype(np.int32)
    choices = rng.integers(low, space.sizes[positions] + 1).astype(np.int32)
    return Swaps(bases, rng.integers(0, 4, count).astype(np.int32), positions, choices)


@every_kind
@pytest.mark.parametrize("max_length", [1, 2, 5, 30])
def test_swaps_score_as_full_evaluation(build: Make, max_length: int) -> None:
    victim, rng = build(max_length=max_length), np.random.default_rng(1)
    jobs, expected = [], []
    for space in SPACES[:-1]:
        bound = victim.bind(space)
        swaps = random_swaps(space, rng)
        jobs.append((bound, swaps))
        expected.append(victim.forward(bound.rows(swaps.dense())))
        (found,) = victim.score(jobs[-1:])
        assert close(found, expected[-1])
    merged = victim.score([*jobs, (jobs[0][0], SPACES[0].points())])  # swaps of many spaces beside dense points
    for found, wanted in zip(merged, expected, strict=False):
        assert close(found, wanted)
    assert close(merged[-1], victim.scores(SPACES[0].render(SPACES[0].points())))


@every_kind
@pytest.mark.parametrize("words", [1, 2, 3, 4, 9, 29])
def test_every_single_swap_at_every_position(build: Make, words: int) -> None:
    # slabs, prefixes and suffixes meet the ends of the text in every possible way
    victim = build(seed=words)
    options = ["good", "bad", "unheard", "é"]
    space = Space(" ".join((["the", "film", "was", "dull"] * 8)[:words]), [options] * words)
    swaps = space.singles()
    (found,) = victim.score([(victim.bind(space), swaps)])
    expected = victim.scores(space.render(swaps))
    assert len(found) == 4 * words
    assert close(found, expected)
    assert len(np.unique(expected[:, 0].round(6))) > min(words, 12)


@every_kind
def test_swaps_are_evaluated_by_what_they_change(build: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = build()
    space = Space("the film was good", [["a"], ["movie"], [], ["great", "bad"]])
    swaps, rows = space.singles(), []
    (expected,) = victim.score([(victim.bind(space), swaps.dense())])
    forward = victim.net.forward

    def counted(ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        rows.append(len(ids))
        return forward(ids, lengths)

    monkeypatch.setattr(victim.net, "forward", counted)
    (found,) = victim.score([(victim.bind(space), swaps)])
    assert rows == []
    assert close(found, expected)
    multi = Space("the film was good", [["a", "a very"], [], [], ["great"]])
    victim.score([(victim.bind(multi), multi.singles())])
    assert rows == [1]  # "a very" has two tokens: evaluated in full, alone


@every_kind
def test_swaps_past_the_end_change_nothing(build: Make) -> None:
    victim = build(max_length=2)
    space = Space("good film was dull", [["bad"], ["movie"], ["is"], ["great"]])
    (found,) = victim.score([(victim.bind(space), space.singles())])
    base = victim.scores(["good film was dull"])[0]
    assert close(found[2:], np.stack([base, base]))
    assert np.abs(found[:2] - base).max() > 1e-4


@every_kind
def test_unknown_and_masked_words_are_the_same_token(build: Make) -> None:
    victim = build()
    space = Space("the film was good", [[], [], [], []])
    (found,) = victim.score([(victim.bind(space), np.array([[0, MASKED, 0, 0], [0, DELETED, 0, 0]], np.int32))])
    assert close(found, victim.scores(["the zzz was good", "the was good"]))


@every_kind
def test_sensitivity_is_the_norm_of_the_gradient(build: Make) -> None:
    victim = build()
    space = Space("the film-maker was good", [["a"], ["movie plot"], [], ["great"]])
    points = np.array([[0, 0, 0, 0], [1, 1, 0, 1], [0, 0, DELETED, MASKED]], np.int32)
    bound = victim.bind(space)
    found = victim.sensitivity(bound, Sensitivity(points, 1))
    assert found.shape == (3, 4)
    layout = bound.layout(points)
    for b, row in enumerate(layout.rows):
        for word in range(4):
            tokens = range(layout.starts[b, word], layout.ends[b, word])
            expected = sum(gradient_by_differences(victim, row, token) for token in tokens)
            assert found[b, word] == pytest.approx(expected, rel=0.02, abs=2e-4)
    assert found[2, 2] == 0
    assert found[[0, 0, 2], [0, 3, 3]].min() > 0 or victim.kind == "cnn"


def gradient_by_differences(victim: WordVictim, row: np.ndarray, token: int, step: float = 1e-4) -> float:
    net = victim.net.double()
    embedded = net.embedding(torch.from_numpy(row)[None])
    lengths = torch.tensor([len(row)])
    total = 0.0
    with torch.no_grad():
        for d in range(embedded.shape[2]):
            ends = []
            for sign in (-1, 1):
                moved = embedded.clone()
                moved[0, token, d] += sign * step
                ends.append(torch.softmax(net.logits(moved, lengths), 1)[0, 1].item())
            total += abs(ends[1] - ends[0]) / (2 * step)
    victim.net.float()
    return total


@every_kind
def test_sensitivity_is_zero_past_the_end(build: Make) -> None:
    victim = build(max_length=2)
    space = Space("good film was dull", [["bad"], [], [], ["great"]])
    found = victim.sensitivity(victim.bind(space), Sensitivity(space.points(), 0))
    assert (found[:, 2:] == 0).all()
    assert (found[:, :2].sum(axis=1) > 0).all()
    strings = Space(Text(("good", "film", "dull"), ("", "-", " ", "")), [["bad"], [], []])
    by_text = victim.sensitivity(victim.bind(strings), Sensitivity(strings.points(), 0))
    assert by_text.shape == (2, 3)
    assert np.allclose(by_text[:, 0], by_text[:, 1])  # "good-film" is one token, which holds both words
    assert close(victim.sensitivity(Bound(space), Sensitivity(space.points(), 0)), found)


@every_kind
def test_seeds_decide_the_weights_and_the_fingerprint_sees_them(build: Make) -> None:
    texts = ["the film was good", "dull"]
    assert (build(seed=3).scores(texts) == build(seed=3).scores(texts)).all()
    assert build(seed=3).fingerprint == build(seed=3).fingerprint
    assert build(seed=3).fingerprint != build(seed=4).fingerprint
    assert build(seed=3).fingerprint != build(seed=3, max_length=29).fingerprint


@every_kind
def test_victims_travel_to_other_processes(build: Make) -> None:
    victim = build()
    twin = pickle.loads(pickle.dumps(victim))  # noqa: S301 - bytes made here
    assert twin.fingerprint == victim.fingerprint
    assert (twin.scores(["a bad film"]) == victim.scores(["a bad film"])).all()
    space = SPACES[0]
    assert close(twin.score([(twin.bind(space), space.singles())])[0], victim.scores(space.render(space.singles())))


def test_building_a_victim_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    KINDS["cnn"](seed=1)
    assert torch.rand(1) == expected


def test_no_jobs_and_no_points() -> None:
    victim = KINDS["cnn"]()
    assert victim.score([]) == []
    assert victim.scores([]).shape == (0, 2)
    bound = victim.bind(SPACES[0])
    empty = Swaps.of(SPACES[0].origin, np.empty(0, np.int32), np.empty(0, np.int32))
    found = victim.score([(bound, empty), (bound, SPACES[0].points(0, 0)), (bound, SPACES[0].points(0, 1))])
    assert [len(scores) for scores in found] == [0, 0, 1]


def test_more_than_two_classes() -> None:
    victim = Cnn(WORDS, ["x", "y", "z"], settings=CnnSettings(dim=4, filters=3), seed=2)
    space = SPACES[0]
    (found,) = victim.score([(victim.bind(space), space.singles())])
    assert found.shape == (len(space.singles()), 3)
    assert close(found, victim.scores(space.render(space.singles())))


# ---------------------------------------------------------------------- errors


def test_bad_settings_are_refused() -> None:
    with pytest.raises(InputError, match=r"expected dim to be a whole number of at least 1, got 0"):
        MlpSettings(dim=0)
    with pytest.raises(InputError, match=r"expected units to be a whole number of at least 1, got 2.5"):
        BiLstmSettings(units=2.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"expected dropout in \[0, 1\), got 1"):
        LstmSettings(dropout=1)
    with pytest.raises(InputError, match=r"expected pooling to be 'flatten' or 'mean', got 'max'"):
        MlpSettings(pooling="max")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"expected pooling to be 'max' or 'flatten', got 'mean'"):
        CnnSettings(pooling="mean")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"expected widths of at least 1, got \(3, 0\)"):
        CnnSettings(widths=(3, 0))


def test_bad_victims_are_refused() -> None:
    with pytest.raises(InputError, match=r"expected CnnSettings, got MlpSettings"):
        Cnn(WORDS, LABELS, settings=MlpSettings())
    with pytest.raises(InputError, match=r"expected at least 2 distinct labels, got \['a'\]"):
        Cnn(WORDS, ["a"])
    weights = Mlp(WORDS, LABELS).net.state_dict()
    with pytest.raises(ModelError, match=r"expected weights bias, embedding.weight, .*; missing or unknown: last.bias"):
        Mlp(WORDS, LABELS, weights={name: w for name, w in weights.items() if name != "last.bias"})
    with pytest.raises(ModelError, match=r"expected weight 'last.bias' of shape \(2,\), got \(3,\)"):
        Mlp(WORDS, LABELS, weights={**weights, "last.bias": torch.zeros(3)})
    with pytest.raises(ModelError, match=r"expected finite weights, got a NaN or infinity in 'last.bias'"):
        Mlp(WORDS, LABELS, weights={**weights, "last.bias": torch.tensor([0.0, torch.nan])})
    with pytest.raises(ModelError, match=r"expected the vector of <pad> to be 0"):
        Mlp(WORDS, LABELS, weights={**weights, "embedding.weight": weights["embedding.weight"] + 1})


def test_spaces_bound_by_another_victim_are_refused() -> None:
    space = SPACES[0]
    bound = KINDS["cnn"](max_length=3).bind(space)
    for points in (space.points(), space.singles()):
        with pytest.raises(InputError, match=r"expected a space bound by 'cnn', got one bound by another victim"):
            KINDS["cnn"]().score([(bound, points)])
    with pytest.raises(InputError, match=r"expected a label from 0 to 1, got 2"):
        KINDS["cnn"](max_length=3).sensitivity(bound, Sensitivity(space.points(), 2))
