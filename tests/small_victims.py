"""Random small victims of every kind that shows its operations, and spaces small enough to be written out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lexproof.goal import Goal
from lexproof.points import FloatArray, IntArray
from lexproof.space import Space
from lexproof.victims.base import Victim

WORDS = [f"w{i}" for i in range(24)]

SHAPES: dict[str, tuple[str, dict[str, object]]] = {
    "mlp": ("mlp", {"hidden": 6}),
    "mlp-mean": ("mlp", {"hidden": 6, "pooling": "mean"}),
    "cnn": ("cnn", {"filters": 4, "widths": (3,)}),
    "cnn-widths": ("cnn", {"filters": 3, "widths": (1, 2, 4)}),
    "cnn-deep": ("cnn", {"filters": 4, "widths": (3,), "layers": 3}),
    "cnn-flat": ("cnn", {"filters": 3, "widths": (2,), "layers": 2, "pooling": "flatten"}),
    "lstm": ("lstm", {"units": 4}),
    "bilstm": ("bilstm", {"units": 3}),
}
"""Word models, by the name that tests use: registered kind and settings."""


def word_victim(shape: str, seed: int, *, classes: int = 3, scale: float = 1.0, **settings: object) -> Victim:
    """A word model with random weights that prefers no class; some words have the same vector, which makes ties."""
    import torch

    from lexproof import registry
    from lexproof.victims.vocabulary import Vocabulary

    kind, usual = SHAPES[shape]
    cls = registry.get("victims", kind)
    wanted = cls.settings_type(**{"dim": 3, "max_length": 7, **usual, **settings})
    victim = cls(Vocabulary(WORDS), [f"class {k}" for k in range(classes)], settings=wanted, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in victim.net.named_parameters():
            spread = 0.2 if name.endswith("bias") else 0.8
            weight.copy_(torch.randn(weight.shape, generator=generator) * spread * scale)
        table = victim.net.embedding.weight
        table[0] = 0.0
        table[-4:] = table[-8:-4]
        rng = np.random.default_rng(seed)
        sample = [" ".join(rng.choice(WORDS, size=5)) for _ in range(50)]
        victim.net.last.bias -= torch.from_numpy(np.log(victim.scores(sample) + 1e-30).mean(axis=0)).float()
    return victim


def lean(victim: Victim, label: int, by: float) -> Victim:
    """The victim with the logit of a class raised, so that its texts are harder to flip."""
    import torch

    with torch.no_grad():
        victim.net.last.bias[label] += by  # type: ignore[attr-defined]
    return victim


def transformer_victim(folder: Path, seed: int, *, classes: int = 3, layers: int = 1) -> Victim:
    """A small random transformer, written to a folder and read back."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    import lexproof as lp

    folder.mkdir(parents=True, exist_ok=True)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(pieces))
    config = BertConfig(
        vocab_size=len(pieces), hidden_size=8, num_hidden_layers=layers, num_attention_heads=2, intermediate_size=12,
        max_position_embeddings=16, num_labels=classes, initializer_range=0.5,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        BertForSequenceClassification(config).eval().save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return lp.Transformer(folder)


def word_space(seed: int, *, words: int = 5, options: int = 3, max_swaps: int | None = None, odd: float = 0.0) -> Space:
    """A space over WORDS with repeated words, words without substitutes and unknown ones, which look all alike.

    A share `odd` of the words has a substitute of two tokens.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, words + 1))
    names = [str(name) for name in rng.choice([*WORDS, "never"], size=n)]
    choices = []
    for name in names:
        others = [word for word in [*WORDS, "seen", "heard"] if word != name]
        picked = [str(word) for word in rng.choice(others, size=int(rng.integers(0, options + 1)), replace=False)]
        choices.append([*picked, "w0 w1"] if rng.random() < odd else picked)
    limit = int(rng.integers(0, n + 2)) if max_swaps is None else max_swaps
    return Space(" ".join(names), choices, limit)


def all_scores(victim: Victim, space: Space) -> tuple[IntArray, FloatArray]:
    """Every point of a space with the scores of its text."""
    points = space.points()
    return points, victim.scores(space.render(points))


def swaps_of(points: IntArray) -> NDArray[np.int64]:
    return np.count_nonzero(points, axis=1)


def true_minimum(victim: Victim, space: Space, goal: Goal) -> int | None:
    """The fewest swaps of a flip as the victim decides it, by scoring every text that the space accepts."""
    points, scores = all_scores(victim, space)
    flips = goal.strict.reached(scores) & space.accepts(points)
    return min(swaps_of(points[flips]).tolist(), default=None)


def room(victim: Victim, space: Space, goal: Goal) -> float:
    """How far the space is from a tie, which rounding may decide either way."""
    return float(np.abs(goal.margin(all_scores(victim, space)[1])).min())
