"""Train classifiers on the named sets and print validation and test accuracy.

    python benchmarks/accuracy.py mr-cnn mr-bilstm imdb-cnn sst2-mlp --out models [--threads 2] [--seed 0]

Data are read from LEXPROOF_DATA (or ../shared/data), vectors from its `lexicons` folder.  Each model is written to
OUT/NAME; the table that ends the run also says how long training took.
"""

import argparse
import json
import lzma
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lexproof.text import Input
from lexproof.training import train
from lexproof.victims.base import Victim

ROOT = Path(os.environ.get("LEXPROOF_DATA", Path(__file__).parents[2] / "shared" / "data"))
VECTORS = ROOT / "lexicons" / "glove6b_100d_top60k_f16.npz"
LABELS = {
    "mr": ("negative", "positive"),
    "sst2": ("negative", "positive"),
    "imdb": ("negative", "positive"),
    "hate": ("neither", "offensive"),
    "agnews": ("World", "Sports", "Business", "Sci/Tech"),
    "snli": ("entailment", "neutral", "contradiction"),
}
# set, kind, whether it starts from GloVe, options, least test accuracy
MODELS: dict[str, tuple[str, str, bool, dict[str, Any], float]] = {
    "mr-cnn": ("mr", "cnn", True, {}, 0.76),
    "mr-bilstm": ("mr", "bilstm", True, {}, 0.76),
    "mr-lstm": ("mr", "lstm", True, {}, 0.0),
    "mr-mlp": ("mr", "mlp", False, {}, 0.0),
    "mr-msr": ("mr", "cnn", True, {"layers": 3, "widths": (3,), "filters": 150}, 0.0),
    "imdb-cnn": ("imdb", "cnn", True, {}, 0.86),
    "sst2-mlp": ("sst2", "mlp", False, {}, 0.80),
    "imdb-mlp": ("imdb", "mlp", False, {}, 0.0),
    "agnews-cnn": ("agnews", "cnn", True, {}, 0.0),
    "sst2-cnn": ("sst2", "cnn", True, {"epochs": 3}, 0.0),
    "hate-cnn": ("hate", "cnn", True, {}, 0.0),
    "snli-bilstm": ("snli", "bilstm", True, {}, 0.0),
    "mr-minilm": ("mr", "transformer", False, {"max_length": 64}, 0.82),
    "imdb-bilstm": ("imdb", "bilstm", True, {"epochs": 3}, 0.0),
    "agnews-minilm": ("agnews", "transformer", False, {"epochs": 2, "max_length": 96}, 0.88),
    "imdb-minilm": ("imdb", "transformer", False, {"epochs": 1, "max_length": 64}, 0.0),
}


def read(name: str, split: str) -> tuple[list[Input], list[int]] | None:
    path = ROOT / name / f"{split}.jsonl.xz"
    if not path.exists():
        return None
    texts: list[Input] = []
    labels: list[int] = []
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            texts.append(row["text"] if "text" in row else (row["premise"], row["hypothesis"]))
            labels.append(row["label"])
    return texts, labels


def draw(texts: list[Input], labels: list[int], count: int | None, seed: int) -> tuple[list[Input], list[int]]:
    chosen = np.random.default_rng(seed).permutation(len(texts))[: count or len(texts)]
    return (texts, labels) if count is None else ([texts[i] for i in chosen], [labels[i] for i in chosen])


class Printer:
    """One line an epoch."""

    def step(self, epoch: int, step: int, steps: int, loss: float) -> None:
        pass

    def epoch(self, epoch: int, loss: float, accuracy: float | None) -> None:
        print(f"  epoch {epoch}: loss {loss:.4f}, validation accuracy {accuracy:.4f}", flush=True)


def accuracy(victim: Victim, texts: list[Input], labels: list[int]) -> float:
    return float((victim.predict(texts) == np.array(labels)).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", choices=MODELS, metavar="MODEL", help=", ".join(MODELS))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--texts", type=int, help="train on so many texts, drawn by the seed [default: all]")
    parser.add_argument("--test-texts", type=int, help="test on so many texts, drawn by the seed [default: all]")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=JSON", help="training option")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    changes = {name: json.loads(value) for name, _, value in (item.partition("=") for item in options.set)}
    rows = []
    for name in options.models:
        data, kind, has_vectors, own, least = MODELS[name]
        print(name, flush=True)
        train_set, valid, test = (read(data, split) for split in ("train", "dev", "test"))
        train_set, test = draw(*train_set, options.texts, options.seed), draw(*test, options.test_texts, options.seed)
        begun = time.perf_counter()
        victim = train(
            kind,
            *train_set,
            valid=valid,
            label_names=LABELS[data],
            vectors=VECTORS if has_vectors else None,
            seed=options.seed,
            progress=Printer(),
            **{**own, **changes},
        )
        seconds = time.perf_counter() - begun
        victim.save(options.out / name)
        best = max(entry["accuracy"] for entry in victim.training["history"])
        rows.append((name, best, accuracy(victim, *test), len(test[0]), least, seconds))
        print("  test accuracy {2:.4f}".format(*rows[-1]), flush=True)
    print(f"{'model':12} {'validation':>10} {'test':>8} {'texts':>7} {'wanted':>7} {'seconds':>8}")
    for name, valid_share, share, count, least, seconds in rows:
        print(f"{name:12} {valid_share:10.4f} {share:8.4f} {count:7d} {least or '':>7} {seconds:8.0f}")


if __name__ == "__main__":
    main()
