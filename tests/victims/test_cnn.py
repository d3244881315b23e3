"""The CNN against its formula, written out in numpy one window at a time."""

import numpy as np
import pytest

from lexproof.victims.cnn import Cnn, CnnSettings
from lexproof.victims.vocabulary import Vocabulary

WORDS = Vocabulary(["good", "bad", "film", "the", "very"])
TEXTS = ["good", "the film", "the film , very bad", "good the " * 6, ""]


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


def convolved(values: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """ReLU of a convolution over a text that stands between zeros; a place is the (left) middle of its window."""
    width = weight.shape[2]
    output = np.tile(bias, (len(values), 1))
    for t in range(len(values)):
        for k in range(width):
            place = t - (width - 1) // 2 + k
            if 0 <= place < len(values):
                output[t] += weight[:, :, k] @ values[place]
    return np.maximum(output, 0)


@pytest.mark.parametrize("pooling", ["max", "flatten"])
@pytest.mark.parametrize(("layers", "widths"), [(1, (3, 4, 5)), (3, (3,)), (2, (1, 2))])
def test_scores_follow_the_formula(layers: int, widths: tuple[int, ...], pooling: str) -> None:
    settings = CnnSettings(dim=3, filters=4, layers=layers, widths=widths, pooling=pooling, max_length=10)
    victim = Cnn(WORDS, ["a", "b", "c"], settings=settings, seed=7)
    weights = {name: tensor.double().numpy() for name, tensor in victim.net.state_dict().items()}
    for text, scores in zip(TEXTS, victim.scores(TEXTS), strict=True):
        features = []
        for branch in range(len(widths)):
            values = weights["embedding.weight"][WORDS.encode_input(text, 10)]
            for layer in range(layers):
                name = f"branches.{branch}.convs.{layer}"
                values = convolved(values, weights[f"{name}.weight"], weights[f"{name}.bias"])
            if pooling == "max":
                features.append(values.max(axis=0))
            else:
                padded = np.zeros((10, 4))
                padded[: len(values)] = values
                features.append(padded.reshape(-1))
        logits = weights["last.weight"] @ np.concatenate(features) + weights["last.bias"]
        assert scores == pytest.approx(softmax(logits), abs=1e-6)


def test_the_published_sizes() -> None:
    classic = Cnn(WORDS, ["a", "b"]).net.state_dict()
    assert [tuple(classic[f"branches.{b}.convs.0.weight"].shape) for b in range(3)] == [
        (100, 100, 3),
        (100, 100, 4),
        (100, 100, 5),
    ]
    msr = Cnn(WORDS, ["a", "b"], settings=CnnSettings(dim=50, layers=3, widths=(3,), filters=150)).net.state_dict()
    assert [tuple(msr[f"branches.0.convs.{k}.weight"].shape) for k in range(3)] == [
        (150, 50, 3),
        (150, 150, 3),
        (150, 150, 3),
    ]
