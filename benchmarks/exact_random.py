"""Exact minima of random additive networks: our solver beside HiGHS, and beside another solver kept in a file.

    python benchmarks/exact_random.py --kind long --seeds 0:10 --limit 60 --milp
    python benchmarks/exact_random.py --kind long --seeds 0:10 --prototype some/solver.py
    python benchmarks/exact_random.py --agree 1000

An instance is a network of the ILP paper's form with random weights: T words with vectors of 2 numbers, 64 ReLUs, and
`npos` positions with 1 to 5 substitutes each.  A point is adversarial if a margin is at most theta = -1e-4, so that a
solver with tolerances answers the same question.  The file of another solver has to define `SwapBB(instance).solve()`,
which returns the minimum and its swaps, and takes instances as dictionaries z0, D, ok, W2, b2, y.  It has no time
limit of its own, so it runs in a process that is ended at the limit.

`--agree N` compares our solver, HiGHS and full enumeration on N small networks with ties, duplicates, empty positions
and 2 to 5 classes, and prints how many agree.
"""

import argparse
import importlib.util
import statistics
import sys
import time
from itertools import combinations, product
from multiprocessing import get_context
from pathlib import Path
from queue import Empty

import numpy as np

from lexproof.certify.exact.additive import AdditiveNet
from lexproof.certify.exact.milp import minimum_by_milp
from lexproof.certify.exact.solver import minimum

THETA = -1e-4
KINDS = {
    "long": {"words": 200, "positions": 60, "most": 5},
    "mid": {"words": 200, "positions": 30, "most": 5},
    "short": {"words": 20, "positions": 12, "most": 5},
    "tiny": {"words": 9, "positions": 6, "most": 4},
}


def instance(seed, words, positions, most, classes=2, dim=2, units=64):
    """A random network and text; the order of draws is part of what a seed means."""
    rng = np.random.default_rng(seed)
    first, bias = rng.normal(0, 1 / np.sqrt(words * dim), (units, words, dim)), rng.normal(0, 0.1, units)
    last, offset = rng.normal(0, 1 / np.sqrt(units), (classes, units)), rng.normal(0, 0.1, classes)
    text = rng.normal(0, 1, (words, dim))
    places = np.sort(rng.choice(words, positions, replace=False))
    change, is_there = np.zeros((positions, most, units)), np.zeros((positions, most), bool)
    for row, place in enumerate(places):
        count = rng.integers(1, most + 1)
        change[row, :count] = rng.normal(0, 1, (count, dim)) @ first[:, place].T
        is_there[row, :count] = True
    z0 = np.einsum("hte,te->h", first, text) + bias
    label = int(np.argmax(last @ np.maximum(z0, 0) + offset))
    return {"z0": z0, "D": change, "ok": is_there, "W2": last, "b2": offset, "y": label}


def network(parts):
    """The same as an additive network."""
    position, choice = np.nonzero(parts["ok"])
    weight, bias, label = parts["W2"], parts["b2"], parts["y"]
    rivals = [k for k in range(len(bias)) if k != label]
    change = parts["D"][position, choice]
    return AdditiveNet(parts["z0"], change, position, weight[label] - weight[rivals], bias[label] - bias[rivals])


def own(parts, limit):
    solved = minimum(network(parts), theta=THETA, time_limit=limit)
    return solved.upper, solved.seconds, solved.reason == ""


def highs(parts, limit):
    solved = minimum_by_milp(network(parts), theta=THETA, time_limit=limit)
    return solved.upper, solved.seconds, solved.reason == ""


def _other(path, parts, answers):
    spec = importlib.util.spec_from_file_location("other_solver", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    begin = time.perf_counter()
    try:
        least, is_solved = module.SwapBB(parts).solve()[0], True
    except RuntimeError:  # its limit of nodes
        least, is_solved = None, False
    answers.put((least, time.perf_counter() - begin, is_solved))


def other(path, parts, limit):
    """Another solver, in a process of its own, ended at the limit."""
    context = get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=_other, args=(path, parts, answers))
    process.start()
    try:
        answer = answers.get(timeout=limit + 2)  # starting it takes a while
    except Empty:
        answer = (None, limit, False)
        process.kill()
    process.join()
    return answer


