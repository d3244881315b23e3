"""Dimension and kind of the embedding against robustness: tables 2, 3 (lower bounds) and 5, figure 3.

Certified L2 radii of every word that a network reads, one at a time.  Trends, from means of radius / diameter:

    dimension   slope of log mean against log dimension over the trained embeddings of a set is below 0; the same of
                the radius itself (table 5), since the diameter alone makes a slope of -1/2
    length      texts of imdb (100 tokens) above those of sst2 (25): mean log ratio over the embeddings both have
    kind        trained above GloVe on imdb, below it on sst2 and agnews: mean log ratio over the dimensions both have
    any word    some word of a small trained embedding on imdb may be replaced by anything: share of such texts above 0
"""

import math
from pathlib import Path

import numpy as np
from names import DIMENSIONS, SETS, accuracies, parts
from radii import Task, log_of, run
from records import Record, Source, present
from trends import (
    LEAST,
    Finding,
    Floats,
    Sample,
    finding,
    findings_table,
    interval,
    interval_of_mean,
    log_ratio,
    log_slope,
    markdown,
    means_by_set,
)

from lexproof.statistics.intervals import clopper_pearson

NETWORKS = [
    f"{data}-cnn-{embedding}"
    for data in SETS
    for embedding in (*(f"trained{dim}" for dim in DIMENSIONS), "glove50", "glove100")
]
# mean lower bounds of the paper (tables 5; agnews: table 3 times the diameter), Keras and GloVe
PAPER = {
    "imdb": {"trained5": 1.358, "trained10": 2.134, "trained25": 1.234, "trained50": 0.394, "trained100": 0.31,
             "glove50": 0.133, "glove100": 0.127},
    "sst2": {"trained5": 0.623, "trained10": 0.449, "trained25": 0.116, "trained50": 0.029, "trained100": 0.023,
             "glove50": 0.053, "glove100": 0.028},
    "agnews": {"trained50": 0.014, "glove50": 0.035},
}  # fmt: skip


def measure(source: Source, out: Path, count: int, only: str) -> None:
    tasks = [Task(name, "2", "each") for name in present(source, NETWORKS, only)]
    run(tasks, source, log_of(out), count)


def report(models: Path, out: Path) -> str:
    records = log_of(out).newest(norm="2", spec="each", longest=None)
    by_name = {name: [r for r in records if r["model"] == name] for name in NETWORKS}
    by_name = {name: own for name, own in by_name.items() if own}
    if not by_name:
        return "No results yet."
    return f"{_table(by_name, accuracies(models))}\n\n{findings_table(_findings(by_name))}"


def _table(by_name: dict[str, list[Record]], accuracy: dict[str, float]) -> str:
    head = ["network", "accuracy", "texts", "words", "radius, mean ± std", "paper", "mean / diameter [95 %]", "paper",
            "any word is safe", "texts: all words", "processor s a text"]  # fmt: skip
    return markdown(head, [_row(name, own, accuracy) for name, own in by_name.items()])


def _row(name: str, own: list[Record], accuracy: dict[str, float]) -> list[str]:
    data, _, kind, dim = parts(name)
    radii = np.array([radius for r in own for radius in r["radii"]])
    sample = Sample.of({name: _normalised(own)})
    low, high = interval(sample.draws())
    paper = PAPER[data].get(f"{kind}{dim}")
    whole = sum(len(r["whole"]) for r in own)
    everywhere = sum(len(r["whole"]) == len(r["radii"]) for r in own)
    seconds, *_ = interval_of_mean([r["processor"] for r in own])
    return [
        f"{data} {kind} {dim}", f"{accuracy.get(name, float('nan')):.3f}", f"{len(own)}", f"{len(radii)}",
        f"{radii.mean():.4f} ± {radii.std():.4f}", f"{paper:.3f}" if paper else "",
        f"{sample.means()[0]:.5f} [{low:.5f}, {high:.5f}]", f"{paper / dim**0.5:.3f}" if paper else "",
        f"{whole / len(radii):.1%}", f"{everywhere}", f"{seconds:.2f}",
    ]  # fmt: skip


