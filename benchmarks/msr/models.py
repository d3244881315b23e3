"""Train the networks of the maximal-safe-radius studies: dimension and kind of embedding, CNN and LSTM.

    python benchmarks/msr/models.py --out models/msr [--only sst2] [--threads 1] [--seed 0]

Names are SET-NETWORK-EMBEDDING, such as `agnews-cnn-trained10`.  Networks: `cnn`, three layers of 150 filters of width
3, flattened; `pool`, the same with a max-pool; `lstm`, 256 units; `short`, the same on the first 14 tokens.
Embeddings, with their dimension: `trained` with the classifier; `glove`, frozen; `fitted`, a `trained` or GloVe one
counter-fitted with the synonyms and antonyms of LEXPROOF_DATA's lexicons, frozen (`gfitted` if from GloVe).

Existing folders are kept, so an interrupted run continues.  Accuracies are written to OUT/accuracy.json.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

sys.path.append(str(Path(__file__).parents[1]))
from accuracy import LABELS, ROOT, VECTORS, Printer, accuracy, draw, read

import lexproof as lp
from lexproof.candidates import counter_fit
from lexproof.data.vectors import Matrix, read_vectors
from lexproof.training import train
from lexproof.victims.vocabulary import SPECIALS

LENGTHS = {"sst2": 25, "agnews": 49, "imdb": 100}
EPOCHS = {"sst2": 3, "agnews": 8, "imdb": 4}
DEEP = {"layers": 3, "widths": (3,), "filters": 150}
NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {
    "cnn": ("cnn", DEEP | {"pooling": "flatten"}),
    "pool": ("cnn", DEEP),
    "lstm": ("lstm", {"units": 256}),
    "short": ("lstm", {"units": 256, "max_length": 14}),
}
DIMENSIONS = (5, 10, 25, 50, 100)


def names() -> list[str]:
    """All networks, those that others build on first."""
    found = []
    for data in LENGTHS:
        found += [f"{data}-cnn-trained{dim}" for dim in (50, 5, 10, 25, 100)]
        found += [f"{data}-cnn-glove{dim}" for dim in (50, 100)]
    found += [f"agnews-cnn-fitted{dim}" for dim in DIMENSIONS] + [f"agnews-cnn-gfitted{dim}" for dim in (50, 100)]
    found += ["sst2-pool-trained50", "sst2-lstm-trained50", "agnews-short-trained50", "agnews-pool-trained50"]
    return found


def pairs(name: str) -> Iterator[tuple[str, str]]:
    for line in (ROOT / "lexicons" / name).read_text(encoding="utf-8").splitlines():
        first, second = line.split()[:2]
        yield first, second


def fitted(words: list[str], vectors: Matrix) -> Matrix:
    antonyms = [*pairs("ppdb_antonyms.txt"), *pairs("wordnet_antonyms.txt")]
    return counter_fit(words, vectors, synonyms=pairs("ppdb_synonyms.txt"), antonyms=antonyms)


def vectors_of(name: str, out: Path) -> tuple[list[str], Matrix] | None:
    """What a network starts from; None for random vectors."""
    data, network, embedding = name.split("-")
    kind, dim = embedding.rstrip("0123456789"), int(embedding.lstrip("abcdefghijklmnopqrstuvwxyz"))
    if kind == "trained":
        return None
    if kind == "fitted":
        plain = lp.load(out / f"{data}-{network}-trained{dim}")
        return list(plain.vocabulary.words), fitted(
            list(plain.vocabulary.words), plain.net.embedding.weight[len(SPECIALS) :].numpy()
        )
    words, matrix = read_vectors(VECTORS if dim == 100 else "glove-50d")
    words, matrix = words[:60_000], matrix[:60_000]
    return (words, fitted(words, matrix)) if kind == "gfitted" else (words, matrix)


def options_of(name: str) -> tuple[str, dict[str, Any]]:
    data, network, embedding = name.split("-")
    kind, own = NETWORKS[network]
    options = {"max_length": LENGTHS[data], "epochs": EPOCHS[data], "vocabulary_size": 20_000} | own
    if embedding.startswith("trained"):
        options["dim"] = int(embedding.removeprefix("trained"))
    else:
        options["freeze_vectors"] = True
    return kind, options


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="", help="names that contain this")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    record_path = options.out / "accuracy.json"
    for name in [name for name in names() if options.only in name]:
        if (options.out / name).exists():
            continue
        data = name.split("-")[0]
        print(name, flush=True)
        train_set, valid, test = (read(data, split) for split in ("train", "dev", "test"))
        kind, own = options_of(name)
        begun = time.perf_counter()
        victim = train(
            kind, *train_set, valid=valid, label_names=LABELS[data], vectors=vectors_of(name, options.out),
            seed=options.seed, progress=Printer(), **own,
        )  # fmt: skip
        seconds = time.perf_counter() - begun
        victim.save(options.out / name)
        record = json.loads(record_path.read_text()) if record_path.exists() else {}
        share = accuracy(victim, *draw(*test, 5_000 if len(test[0]) > 5_000 else None, options.seed))
        record[name] = {"accuracy": round(share, 4), "seconds": round(seconds)}
        record_path.write_text(json.dumps(record, indent=1))
        print(f"  test accuracy {share:.4f}, {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