def compare(args):
    solvers = {"lexproof": own}
    if args.milp:
        solvers["highs"] = highs
    if args.prototype:
        solvers["prototype"] = lambda parts, limit: other(args.prototype, parts, limit)
    begin, end = (int(part) for part in args.seeds.split(":"))
    results = {name: [] for name in solvers}
    print("seed  " + "  ".join(f"{name:>18}" for name in solvers))
    for seed in range(begin, end):
        parts = instance(seed, **KINDS[args.kind])
        for name, solve in solvers.items():
            results[name].append(solve(parts, args.limit))
        cells = [_cell(results[name][-1]) for name in solvers]
        answers = {r for r, _, is_solved in (results[name][-1] for name in solvers) if is_solved}
        print(
            f"{seed:4}  " + "  ".join(f"{cell:>18}" for cell in cells) + ("  DIFFERENT" * (len(answers) > 1)),
            flush=True,
        )
    print(f"\n{'solver':>10} {'n':>5} {'unsolved':>9} {'median s':>10} {'mean s':>9} {'max s':>9} {'total s':>9}")
    for name, rows in results.items():
        seconds = [row[1] for row in rows]
        unsolved = sum(not row[2] for row in rows)
        spread = f"{statistics.median(seconds):10.5f} {statistics.mean(seconds):9.4f} {max(seconds):9.3f}"
        print(f"{name:>10} {len(rows):5} {unsolved:9} {spread} {sum(seconds):9.2f}")


def _cell(row):
    least, seconds, is_solved = row
    return f"{'none' if least is None else f'r={least}'} {seconds:.4f} s" if is_solved else f"open {seconds:.1f} s"


def small(seed):
    """A small network: 2 to 5 classes, empty positions, duplicates, candidates that change nothing; half have ties."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, rng.integers(0, 7))
    position = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    units, rivals, is_whole = int(rng.integers(1, 9)), int(rng.integers(1, 5)), rng.random() < 0.5

    def draw(*shape):
        return rng.integers(-2, 3, shape).astype(float) if is_whole else rng.normal(size=shape)

    change = draw(len(position), units) * (rng.random((len(position), 1)) > 0.1)
    change[1:2] = change[:1] if rng.random() < 0.5 else change[1:2]
    z0, weight = draw(units), draw(rivals, units)
    head = rng.integers(0, 20, rivals) if is_whole else rng.exponential(8.0, rivals)
    return AdditiveNet(z0, change, position, weight, head - weight @ np.maximum(z0, 0))


def enumerated(net, theta):
    """The minimum by trying everything."""
    groups = [np.flatnonzero(net.position == p) for p in sorted(set(net.position.tolist()))]
    for count in range(len(groups) + 1):
        sets = [s for chosen in combinations(groups, count) for s in product(*chosen)]
        hidden = net.z0 + net.change[np.array(sets, int).reshape(len(sets), count)].sum(axis=1)
        if net.margins(hidden).min() <= theta:
            return count
    return None


def agree(count):
    seconds, agreed, found = [0.0, 0.0, 0.0], 0, {}
    for seed in range(count):
        net, theta = small(seed), (0.0, 1.0, -1.0, 1e-3)[seed % 4]
        answers = []
        for number, solve in enumerate((enumerated, _upper(minimum), _upper(minimum_by_milp))):
            begin = time.perf_counter()
            answers.append(solve(net, theta))
            seconds[number] += time.perf_counter() - begin
        found[answers[0]] = found.get(answers[0], 0) + 1
        agreed += len(set(answers)) == 1
        if len(set(answers)) > 1:
            print(f"seed {seed}: enumeration {answers[0]}, lexproof {answers[1]}, highs {answers[2]}")
    spread = ", ".join(f"{'none' if r is None else r}: {n}" for r, n in sorted(found.items(), key=str))
    print(f"{agreed} of {count} networks agree (minima: {spread})")
    print("seconds: enumeration {:.2f}, lexproof {:.2f}, highs {:.2f}".format(*seconds))
    return agreed == count


def _upper(solve):
    def least(net, theta):
        solved = solve(net, theta=theta)
        return solved.upper if not solved.reason else f"open: {solved.reason}"

    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kind", choices=KINDS, default="long")
    parser.add_argument("--seeds", default="0:5", help="first:last+1")
    parser.add_argument("--limit", type=float, default=60, help="seconds an instance")
    parser.add_argument("--prototype", type=Path, help="a file with another solver")
    parser.add_argument("--milp", action="store_true", help="HiGHS too")
    parser.add_argument("--agree", type=int, help="compare answers on so many small networks instead")
    args = parser.parse_args()
    if args.agree is None:
        compare(args)
    elif not agree(args.agree):
        sys.exit(1)


if __name__ == "__main__":
    main()
