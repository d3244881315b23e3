"""LSTM and BiLSTM against the cell's equations, written out in numpy one token at a time."""

import numpy as np
import pytest

from lexproof.victims.lstm import BiLstm, BiLstmSettings, Lstm, LstmSettings
from lexproof.victims.vocabulary import Vocabulary

WORDS = Vocabulary(["good", "bad", "film", "the", "very"])
TEXTS = ["good", "the film", "the film , very bad", "good the " * 6, ""]


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def states(vectors: np.ndarray, weights: dict[str, np.ndarray], name: str) -> np.ndarray:
    units = weights[f"{name}.weight_hh_l0"].shape[1]
    hidden, cell, found = np.zeros(units), np.zeros(units), []
    for vector in vectors:
        gates = weights[f"{name}.weight_ih_l0"] @ vector + weights[f"{name}.bias_ih_l0"]
        gates = gates + weights[f"{name}.weight_hh_l0"] @ hidden + weights[f"{name}.bias_hh_l0"]
        into, forget, new, out = np.split(gates, 4)
        cell = sigmoid(forget) * cell + sigmoid(into) * np.tanh(new)
        hidden = sigmoid(out) * np.tanh(cell)
        found.append(hidden)
    return np.array(found)


def test_lstm_reads_its_last_state() -> None:
    victim = Lstm(WORDS, ["a", "b", "c"], settings=LstmSettings(dim=3, units=4, max_length=10), seed=5)
    weights = {name: tensor.double().numpy() for name, tensor in victim.net.state_dict().items()}
    for text, scores in zip(TEXTS, victim.scores(TEXTS), strict=True):
        vectors = weights["embedding.weight"][WORDS.encode_input(text, 10)]
        logits = weights["last.weight"] @ states(vectors, weights, "lstm")[-1] + weights["last.bias"]
        assert scores == pytest.approx(softmax(logits), abs=1e-6)


def test_bilstm_pools_both_directions() -> None:
    victim = BiLstm(WORDS, ["a", "b", "c"], settings=BiLstmSettings(dim=3, units=4, max_length=10), seed=5)
    weights = {name: tensor.double().numpy() for name, tensor in victim.net.state_dict().items()}
    for text, scores in zip(TEXTS, victim.scores(TEXTS), strict=True):
        vectors = weights["embedding.weight"][WORDS.encode_input(text, 10)]
        ahead, back = states(vectors, weights, "ahead"), states(vectors[::-1], weights, "back")
        features = np.concatenate([ahead.max(axis=0), back.max(axis=0)])
        logits = weights["last.weight"] @ features + weights["last.bias"]
        assert scores == pytest.approx(softmax(logits), abs=1e-6)


def test_the_published_sizes_are_the_default() -> None:
    assert Lstm(WORDS, ["a", "b"]).net.state_dict()["lstm.weight_hh_l0"].shape == (4 * 256, 256)
    both = BiLstm(WORDS, ["a", "b"]).net.state_dict()
    assert both["ahead.weight_hh_l0"].shape == both["back.weight_hh_l0"].shape == (4 * 150, 150)
