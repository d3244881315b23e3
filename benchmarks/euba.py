"""EUBA beside brute force: how far its rho is above the true one, and what it costs, as in figure 7 of the SP paper.

    python benchmarks/euba.py MODEL --data mr --texts 200 --words 200 --vocabulary 2000 --m 128 256 512 1024 --out DIR
        [--variants mask top1 no-mask] [--threads 1] [--seed 0] [--plot FILE.svg]

Texts are drawn by the seed from those of the training split that the model classifies correctly.  The vocabulary are
the most frequent words of letters of that split that the model reads as one token.  Brute force puts `--words` of them,
drawn by the seed, at every position of every text, so that it knows rho of that subset; EUBA searches the vocabulary.
Columns:

    rho subset       over the words that brute force knows, with a 95 % bootstrap interval over texts
    gap              EUBA's rho of the subset above the true one, which is never negative, with the same interval
    rho vocabulary   over all words: an upper bound on the true one
    queries, s       model inputs and seconds a text, gradients included; those of brute force are for its subset, and
                     in brackets scaled to the vocabulary

Every finished row is appended to DIR/MODEL-DATA.METHOD.jsonl and found there by the next run, by phase.  A run that
goes on after phase 1 takes the gradients of the texts that are left again, and asks again for what has missed: its rows
are the same, its cost is larger; the table says of how many texts.

With --remember the scores of texts are kept from method to method, since those of a smaller m are among those of a
larger one: queries are what each method asks for, seconds what they take at the pace of 256 texts timed at the start.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import lexproof as lp
from lexproof.data import read
from lexproof.single_words.brute import brute
from lexproof.single_words.euba import VARIANTS, euba
from lexproof.single_words.flips import TextFlips, flips_from
from lexproof.single_words.vocabulary import vocabulary_of
from lexproof.text import Text
from lexproof.victims.base import Victim


@dataclass(frozen=True)
class Study:
    """What all methods are asked about; `subset` are numbers of words of the vocabulary."""

    victim: Victim
    texts: list[Text]
    labels: list[int]
    words: list[str]
    subset: np.ndarray
    setting: dict[str, Any]


def study_of(options: argparse.Namespace) -> Study:
    victim, data = lp.load(str(options.model)), read(options.data, split="train")
    rng = np.random.default_rng(options.seed)
    texts: list[Text] = []
    labels: list[int] = []
    order = rng.permutation(len(data.texts))
    for start in range(0, len(order), 256):
        block = order[start : start + 256]
        predicted = victim.predict([data.texts[at] for at in block])
        right = [int(at) for at, guess in zip(block, predicted, strict=True) if data.labels[at] == guess]
        texts += [Text.parse(data.texts[at]) for at in right]
        labels += [int(data.labels[at]) for at in right]
        if len(texts) >= options.texts:
            break
    counts = Counter(word.lower() for given in data.texts for word in Text.parse(given).words)
    known = set(vocabulary_of(victim, texts))
    ranked = sorted((word for word in counts if word in known), key=lambda word: (-counts[word], word))
    words = ranked[: options.vocabulary]
    subset = np.sort(np.random.default_rng(options.seed + 1).permutation(len(words))[: options.words])
    setting = {"model": victim.fingerprint, "data": options.data, "seed": options.seed, "words": len(words)}
    setting["texts"] = options.texts
    return Study(victim, texts[: options.texts], labels[: options.texts], words, subset, setting)


class Store:
    """Rows of one method by phase and text, in a file that grows; seconds are those between one row and the next."""

    def __init__(self, path: Path, setting: dict[str, Any]) -> None:
        self.path = path
        self.rows: dict[int, dict[int, TextFlips]] = {1: {}, 2: {}}
        self.seconds = 0.0
        self.again = 0  # texts whose gradients were taken twice
        written = path.read_text() if path.exists() else ""
        whole = written[: written.rfind("\n") + 1] or json.dumps(setting) + "\n"  # without a line that was cut short
        path.write_text(whole)
        first, *lines = [json.loads(line) for line in whole.splitlines()]
        if first != setting:
            raise SystemExit(f"expected {path} to be of {setting}, got {first}; give another --out")
        for line in lines:
            self._take(line)
        self.start()

    def _take(self, line: dict[str, Any]) -> None:
        self.rows[line["phase"]][line["text"]] = flips_from(line["row"])
        self.seconds += line["seconds"]
        self.again += line["again"]

    def add(self, phase: int, text: int, row: TextFlips, *, again: bool = False) -> None:
        now = time.perf_counter()
        line = {"phase": phase, "text": text, "seconds": now - self._begun, "again": again, "row": row.to_json()}
        self._begun = now
        self._take(line)
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def start(self) -> None:
        """Do not count the time since the last row."""
        self._begun = time.perf_counter()


class Memory:
    """Keeps the scores of texts that a transformer has read as strings."""

    def __init__(self, victim: Victim) -> None:
        self._forward, self._known = victim.forward, dict[Any, np.ndarray]()
        victim.forward = self.forward  # type: ignore[method-assign]

    def forward(self, rows: Any) -> np.ndarray:
        if not len(rows) or not isinstance(rows[0], str):
            return self._forward(rows)
        new = [text for text in dict.fromkeys(rows) if text not in self._known]
        self._known.update(zip(new, self._forward(new) if new else [], strict=True))
        return np.stack([self._known[text] for text in rows])


def pace(study: Study) -> float:
    """Seconds an input, of 256 texts in batches as the engine makes them."""
    texts = [str(text) for text in study.texts[:256]]
    study.victim.scores(texts[:16])
    begun = time.perf_counter()
    study.victim.scores(texts)
    return (time.perf_counter() - begun) / len(texts)


def euba_rows(study: Study, store: Store, variant: str, m: int) -> None:
    """Both phases in one call, so that phase 2 need not take gradients again."""
    given = dict(store.rows[1])
    store.start()
    for at, row in euba(
        study.victim,
        study.texts,
        study.labels,
        study.words,
        patience=m,
        variant=variant,
        phase1=given,
        on_phase1=lambda at, row: store.add(1, at, row),
        finished=set(store.rows[2]),
    ):
        store.add(2, at, row, again=at in given)


def brute_rows(study: Study, store: Store) -> None:
    words = [study.words[word] for word in study.subset]
    left = [at for at in range(len(study.texts)) if at not in store.rows[2]]
    texts, labels = [study.texts[at] for at in left], [study.labels[at] for at in left]
    store.start()
    for at, row in brute(study.victim, texts, labels, words):
        store.add(2, left[at], row)


def interval(values: np.ndarray) -> str:
    """The mean with a 95 % bootstrap interval."""
    rows = np.random.default_rng(0).integers(0, len(values), (4000, len(values)))
    low, high = np.quantile(values[rows].mean(axis=1), [0.025, 0.975])
    return f"{values.mean():.4f} ({low:.4f} to {high:.4f})"


@dataclass(frozen=True)
class Measured:
    """One line of the table; safe shares by text."""

    name: str
    subset: np.ndarray
    vocabulary: np.ndarray | None
    queries: float
    seconds: float


def measured(study: Study, store: Store, name: str, chosen: np.ndarray | None, pace: float | None) -> Measured:
    """`chosen` are the columns of the subset; None if the rows are of the subset alone."""
    count = len(study.texts)
    known = np.array([store.rows[2][at].known for at in range(count)])
    queries = float(np.mean([store.rows[2][at].cost.queries for at in range(count)]))
    whole = None if chosen is None else 1 - known.mean(axis=1)
    subset = known if chosen is None else known[:, chosen]
    name += f" ({store.again} texts resumed)" if store.again else ""
    seconds = store.seconds / count if pace is None else queries * pace
    return Measured(name, 1 - subset.mean(axis=1), whole, queries, seconds)


def table(study: Study, true: Measured, found: list[Measured]) -> Iterator[str]:
    scale = len(study.words) / len(study.subset)
    yield "| method | rho subset | gap | rho vocabulary | queries | s |"
    yield "|---|---|---|---|---|---|"
    yield (
        f"| {true.name} | {interval(true.subset)} | - | - | {true.queries:.0f} ({true.queries * scale:.0f}) | "
        f"{true.seconds:.2f} ({true.seconds * scale:.1f}) |"
    )
    for own in found:
        assert own.vocabulary is not None
        yield (
            f"| {own.name} | {interval(own.subset)} | {interval(own.subset - true.subset)} | "
            f"{interval(own.vocabulary)} | {own.queries:.0f} | {own.seconds:.2f} |"
        )


def draw(path: Path, true: Measured, found: dict[str, list[Measured]]) -> None:
    """Rho of the subset by seconds a text, a line a variant; needs matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    axes.axhline(true.subset.mean(), color="black", linestyle="--", label="brute force")
    for variant, own in found.items():
        axes.plot([one.seconds for one in own], [one.subset.mean() for one in own], marker="o", label=variant)
    axes.set_xlabel("seconds a text")
    axes.set_ylabel("rho of the subset (smaller is nearer to the truth)")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--data", default="mr")
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--words", type=int, default=200, help="words that brute force tries")
    parser.add_argument("--vocabulary", type=int, default=2000)
    parser.add_argument("--m", type=int, nargs="+", default=[128, 256, 512, 1024])
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=VARIANTS)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--plot", type=Path, help="draw it, as .svg or .png")
    parser.add_argument("--remember", action="store_true", help="keep scores from method to method (transformers)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    study = study_of(options)
    each = pace(study) if options.remember else None
    if options.remember:
        Memory(study.victim)
    stem = options.out / f"{options.model.name}-{options.data}"

    def done(name: str, setting: dict[str, Any], fill: Callable[[Store], None]) -> Store:
        store = Store(stem.with_name(f"{stem.name}.{name}.jsonl"), {**study.setting, **setting})
        fill(store)
        print(f"{name}: {len(study.texts)} texts", flush=True)
        return store

    forced = done("brute", {"subset": study.subset.tolist()}, lambda store: brute_rows(study, store))
    true = measured(study, forced, f"brute force, {len(study.subset)} words", None, each)
    found: dict[str, list[Measured]] = {}
    for variant in options.variants:
        for m in options.m:

            def fill(store: Store, variant: str = variant, m: int = m) -> None:
                euba_rows(study, store, variant, m)

            store = done(f"euba-{variant}-{m}", {"variant": variant, "m": m}, fill)
            found.setdefault(variant, []).append(measured(study, store, f"{variant}, m = {m}", study.subset, each))
    lengths = np.mean([len(text) for text in study.texts])
    print(
        f"{options.model.name} on {options.data}: {len(study.texts)} texts of {lengths:.1f} words on average,", end=" "
    )
    print(f"{len(study.words)} words")
    print("\n".join(table(study, true, [one for own in found.values() for one in own])))
    if options.plot:
        draw(options.plot, true, found)


if __name__ == "__main__":
    main()