def _normalised(own: list[Record]) -> dict[int, list[float]]:
    return {r["text"]: [a / b for a, b in zip(r["radii"], r["diameters"], strict=True)] for r in own}


def _plain(own: list[Record]) -> dict[int, list[float]]:
    return {r["text"]: r["radii"] for r in own}


def _findings(by_name: dict[str, list[Record]]) -> list[Finding]:
    means, draws = means_by_set({name: _normalised(own) for name, own in by_name.items()})
    plain = means_by_set({name: _plain(own) for name, own in by_name.items()})
    found = [_dimension(data, "radius / diameter", means, draws) for data in SETS]
    found += [_dimension(data, "radius", *plain) for data in SETS]
    found.append(_length(means, draws))
    found += [_kind(data, means, draws) for data in SETS]
    return [*[f for f in found if f is not None], *_any_word(by_name)]


def _dimension(data: str, what: str, means: dict[str, float], draws: dict[str, Floats]) -> Finding | None:
    have = [dim for dim in DIMENSIONS if f"{data}-cnn-trained{dim}" in means]
    if len(have) < 2:
        return None
    names = [f"{data}-cnn-trained{dim}" for dim in have]
    value = log_slope(have, np.array([means[name] for name in names]))
    spread = log_slope(have, np.stack([draws[name] for name in names], -1))
    measure = f"slope of log mean {what} against log dimension ({have[0]} to {have[-1]})"
    return finding(f"{data}: robustness falls with the dimension", measure, float(value), spread, -1)


def _length(means: dict[str, float], draws: dict[str, Floats]) -> Finding | None:
    have = [name.removeprefix("imdb-") for name in means if name.startswith("imdb-")]
    have = [tail for tail in have if f"sst2-{tail}" in means]
    if not have:
        return None
    value = np.mean([log_ratio(means[f"imdb-{tail}"], means[f"sst2-{tail}"]) for tail in have])
    spread = np.mean([log_ratio(draws[f"imdb-{tail}"], draws[f"sst2-{tail}"]) for tail in have], axis=0)
    measure = f"mean log ratio imdb / sst2 over {len(have)} embeddings"
    return finding("longer texts are more robust", measure, float(value), spread, 1)


def _kind(data: str, means: dict[str, float], draws: dict[str, Floats]) -> Finding | None:
    have = [d for d in (50, 100) if {f"{data}-cnn-trained{d}", f"{data}-cnn-glove{d}"} <= means.keys()]
    if not have:
        return None
    ratio = [log_ratio(means[f"{data}-cnn-trained{d}"], means[f"{data}-cnn-glove{d}"]) for d in have]
    spread = [log_ratio(draws[f"{data}-cnn-trained{d}"], draws[f"{data}-cnn-glove{d}"]) for d in have]
    side, wanted = ("more", 1.0) if data == "imdb" else ("less", -1.0)
    measure = f"mean log ratio trained / GloVe, dimension {' and '.join(map(str, have))}"
    claim = f"{data}: trained embeddings are {side} robust than GloVe"
    return finding(claim, measure, float(np.mean(ratio)), np.mean(spread, axis=0), wanted)


def _any_word(by_name: dict[str, list[Record]]) -> list[Finding]:
    names = [name for name in ("imdb-cnn-trained5", "imdb-cnn-trained10") if name in by_name]
    found = []
    for name in names:
        safe, count = sum(bool(r["whole"]) for r in by_name[name]), len(by_name[name])
        low, high = clopper_pearson(safe, count, 0.95) if count >= LEAST else (math.nan, math.nan)
        measure = f"share of texts with a word certified against any replacement, {name} (Clopper-Pearson)"
        found.append(Finding("some words may be replaced by any other", measure, safe / count, low, high, 1))
    return found
