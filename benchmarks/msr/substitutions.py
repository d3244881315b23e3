"""Words that change the class, by Monte Carlo tree search: tables 3 (right), 7 and 8, beside the exhaustive search.

Substitutes are words of the network's vocabulary of the same part of speech; distances are L2 in scaled coordinates,
over the diameter of one word.  For each text:

    one word       each word that the network reads: MCTS among its 1,000 and its 10,000 nearest (1,000 simulations;
                   where it has no more substitutes, each is tried once), and every word of the vocabulary: exact
    K words        index sets of K words, drawn by the seed: MCTS among the 10,000 nearest of each may replace all of
                   them ("% per word" of table 8)
    the text       the same over all words, 10 expansions, at most 4 words, if no single word does it ("% per text" of
                   table 8; a set of K words that was broken counts too)

Trends, from shares of words with a success among the 10,000 nearest:

    kind        trained below GloVe on imdb and sst2, above it on agnews (table 7): difference of shares
    length      imdb below sst2 for the same embedding: difference of shares
    number      4 words above 1: difference of shares, mean over networks
"""

import math
import time
from pathlib import Path

import numpy as np
from names import SETS, parts
from radii import log_of as radii_log
from radii import read_words
from records import Log, Progress, Record, Source, milestones, present
from trends import Finding, finding, findings_table, markdown, means_by_set

from lexproof.safe_radius.index_sets import index_sets
from lexproof.safe_radius.replacements import Replacements
from lexproof.safe_radius.tree import TreeSearch
from lexproof.safe_radius.vocabulary import Words, words_of
from lexproof.text import Text
from lexproof.victims.balls import Item, scale_of
from lexproof.victims.base import Victim

NETWORKS = [f"{data}-cnn-{kind}50" for data in SETS for kind in ("trained", "glove")]
SIZES = (2, 3, 4)
DRAWN = 10  # index sets of each size a text
NEAR, WIDE = "1000", "10000"  # words among which MCTS looks
STEPS = 10  # expansions over a whole text
# table 7 (seconds, % per text, % per word, distance of successes), table 3 (distance, failures at the diameter) and
# table 8 (% per text and % per word with 2, 3, 4 words)
PAPER = {
    "imdb-cnn-trained50": ((29.52, 6.0, 1.4, 0.41, 0.986), ((8.5, 5.0), (13.4, 5.9), (18.2, 6.6))),
    "imdb-cnn-glove50": ((39.61, 39.7, 5.1, 0.39, 0.951), ((43.8, 17.7), (52.0, 21.6), (57.5, 24.5))),
    "agnews-cnn-trained50": ((21.09, 50.0, 15.6, 0.396, 0.852), ((68.1, 27.5), (72.7, 38.3), (83.3, 47.9))),
    "agnews-cnn-glove50": ((19.25, 22.4, 10.8, 0.438, 0.898), ((31.4, 15.8), (33.7, 16.8), (37.0, 19.7))),
    "sst2-cnn-trained50": ((8.36, 52.2, 19.9, 0.444, 0.813), ((64.8, 33.0), (74.7, 40.2), (78.0, 48.7))),
    "sst2-cnn-glove50": ((11.94, 81.1, 37.4, 0.385, 0.646), ((89.4, 58.0), (96.4, 70.8), (97.6, 76.5))),
}

Near = list[float | None]  # distance of the nearest success over the diameter of one word


def log_of(out: Path) -> Log:
    return Log(out / "substitutions.jsonl", ("model", "fingerprint", "text", "seed"))


def measure(source: Source, out: Path, count: int, only: str) -> None:
    log = log_of(out)
    names = present(source, NETWORKS, only)
    waiting = [(name, n) for target in milestones(count) for name in names for n in source.chosen(name, target)]
    keys = {pair: (pair[0], source.victim(pair[0]).fingerprint, pair[1], source.seed) for pair in waiting}
    progress = Progress(sum(key not in log for key in keys.values()))
    known: dict[str, Words] = {}
    for (name, number), key in keys.items():
        if key in log:
            continue
        victim = source.victim(name)
        if name not in known:
            known[name] = words_of(victim, scale_of(victim))
        text, label = source.text(name, number)
        head = dict(zip(log.names, key, strict=True))
        log.add({**head, "label": label, **attack(victim, text, known[name], source.seed)})
        progress.step(name)


