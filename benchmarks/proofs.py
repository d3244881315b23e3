"""Proofs at growing numbers of swaps, in the form of Table 3 of Yang et al. 2022, and brackets that close.

    python benchmarks/proofs.py MODEL DATA --texts 100 --radii 1,2,3,4,6,8 --limit 60 --out DIR
    python benchmarks/proofs.py MODEL DATA --texts 200 --brackets --limit 10 --out DIR [--max-share 0.25]

Texts are drawn by the seed from those of the test split that the model classifies correctly.  For each radius r `prove`
gets --limit seconds a text.  Texts that are broken at a smaller r are not asked again, and neither are texts that were
open at the two radii before.  Columns: certified, broken, open (95 % Clopper-Pearson interval of certified + broken),
seconds a text asked (median, mean), model inputs evaluated (median), and the size of Omega_r (median).
With --brackets: `minimize` instead; the share of brackets that are closed, and how wide the others are.
Every answer is written to OUT/MODEL.r.jsonl and found there by the next run.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import lexproof as lp
from lexproof.candidates import from_spec
from lexproof.data import read
from lexproof.statistics.intervals import clopper_pearson


def draw(victim: Any, name: str, count: int, seed: int) -> list[tuple[str, int]]:
    data = read(name, split="test", labels=victim.labels)
    order = np.random.default_rng(seed).permutation(len(data.texts))
    found = []
    for at in order:
        if int(victim.predict([data.texts[at]])[0]) == data.labels[at]:
            found.append((data.texts[at], data.labels[at]))
            if len(found) == count:
                break
    return found


def resumed(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def prove_all(victim: Any, texts: list[tuple[str, int]], source: Any, radius: int, args: argparse.Namespace,
              known: list[str]) -> list[dict[str, Any]]:  # fmt: skip
    path = args.out / f"{args.model.name}.{radius}.jsonl"
    rows = resumed(path)
    with path.open("a") as file:
        for number, (text, label) in enumerate(texts):
            if number < len(rows):
                continue
            if known[number]:
                row: dict[str, Any] = {"answer": known[number], "carried": True}
            else:
                space = lp.Space.around(text, source, max_swaps=radius)
                begun = time.perf_counter()
                answer = lp.prove(victim, space, label, time_limit=args.limit)
                row = {
                    "answer": answer.kind,
                    "seconds": time.perf_counter() - begun,
                    "queries": answer.queries,
                    "size": float(space.size) if space.size < 10**300 else 1e300,
                    "method": answer.certificate.method if isinstance(answer, lp.Robust) else "",
                }
            rows.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
    return rows


def table(victim: Any, texts: list[tuple[str, int]], source: Any, args: argparse.Namespace) -> None:
    known = [""] * len(texts)
    open_before = [0] * len(texts)
    print(
        f"{'r':>3} {'certified':>9} {'broken':>7} {'open':>5} {'decided (95 %)':>22} {'median s':>9} {'mean s':>8} "
        f"{'inputs':>9} {'|Omega_r|':>10}"
    )
    for radius in [int(part) for part in args.radii.split(",")]:
        rows = prove_all(victim, texts, source, radius, args, known)
        kinds = [row["answer"] for row in rows]
        asked = [row for row in rows if "seconds" in row]
        decided = sum(kind != "unknown" for kind in kinds)
        low, high = clopper_pearson(decided, len(kinds), 0.95)
        median = {
            key: np.median([row[key] for row in asked]) if asked else float("nan")
            for key in ("seconds", "queries", "size")
        }
        mean = np.mean([row["seconds"] for row in asked]) if asked else float("nan")
        print(
            f"{radius:>3} {kinds.count('robust'):>9} {kinds.count('broken'):>7} {kinds.count('unknown'):>5} "
            f"{decided / len(kinds):>8.3f} [{low:.3f}, {high:.3f}] {median['seconds']:>9.3f} {mean:>8.2f} "
            f"{median['queries']:>9.0f} {median['size']:>10.2g}",
            flush=True,
        )
        for number, kind in enumerate(kinds):
            open_before[number] = open_before[number] + 1 if kind == "unknown" else 0
            if kind == "broken" or open_before[number] >= 2:
                known[number] = kind


def brackets(victim: Any, texts: list[tuple[str, int]], source: Any, args: argparse.Namespace) -> None:
    path = args.out / f"{args.model.name}.brackets.jsonl"
    rows = resumed(path)
    with path.open("a") as file:
        for text, label in texts[len(rows) :]:
            space = lp.Space.around(text, source, max_share=args.max_share)
            begun = time.perf_counter()
            answer = lp.minimize(victim, space, label, time_limit=args.limit, max_points=10**9, max_nodes=None)
            closed = isinstance(answer, lp.Minimum) or (answer.upper is None and answer.lower > space.max_swaps)
            row = {
                "lower": answer.lower,
                "upper": answer.upper,
                "most": space.max_swaps,
                "closed": closed,
                "seconds": time.perf_counter() - begun,
                "method": answer.certificate.method if answer.certificate else "",
            }
            rows.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
    closed = sum(row["closed"] for row in rows)
    low, high = clopper_pearson(closed, len(rows), 0.95)
    seconds = np.array([row["seconds"] for row in rows])
    exact = sum(row["closed"] and row["upper"] is not None for row in rows)
    print(
        f"{len(rows)} texts, at most {args.max_share:g} of the words: {closed} brackets closed, "
        f"{closed / len(rows):.3f} [{low:.3f}, {high:.3f}]: {exact} exact minima, {closed - exact} proven safe; "
        f"seconds a text median {np.median(seconds):.3f}, mean {seconds.mean():.2f}, largest {seconds.max():.1f}"
    )
    if closed < len(rows):
        print("open brackets: " + ", ".join(f"{row['lower']}..{row['upper']}" for row in rows if not row["closed"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("data")
    parser.add_argument("--texts", type=int, default=100)
    parser.add_argument("--radii", default="1,2,3,4,6,8")
    parser.add_argument("--brackets", action="store_true")
    parser.add_argument("--max-share", type=float, default=0.25)
    parser.add_argument("--candidates", default="default")
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    victim = lp.load(str(args.model))
    texts = draw(victim, args.data, args.texts, args.seed)
    (brackets if args.brackets else table)(victim, texts, from_spec(args.candidates), args)


if __name__ == "__main__":
    main()
