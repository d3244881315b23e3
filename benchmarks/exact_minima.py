"""Exact minima of the ILP paper's network: our solver beside its MILP through HiGHS, same texts, same threshold.

    python benchmarks/exact_minima.py MODEL DATA --texts 500 --out DIR [--limit 60] [--short 0.1]

For each correctly classified text the smallest number of swaps is solved for by both, in one process and one thread;
what is timed is processor time from the network as numbers to the answer.  Each text is written to OUT/MODEL.jsonl as
it is finished, and a run is continued where it stopped.  The summary has, for both: share solved within --limit
seconds, median, mean and total time, the ratios, and whether they agree; then AUA (share of all texts that are
classified correctly and that no swap breaks) and MMWS (mean minimum word swaps of the texts that can be broken) as
exact numbers and as they come out with only --short seconds a text, where a text that is not solved counts by the best
witness known.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import lexproof as lp
from lexproof.certify.exact.milp import minimum_by_milp
from lexproof.certify.exact.offered import exact_of
from lexproof.certify.exact.solver import minimum
from lexproof.certify.lowering import threshold
from lexproof.data import read
from lexproof.errors import NoRule
from lexproof.goal import Goal

clock = time.process_time


def one(victim: Any, text: str, label: int, args: argparse.Namespace) -> dict[str, Any]:
    space = lp.Space.around(text, args.source, max_swaps=None)
    if int(victim.predict([text])[0]) != label:
        return {"status": "wrong"}
    goal = Goal(label, None, victim.rounding)
    try:
        exact = exact_of(victim, space, goal)
    except NoRule as error:
        return {"status": "no rule", "reason": str(error)}
    theta = threshold(goal)
    found: dict[str, Any] = {"status": "asked", "words": space.n, "candidates": len(exact.word)}
    begun = clock()
    own = minimum(exact.net, theta=theta, time_limit=args.limit, clock=clock)
    found["own"] = _answer(own, clock() - begun, space.max_swaps)
    begun = clock()
    short = minimum(exact.net, theta=theta, time_limit=args.short, clock=clock)
    found["own short"] = _answer(short, clock() - begun, space.max_swaps)
    if not args.no_milp:
        begun = clock()
        other = minimum_by_milp(exact.net, theta=theta, time_limit=args.limit, clock=clock)
        found["highs"] = _answer(other, clock() - begun, space.max_swaps)
    return found


def _answer(solved: Any, seconds: float, most: int) -> dict[str, Any]:
    return {
        "lower": solved.lower,
        "upper": solved.upper,
        "solved": solved.is_closed or (solved.upper is None and not solved.reason),
        "seconds": seconds,
    }


def summary(rows: list[dict[str, Any]], limit: float, short: float) -> None:
    asked = [row for row in rows if row["status"] == "asked"]
    print(
        f"{len(rows)} texts, {len(asked)} classified correctly and within the rules; "
        f"{sum(row['status'] == 'no rule' for row in rows)} correct ones without a rule"
    )
    names = [name for name in ("own", "own short", "highs") if asked and name in asked[0]]
    columns = " ".join(f"{name:>10}" for name in ("median s", "mean s", "max s", "total s"))
    print(f"{'solver':<10} {'solved':>8} {columns} {'AUA':>7} {'MMWS':>7}")
    for name in names:
        found = [row[name] for row in asked]
        seconds = np.array([one["seconds"] for one in found])
        broken = [one["upper"] for one in found if one["upper"] is not None]
        aua = sum(one["upper"] is None for one in found) / len(rows)
        solved = np.mean([one["solved"] for one in found])
        print(
            f"{name:<10} {solved:>8.3f} {np.median(seconds):>10.5f} {seconds.mean():>10.4f} "
            f"{seconds.max():>10.2f} {seconds.sum():>10.2f} {aua:>7.3f} {np.mean(broken):>7.3f}"
        )
    if "highs" in names:
        own, highs = (np.array([row[name]["seconds"] for row in asked]) for name in ("own", "highs"))
        both = [row for row in asked if row["own"]["solved"] and row["highs"]["solved"]]
        equal = sum(row["own"]["upper"] == row["highs"]["upper"] for row in both)
        print(
            f"median of ratios {np.median(highs / own):.0f}x, "
            f"ratio of medians {np.median(highs) / np.median(own):.0f}x, "
            f"ratio of totals {highs.sum() / own.sum():.1f}x; equal on {equal} of {len(both)} that both solved "
            f"(limit {limit:g} s, short limit {short:g} s)"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("data")
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--candidates", default="default")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--short", type=float, default=0.1)
    parser.add_argument("--no-milp", action="store_true")
    args = parser.parse_args()
    args.source = lp.candidates.from_spec(args.candidates)
    victim = lp.load(str(args.model))
    data = read(args.data, labels=victim.labels, limit=args.texts)
    path = args.out / f"{args.model.name}.jsonl"
    args.out.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    with path.open("a") as file:
        for text, label in list(zip(data.texts, data.labels, strict=True))[len(rows) :]:
            rows.append(one(victim, text, label, args))
            file.write(json.dumps(rows[-1]) + "\n")
            file.flush()
    summary(rows, args.limit, args.short)


if __name__ == "__main__":
    main()