def attack(victim: Victim, text: Text, known: Words, seed: int) -> Record:
    """All searches in one text."""
    read = read_words(victim, text)
    diameter = scale_of(victim).diameter(1, 2.0)
    trees = {name: TreeSearch(norm=2.0, neighbors=int(name), seed=seed) for name in (NEAR, WIDE)}

    def nearest(tree: TreeSearch, words: tuple[int, ...]) -> float | None:
        found = tree.nearest(victim, Item(text, words), known)
        return None if found is None else found.distance / diameter

    record: Record = {"mcts": {}, "mcts_seconds": {}}
    for name, tree in trees.items():
        begun = time.process_time()
        record["mcts"][name] = [nearest(tree, (word,)) for word in range(len(read))]
        record["mcts_seconds"][name] = round(time.process_time() - begun, 4)
    begun = time.process_time()
    tried = Replacements(norm=2.0).of(victim, text, range(len(read)), known)
    record["exact_seconds"] = round(time.process_time() - begun, 4)
    record["exact"] = [None if own.nearest is None else own.nearest.distance / diameter for own in tried]
    record["flips"], record["tried"] = [own.flips for own in tried], [own.tried for own in tried]
    record["sets"] = {
        str(size): [nearest(trees[WIDE], words) for words in index_sets(read, f"{size}x{DRAWN}", seed)]
        for size in SIZES
    }
    is_easy = any(near is not None for own in record["mcts"].values() for near in own)
    record["fewest"] = 1 if is_easy else _fewest(victim, text, len(read), known, seed)
    return record


def _fewest(victim: Victim, text: Text, words: int, known: Words, seed: int) -> int | None:
    tree = TreeSearch(norm=2.0, neighbors=int(WIDE), steps=STEPS, seed=seed)
    found = tree.nearest(victim, Item(text, tuple(range(words))), known, max_swaps=max(SIZES))
    return None if found is None else len(found.changed)


def report(models: Path, out: Path) -> str:
    del models
    records = log_of(out).newest()
    by_name = {name: [r for r in records if r["model"] == name] for name in NETWORKS}
    by_name = {name: own for name, own in by_name.items() if own}
    if not by_name:
        return "No results yet."
    lower = {
        (r["model"], r["text"]): np.mean(r["radii"]) / r["diameters"][0]
        for r in radii_log(out).newest(norm="2", spec="each", longest=None)
    }
    singles = [_single_row(name, own, near, lower) for name, own in by_name.items() for near in (NEAR, WIDE)]
    head = ["network", "among", "texts", "words", "lower bound", "% of texts", "% of words", "distance of successes",
            "all words, failures 1", "processor s", "paper: %, %, distance, all, s"]  # fmt: skip
    exact = [_exact_row(name, own) for name, own in by_name.items()]
    exact_head = ["network", "% of texts", "% of words", "distance of successes", "all words, failures 1",
                  "processor s", "MCTS (10,000) finds of these words", "and as near a word"]  # fmt: skip
    several = [_several_row(name, own) for name, own in by_name.items()]
    several_head = ["network", *(f"{k} words: % of texts, of sets (paper)" for k in SIZES)]
    return "\n\n".join([
        "One word, MCTS among the nearest (distances and lower bounds over the diameter; seconds a text):",
        markdown(head, singles), "One word, all words of the vocabulary:", markdown(exact_head, exact),
        "Several words, MCTS:", markdown(several_head, several), findings_table(_findings(by_name)),
    ])  # fmt: skip


def _shares(found: list[Near]) -> list[str]:
    """Texts with a success, words with one, distances of the nearest: of successes, and with failures at 1."""
    near = [[math.nan if x is None else x for x in own] for own in found]
    flat = np.concatenate([np.array(values) for values in near])
    hit = flat[np.isfinite(flat)]
    texts = np.mean([np.isfinite(values).any() for values in near])
    return [
        f"{100 * texts:.1f}", f"{100 * np.isfinite(flat).mean():.1f}",
        f"{hit.mean():.3f} ± {hit.std():.3f}" if len(hit) else "", f"{np.nan_to_num(flat, nan=1.0).mean():.3f}",
    ]  # fmt: skip


