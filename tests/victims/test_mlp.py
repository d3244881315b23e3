"""The MLP against its formula, written out in numpy."""

import numpy as np
import pytest
import torch

from lexproof.space import Space
from lexproof.victims.mlp import Mlp, MlpSettings
from lexproof.victims.vocabulary import Vocabulary

WORDS = Vocabulary(["good", "bad", "film", "the", "very"])
TEXTS = ["good", "the film , very bad", "the " * 12, ""]


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


@pytest.mark.parametrize("pooling", ["flatten", "mean"])
def test_scores_follow_the_formula(pooling: str) -> None:
    victim = Mlp(WORDS, ["a", "b", "c"], settings=MlpSettings(dim=3, hidden=5, max_length=8, pooling=pooling), seed=4)
    with torch.no_grad():
        victim.net.first += torch.randn(victim.net.first.shape, generator=torch.Generator().manual_seed(1))
    weights = {name: tensor.double().numpy() for name, tensor in victim.net.state_dict().items()}
    for text, scores in zip(TEXTS, victim.scores(TEXTS), strict=True):
        vectors = weights["embedding.weight"][WORDS.encode_input(text, 8)]
        if pooling == "mean":
            hidden = vectors.mean(axis=0) @ weights["first"][0]
        else:
            hidden = sum(vector @ weights["first"][t] for t, vector in enumerate(vectors))
        logits = weights["last.weight"] @ np.maximum(hidden + weights["bias"], 0) + weights["last.bias"]
        assert scores == pytest.approx(softmax(logits), abs=1e-6)


def test_the_published_sizes_are_the_default() -> None:
    victim = Mlp(Vocabulary([f"w{k}" for k in range(19_997)]), ["negative", "positive"])
    shapes = {name: tuple(tensor.shape) for name, tensor in victim.net.state_dict().items()}
    assert shapes == {
        "embedding.weight": (20_000, 2),
        "first": (200, 2, 64),
        "bias": (64,),
        "last.weight": (2, 64),
        "last.bias": (2,),
    }


def test_a_swap_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    # hidden = e(word at 0) + 10 e(word at 1), one unit; logits = (0, hidden)
    weights = {
        "embedding.weight": torch.tensor([[0.0], [0.0], [0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]),
        "first": torch.tensor([[[1.0]], [[10.0]]]),
        "bias": torch.tensor([-30.0]),
        "last.weight": torch.tensor([[0.0], [1.0]]),
        "last.bias": torch.tensor([0.0, 0.0]),
    }
    victim = Mlp(WORDS, ["a", "b"], settings=MlpSettings(dim=1, hidden=1, max_length=2), weights=weights)
    monkeypatch.setattr(Mlp, "min_tokens", 0)
    monkeypatch.setattr(Mlp, "min_swaps", 0)
    space = Space("the film", [["bad", "very"], ["good"]])
    (scores,) = victim.score([(victim.bind(space), space.singles())])
    hidden = np.array([2 + 30, 5 + 30, 4 + 10]) - 30  # bad film, very film, the good
    expected = 1 / (1 + np.exp(-np.maximum(hidden, 0)))
    assert scores[:, 1] == pytest.approx(expected)
