"""The stated rounding holds between evaluation by change, in full, and alone, on long texts and trained models."""

import json
import lzma
from pathlib import Path

import numpy as np
import pytest
import torch

from lexproof.space import Space
from lexproof.text import Text
from lexproof.training import train
from lexproof.victims.cnn import Cnn, CnnSettings
from lexproof.victims.lstm import BiLstm, Lstm
from lexproof.victims.mlp import Mlp, MlpSettings
from lexproof.victims.vocabulary import Vocabulary
from lexproof.victims.words import WordVictim

WORDS = Vocabulary([f"w{k}" for k in range(2000)])
FULL_SIZE = {
    "mlp-flatten": (Mlp, MlpSettings(max_length=400)),
    "mlp-mean": (Mlp, MlpSettings(dim=100, max_length=400, pooling="mean")),
    "cnn": (Cnn, None),
    "cnn-msr": (Cnn, CnnSettings(layers=3, widths=(3,), filters=150)),
    "cnn-msr-flatten": (Cnn, CnnSettings(layers=3, widths=(3,), filters=150, pooling="flatten")),
    "lstm": (Lstm, None),
    "bilstm": (BiLstm, None),
}


def largest_difference(victim: WordVictim, text: Text, rng: np.random.Generator, swaps: int) -> float:
    """Largest difference of a score margin between three ways of evaluating the same points."""
    words = victim.vocabulary.words
    space = Space(text, [sorted({words[k] for k in rng.integers(0, len(words), 3)} - {word}) for word in text.words])
    singles = space.singles()
    chosen = singles[np.sort(rng.choice(len(singles), min(swaps, len(singles)), replace=False))]
    bound = victim.bind(space)
    assert bound.token_swaps(chosen) is not None
    (changed,) = victim.score([(bound, chosen)])
    (full,) = victim.score([(bound, chosen.dense())])
    alone = np.concatenate([victim.scores([text]) for text in space.render(chosen[:5])])
    margins = [scores[:, 1] - scores[:, 0] for scores in (changed, full, alone)]
    assert np.ptp(margins[1]) > 1e-6
    return float(max(np.abs(margins[0] - margins[1]).max(), np.abs(margins[2] - margins[1][:5]).max()))


@pytest.fixture(autouse=True)
def _always_by_change(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (Mlp, Cnn, Lstm, BiLstm):
        monkeypatch.setattr(kind, "min_swaps", 1)
        monkeypatch.setattr(kind, "min_tokens", 0)


@pytest.mark.parametrize("name", FULL_SIZE)
def test_random_models_of_full_size_on_long_texts(name: str) -> None:
    kind, settings = FULL_SIZE[name]
    victim, rng = kind(WORDS, ["a", "b"], settings=settings, seed=1), np.random.default_rng(2)
    if name == "mlp-flatten":
        victim.net.embedding.weight *= 0.2  # or the sum of 350 random words saturates every score
    text = Text.from_words([f"w{k}" for k in rng.integers(0, 2500, 350)])
    assert largest_difference(victim, text, rng, swaps=60) < victim.rounding / 3


@pytest.mark.parametrize("scale", [1, 30, 1000])
@pytest.mark.parametrize("name", FULL_SIZE)
def test_ties_of_models_with_large_weights(name: str, scale: float) -> None:
    """At a tie the softmax hides nothing: what moves the logits moves the margin by half as much."""
    kind, settings = FULL_SIZE[name]
    victim, rng = kind(WORDS, ["a", "b"], settings=settings, seed=3), np.random.default_rng(4)
    victim.net.last.weight *= scale
    text = Text.from_words([f"w{k}" for k in rng.integers(0, 2500, 150)])
    space = Space(text, [[f"w{3 * k}" if word != f"w{3 * k}" else "w1"] for k, word in enumerate(text.words)])
    bound, singles = victim.bind(space), space.singles()
    worst = 0.0
    for swap in range(0, len(singles), 30):
        point = singles[swap : swap + 1]
        (row,) = bound.rows(point.dense())
        logits = victim.net(torch.tensor(row)[None], torch.tensor([len(row)]))[0]
        victim.net.last.bias[1] += float(logits[0] - logits[1])
        (changed,) = victim.score([(bound, singles)])
        (full,) = victim.score([(bound, singles.dense())])
        (alone,) = victim.score([(bound, point.dense())])
        margins = [float(scores[1] - scores[0]) for scores in (changed[swap], full[swap], alone[0])]
        assert max(map(abs, margins)) < 0.5
        worst = max(worst, max(margins) - min(margins))
    assert worst < victim.rounding / 4


def test_rounding_is_the_least_for_usual_weights_and_grows_with_them() -> None:
    weights = Lstm(WORDS, ["a", "b"], seed=1).net.state_dict()
    found = []
    for scale in (1, 1000, 100_000):
        scaled = {name: w * scale if name.startswith("last") else w for name, w in weights.items()}
        found.append(Lstm(WORDS, ["a", "b"], weights=scaled).rounding)
    assert found[0] == 5e-5
    assert 50 <= found[2] / found[1] <= 200
    assert found == sorted(found)


def test_rounding_knows_networks_that_forget_nothing() -> None:
    """Recurrent weights so large that a difference in the last bit grows with every word."""
    calm, wild = (Lstm(WORDS, ["a", "b"], seed=1) for _ in range(2))
    wild.net.lstm.weight_hh_l0 *= 60
    assert wild.rounding > 1e-2 > calm.rounding


def test_logits_that_overflow_prove_nothing() -> None:
    victim = Cnn(WORDS, ["a", "b"], seed=1)
    victim.net.branches[0].convs[0].weight *= 1e30
    victim.net.embedding.weight *= 1e30
    assert victim.rounding == np.inf


@pytest.mark.data
@pytest.mark.parametrize("kind", ["mlp", "cnn", "bilstm"])
def test_trained_models_on_reviews(kind: str, data_folder: Path) -> None:
    def read(name: str, split: str, count: int) -> tuple[list[str], list[int]]:
        with lzma.open(data_folder / name / f"{split}.jsonl.xz", "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line, _ in zip(lines, range(count), strict=False)]
        return [row["text"] for row in rows], [row["label"] for row in rows]

    vectors = None if kind == "mlp" else data_folder / "lexicons" / "glove6b_100d_top60k_f16.npz"
    options = {"learning_rate": 0.01} if kind == "mlp" else {}
    victim = train(kind, *read("mr", "train", 1000), epochs=3, vectors=vectors, vocabulary_size=8000, **options)
    texts, labels = read("mr", "test", 1066)
    assert (victim.predict(texts) == labels).mean() > 0.55
    rng = np.random.default_rng(0)
    for text in (*texts[:10], *read("imdb", "test", 2)[0]):
        assert largest_difference(victim, Text.parse(text), rng, swaps=40) < victim.rounding / 3
