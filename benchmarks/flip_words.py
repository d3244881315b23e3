"""Exact kappa and rho of a word model, beside brute force estimated from a timed sample.

    python benchmarks/flip_words.py models/mr-cnn --data mr --texts 1000 --words 10000 --out results [--threads 2]

Texts are drawn by the seed from the training split; those that the model classifies correctly are D+.  The vocabulary
are the most frequent words of letters that the model knows.  Two references are timed in the same run, on placements
(text, position, word) drawn by the seed, and scaled to all placements of D+:

    strings   each text written out and read by a plain forward pass of the network (look up, convolve, pool), as the SP
              paper's brute force does, in batches of 256
    victim    the same texts through `victim.scores`, whose forward pass looks most of the work up

The sweep's flips are compared with those of both on the sample.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

import lexproof as lp
from lexproof.data import read
from lexproof.single_words.question import Asked, Settings, rows_of
from lexproof.victims.words import WordVictim


def draw(name: str, split: str, count: int, seed: int) -> tuple[list[str], list[int]]:
    data = read(name, split=split)
    chosen = np.random.default_rng(seed).permutation(len(data.texts))[:count]
    return [data.texts[at] for at in chosen], [data.labels[at] for at in chosen]


def sample(asked: Asked, count: int, seed: int) -> tuple[list[tuple[int, int, int]], list[str]]:
    """Placements drawn uniformly from all of D+, and their texts."""
    rng, keys = np.random.default_rng(seed), list(asked.texts)
    lengths = np.array([len(asked.texts[key]) for key in keys])
    owners = rng.choice(len(keys), size=count, p=lengths / lengths.sum())
    found = [(keys[at], int(rng.integers(lengths[at])), int(rng.integers(len(asked.words)))) for at in owners]
    return found, [str(asked.texts[key].swap({place: asked.words[word]})) for key, place, word in found]


def plain(victim: WordVictim, texts: list[str], size: int = 256) -> np.ndarray:
    """Predicted labels by an ordinary forward pass: every text tokenized, padded and computed in full."""
    found = []
    with torch.inference_mode():
        for start in range(0, len(texts), size):
            rows = [
                victim.vocabulary.encode(text)[: victim.settings.max_length] for text in texts[start : start + size]
            ]
            lengths = torch.tensor([len(row) for row in rows])
            ids = torch.zeros(len(rows), int(lengths.max()), dtype=torch.long)
            for at, row in enumerate(rows):
                ids[at, : len(row)] = torch.tensor(row)
            found.append(victim.net.logits(victim.net.embedding(ids), lengths).argmax(1).numpy())
    return np.concatenate(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--data", default="mr")
    parser.add_argument("--split", default="train")
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--words", type=int, default=10_000)
    parser.add_argument("--sample", type=int, default=20_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    victim = lp.load(options.model)
    assert isinstance(victim, WordVictim)
    words = [word for word in victim.vocabulary.words if word.isalpha()][: options.words]
    asked = Asked.of(victim, *draw(options.data, options.split, options.texts, options.seed), words)
    placements = sum(len(text) for text in asked.texts.values()) * len(words)

    placed, texts = sample(asked, options.sample, options.seed)
    begun = time.perf_counter()
    by_strings = plain(victim, texts)
    strings = (time.perf_counter() - begun) / len(texts)
    begun = time.perf_counter()
    by_victim = victim.predict(texts)
    whole = (time.perf_counter() - begun) / len(texts)

    begun = time.perf_counter()
    rows = dict(rows_of(asked, Settings(method="exact"), progress=tell))
    seconds = time.perf_counter() - begun
    print()
    answer = asked.answer(Settings(method="exact"), rows)
    # a placement that flips must be known of its word; one of a word that never flips must not flip
    wrong = [
        (key, place, word)
        for (key, place, word), label in zip(placed, by_victim, strict=True)
        if label != asked.labels[key] and not rows[key].known[word]
    ]
    rho = answer.rho
    record = {
        "model": options.model,
        "texts": options.texts,
        "correct": answer.total,
        "words": len(words),
        "placements": placements,
        "rho": rho.to_json(),
        "seconds": seconds,
        "evaluated": answer.cost.queries,
        "brute_strings": strings * placements,
        "brute_victim": whole * placements,
        "sample": len(texts),
        "sample_flips": int((by_victim != np.array([asked.labels[key] for key, _, _ in placed])).sum()),
        "sample_contradictions": len(wrong),
        "sample_disagreements": int((by_strings != by_victim).sum()),
        "top": {
            name: [(answer.words[word], answer.kappa(word, label).lower) for word in answer.top(10, label)]
            for label, name in enumerate(victim.labels)
        },
    }
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        path = options.out / f"flip-words-{Path(options.model).name}.json"
        path.write_text(json.dumps(record, indent=2) + "\n")
    print(f"D+ {answer.total} of {options.texts} texts, {len(words)} words, {placements:,} placements")
    print(f"rho {rho.lower:.4f} [{rho.low:.4f}, {rho.high:.4f}] exact: {rho.is_exact}")
    print(f"sweep {seconds:.1f} s, {seconds / placements * 1e6:.2f} us a placement")
    for name, each in (("strings, plain forward", strings), ("strings, victim.scores", whole)):
        print(f"{name}: {each * 1e6:.1f} us, all {each * placements:,.0f} s, ratio {each * placements / seconds:.0f}x")
    print(f"of {len(texts)} sampled: {record['sample_flips']} flips, {len(wrong)} contradict the sweep")
    for name, top in record["top"].items():
        print(f"{name}: " + ", ".join(f"{word} {kappa:.3f}" for word, kappa in top))


def tell(what: str, finished: int, total: int) -> None:
    print(f"\r{what} {finished} of {total}", end="", flush=True)


if __name__ == "__main__":
    main()