def _single_row(name: str, own: list[Record], near: str, lower: dict[tuple[str, int], float]) -> list[str]:
    data, _, kind, dim = parts(name)
    below = [lower[name, r["text"]] for r in own if (name, r["text"]) in lower]
    seconds, texts, words, far, all_ = PAPER[name][0]
    return [
        f"{data} {kind} {dim}", near, f"{len(own)}", f"{sum(len(r['exact']) for r in own)}",
        f"{np.mean(below):.4f}" if below else "", *_shares([r["mcts"][near] for r in own]),
        f"{np.mean([r['mcts_seconds'][near] for r in own]):.2f}", f"{texts}, {words}, {far}, {all_}, {seconds}",
    ]  # fmt: skip


def _exact_row(name: str, own: list[Record]) -> list[str]:
    data, _, kind, dim = parts(name)
    pairs = [pair for r in own for pair in zip(r["mcts"][WIDE], r["exact"], strict=True) if pair[1] is not None]
    found = [mcts is not None for mcts, _ in pairs]
    equal = [mcts is not None and mcts <= exact * (1 + 1e-9) for mcts, exact in pairs]
    return [
        f"{data} {kind} {dim}", *_shares([r["exact"] for r in own]),
        f"{np.mean([r['exact_seconds'] for r in own]):.2f}",
        *(f"{100 * np.mean(share):.1f} %" if pairs else "" for share in (found, equal)),
    ]  # fmt: skip


def _several_row(name: str, own: list[Record]) -> list[str]:
    data, _, kind, dim = parts(name)
    cells = []
    for at, size in enumerate(SIZES):
        sets = [near is not None for r in own for near in r["sets"][str(size)]]
        texts = np.mean([_is_broken(r, size) for r in own])
        paper = "{}, {}".format(*PAPER[name][1][at])
        cells.append(f"{100 * texts:.1f}, {100 * np.mean(sets):.1f} ({paper})" if sets else "")
    return [f"{data} {kind} {dim}", *cells]


def _is_broken(record: Record, size: int) -> bool:
    fewest = record["fewest"]
    sets = [near for k in SIZES if k <= size for near in record["sets"][str(k)]]
    return (fewest is not None and fewest <= size) or any(near is not None for near in sets)


def _hits(near: Near) -> list[float]:
    return [float(x is not None) for x in near]


def _findings(by_name: dict[str, list[Record]]) -> list[Finding]:
    values = {}
    for name, own in by_name.items():
        values[name] = {r["text"]: _hits(r["mcts"][WIDE]) for r in own}
        values[f"{name} 4"] = {r["text"]: _hits(r["sets"]["4"]) for r in own}
    means, draws = means_by_set(values)
    found = []
    for data in SETS:
        a, b = f"{data}-cnn-trained50", f"{data}-cnn-glove50"
        side, wanted = ("more", 1.0) if data == "agnews" else ("less", -1.0)
        if a in means and b in means:
            claim = f"{data}: words of a trained embedding are broken {side} often than GloVe's"
            measure = "share of words, trained - GloVe"
            found.append(finding(claim, measure, means[a] - means[b], draws[a] - draws[b], wanted))
    for kind in ("trained", "glove"):
        a, b = f"imdb-cnn-{kind}50", f"sst2-cnn-{kind}50"
        if a in means and b in means:
            claim = f"words of longer texts are broken less often ({kind})"
            found.append(finding(claim, "share of words, imdb - sst2", means[a] - means[b], draws[a] - draws[b], -1))
    gain = np.mean([means[f"{name} 4"] - means[name] for name in by_name])
    gains = np.mean([draws[f"{name} 4"] - draws[name] for name in by_name], axis=0)
    measure = "share of sets of 4 words - share of words, mean over networks"
    return [*found, finding("four words break more than one", measure, float(gain), gains, 1)]
