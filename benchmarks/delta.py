"""Single swaps evaluated by what they change against full evaluation, for each word model on long reviews.

    python benchmarks/delta.py [--texts 4] [--choices 5] [--threads 1]

Both columns are calls of `victim.score` with the same swaps, given as `Swaps` or as dense points.  Texts are IMDB
reviews of 200 to 350 words if LEXPROOF_DATA (or ../shared/data) has them, and random words otherwise; the cost does not
depend on the weights, which are random.
"""

import argparse
import json
import lzma
import os
import time
from pathlib import Path

import numpy as np
import torch

from lexproof.points import Swaps
from lexproof.space import Space
from lexproof.text import Text
from lexproof.victims.cnn import Cnn, CnnSettings
from lexproof.victims.lstm import BiLstm, Lstm
from lexproof.victims.mlp import Mlp, MlpSettings
from lexproof.victims.vocabulary import Vocabulary
from lexproof.victims.words import WordVictim

MODELS = {
    "mlp, flatten 400 x 2": (Mlp, MlpSettings(max_length=400)),
    "mlp, mean of 100": (Mlp, MlpSettings(dim=100, max_length=400, pooling="mean")),
    "cnn, 3/4/5 x 100": (Cnn, CnnSettings()),
    "cnn, 3 layers, max": (Cnn, CnnSettings(widths=(3,), layers=3, filters=150)),
    "cnn, 3 layers, flatten": (Cnn, CnnSettings(widths=(3,), layers=3, filters=150, pooling="flatten")),
    "lstm, 256": (Lstm, None),
    "bilstm, 2 x 150": (BiLstm, None),
}


def reviews(count: int, rng: np.random.Generator) -> tuple[str, list[Text]]:
    root = Path(os.environ.get("LEXPROOF_DATA", Path(__file__).parents[2] / "shared" / "data"))
    file = root / "imdb" / "test.jsonl.xz"
    found: list[Text] = []
    if not file.exists():
        words = [f"w{k}" for k in range(20_000)]
        return "random words", [Text.from_words(rng.choice(words, 250).tolist()) for _ in range(count)]
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            text = Text.parse(json.loads(line)["text"])
            if 200 <= len(text) <= 350:
                found.append(text)
            if len(found) == count:
                break
    return "IMDB", found


def seconds(victim: WordVictim, jobs: list, repeat: int) -> tuple[float, list]:
    best, scores = float("inf"), []
    for _ in range(repeat):
        begun = time.perf_counter()
        scores = victim.score(jobs)
        best = min(best, time.perf_counter() - begun)
    return best, scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=4)
    parser.add_argument("--choices", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="models whose name contains this")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rng = np.random.default_rng(0)
    source, texts = reviews(options.texts, rng)
    vocabulary = Vocabulary.of([str(text) for text in texts], 20_000, (f"w{k}" for k in range(20_000)))
    spaces = []
    for text in texts:
        drawn = rng.integers(0, len(vocabulary.words), (len(text), options.choices))
        choices = [
            [vocabulary.words[k] for k in set(row) if vocabulary.words[k] != w]
            for w, row in zip(text.words, drawn.tolist(), strict=True)
        ]
        spaces.append(Space(text, choices))
    swaps: list[Swaps] = [space.singles() for space in spaces]
    rows = sum(map(len, swaps))
    words = np.mean([len(text) for text in texts])
    print(f"{len(texts)} texts ({source}), {words:.0f} words each, {rows} swaps, {options.threads} thread(s)")
    print(f"{'model':24} {'full rows/s':>12} {'swap rows/s':>12} {'ratio':>7} {'largest difference':>19}")
    for name, (kind, settings) in MODELS.items():
        if options.only not in name:
            continue
        victim = kind(vocabulary, ["neg", "pos"], settings=settings)
        bounds = [victim.bind(space) for space in spaces]
        quick, found = seconds(victim, list(zip(bounds, swaps, strict=True)), 3)
        slow, expected = seconds(victim, [(b, s.dense()) for b, s in zip(bounds, swaps, strict=True)], 1)
        apart = max(np.abs(a - b).max() for a, b in zip(found, expected, strict=True))
        print(f"{name:24} {rows / slow:12,.0f} {rows / quick:12,.0f} {slow / quick:7.1f} {apart:19.1e}", flush=True)


if __name__ == "__main__":
    main()
