"""How few swaps each attack needs, in the form of Table 2 of Yang et al. 2022, and beside the exact minimum.

    python benchmarks/upper_bounds.py MODEL DATA --texts 500 --out results [--attacks textfooler,sempso,pdp,best]
        [--candidates wordnet?k=5] [--max-share 0.25] [--exact 200000] [--threads 1] [--seed 0]

Texts are drawn by the seed from those of the test split that the model classifies correctly; all attacks search the
same spaces.  Each attack's answers are written to OUT/MODEL-DATA.ATTACK.json after every block of texts and found there
by the next run, so that a long comparison can be done in parts.  Columns:

    success   texts broken, with a 95 % Clopper-Pearson interval
    win       texts broken with strictly fewer swaps than by any other attack
    %S        mean share of words swapped over the texts this attack broke, with a 95 % interval (bootstrap)
    %S all    the same over the texts that every attack broke
    queries   distinct model inputs a text
    ms        time a text, the engine driving all texts at once

With --exact, `minimize` enumerates up to so many texts for each space; over the spaces whose minimum (or that there
is no flip) is then known: `exact` is the share on which an attack reaches it, `excess` the mean number of swaps above
it over the texts that the attack broke.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import lexproof as lp
from lexproof.asking import Item, answer_all
from lexproof.candidates import from_spec
from lexproof.data import read
from lexproof.questions import Find, Minimize
from lexproof.statistics.intervals import clopper_pearson
from lexproof.victims.base import Victim


def draw(victim: Victim, name: str, count: int, seed: int) -> list[tuple[str, int]]:
    """Texts that the victim classifies correctly, in random order."""
    data = read(name, split="test")
    order = np.random.default_rng(seed).permutation(len(data.texts))
    found: list[tuple[str, int]] = []
    for start in range(0, len(order), 256):
        block = order[start : start + 256]
        texts = [data.texts[at] for at in block]
        gold = [data.labels[at] for at in block]
        right = victim.predict(texts) == np.array(gold)
        found += [(text, label) for text, label, fits in zip(texts, gold, right, strict=True) if fits]
        if len(found) >= count:
            return found[:count]
    return found


def attack_block(victim: Victim, items: list[Item], attack: str, seed: int) -> dict[str, Any]:
    begun = time.perf_counter()
    swaps: dict[int, int | None] = {}
    queries = {}
    for done in answer_all(Find(attack=attack, seed=seed), victim, items):
        broken = isinstance(done.answer, lp.Broken)
        swaps[done.item.key] = done.answer.swaps if broken else None
        queries[done.item.key] = done.outcome.cost.queries
    return {
        "seconds": time.perf_counter() - begun,
        "swaps": [swaps[key] for key in sorted(swaps)],
        "queries": [queries[key] for key in sorted(queries)],
    }


def attack_all(
    path: Path, setting: dict[str, Any], victim: Victim, items: list[Item], attack: str, size: int
) -> dict[str, Any]:
    """The answers of one attack, block by block; what an earlier run has written is not done again."""
    result: dict[str, Any] = {"setting": setting, "attack": attack, "seconds": 0.0, "swaps": [], "queries": []}
    if path.exists() and json.loads(path.read_text())["setting"] == setting:
        result = json.loads(path.read_text())
    while len(result["swaps"]) < len(items):
        start = len(result["swaps"])
        block = attack_block(victim, items[start : start + size], attack, setting["seed"])
        for name, part in block.items():
            result[name] += part
        path.write_text(json.dumps(result))
        print(f"{path.name}: {len(result['swaps'])} texts, {result['seconds']:.0f} s", flush=True)
    share = len(items) / len(result["swaps"])  # an earlier run may have done more texts
    return {**result, **{name: result[name][: len(items)] for name in ("swaps", "queries")},
            "seconds": result["seconds"] * share}  # fmt: skip


def exact_minima(victim: Victim, items: list[Item], max_points: int) -> list[tuple[int, int | None]]:
    """The minimum of each space (None: no flip) where it is settled; others are left out."""
    minima: dict[int, int | None] = {}
    begun = time.perf_counter()
    for done in answer_all(Minimize(max_points=max_points), victim, items):
        answer = done.answer
        if isinstance(answer, lp.Minimum):
            minima[done.item.key] = answer.swaps
        elif answer is not None and answer.upper is None and answer.lower > done.item.space.max_swaps:
            minima[done.item.key] = None
    print(f"exact minima: {time.perf_counter() - begun:.0f} s", flush=True)
    return sorted(minima.items())


def interval(values: np.ndarray, seed: int = 0) -> tuple[float, float]:
    if not len(values):
        return float("nan"), float("nan")
    rows = np.random.default_rng(seed).integers(0, len(values), (2000, len(values)))
    low, high = np.quantile(values[rows].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def table(results: list[dict[str, Any]], lengths: np.ndarray, minima: list[tuple[int, int | None]]) -> list[str]:
    n = len(lengths)
    swaps = np.array([[np.inf if s is None else s for s in result["swaps"]] for result in results])
    common = np.isfinite(swaps).all(axis=0)
    lines = [
        f"{n} texts, {lengths.mean():.1f} words on average, {common.sum()} broken by all"
        + (f", minimum known for {len(minima)}" if minima else ""),
        "| attack | success | win | %S | %S all | swaps all | queries | ms |" + (" exact | excess |" if minima else ""),
        "|---|---|---|---|---|---|---|---|" + ("---|---|" if minima else ""),
    ]
    for row, result in enumerate(results):
        own = np.isfinite(swaps[row])
        others = np.delete(swaps, row, axis=0).min(axis=0, initial=np.inf)
        wins = int((swaps[row] < others).sum())
        low, high = clopper_pearson(int(own.sum()), n, 0.95)
        share = 100 * swaps[row, own] / lengths[own]
        both = 100 * swaps[row, common] / lengths[common]
        around = interval(share)
        cells = [
            f"{own.sum()} ({own.mean():.1%}, {low:.1%} to {high:.1%})",
            f"{wins}",
            f"{share.mean():.2f} ({around[0]:.2f} to {around[1]:.2f})",
            f"{both.mean():.3f}",
            f"{swaps[row, common].mean():.3f}",
            f"{np.mean(result['queries']):.0f}",
            f"{1000 * result['seconds'] / n:.1f}",
        ]
        if minima:
            pairs = [(result["swaps"][key], least) for key, least in minima]
            reached = sum(found == least for found, least in pairs)
            low, high = clopper_pearson(reached, len(pairs), 0.95)
            excess = [found - least for found, least in pairs if found is not None and least is not None]
            cells += [f"{reached}/{len(pairs)} ({low:.1%} to {high:.1%})", f"{np.mean(excess):.3f}"]
        lines.append(f"| {result['attack']} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("data")
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--attacks", default="textfooler,sempso,pdp,best")
    parser.add_argument("--candidates", default="wordnet?k=5")
    parser.add_argument("--max-share", type=float, default=0.25)
    parser.add_argument("--exact", type=int, help="texts enumerated a space for the exact minimum")
    parser.add_argument("--block", type=int, default=100, help="texts attacked at once, and written together")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    victim = lp.load(str(options.model))
    rows = draw(victim, options.data, options.texts, options.seed)
    candidates = from_spec(options.candidates)
    spaces = [lp.Space.around(text, candidates, max_share=options.max_share) for text, _ in rows]
    items = [Item(key, space, label) for key, (space, (_, label)) in enumerate(zip(spaces, rows, strict=True))]
    setting = {
        "model": victim.fingerprint, "data": options.data, "candidates": options.candidates,
        "max_share": options.max_share, "seed": options.seed,
    }  # fmt: skip

    stem = f"{options.model.name}-{options.data}"
    results = [
        attack_all(
            options.out / f"{stem}.{attack.replace('?', '_')}.json", setting, victim, items, attack, options.block
        )
        for attack in options.attacks.split(",")
    ]
    minima = exact_minima(victim, items, options.exact) if options.exact else []
    print(f"{options.model.name} on {options.data}, {options.candidates}, at most {options.max_share:.0%} of the words")
    print("\n".join(table(results, np.array([space.n for space in spaces]), minima)))


if __name__ == "__main__":
    main()
