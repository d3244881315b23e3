"""Samples that an anytime count takes by PR, against Hoeffding's fixed number, and how often its interval holds.

    python benchmarks/share_samples.py [--runs 1000] [--half-width 0.025] [--confidence 0.995]

Draws are simulated: a point of a space keeps its label with probability PR.  The looks, the intervals and the rule to
stop are those of `lexproof count`; nothing depends on a model.  With `--threshold 0.9` drawing also ends when PR is
known to be above or below it.
"""

import argparse

import numpy as np

from lexproof.statistics.guarantee import Guarantee
from lexproof.statistics.intervals import hoeffding_samples
from lexproof.statistics.sequence import anytime_all

SHARES = (1.0, 0.99, 0.98, 0.95, 0.9, 0.8, 0.5)


def simulate(guarantee: Guarantee, robust: float, runs: int, rng: np.random.Generator) -> tuple[np.ndarray, int, int]:
    """Draws used by each run, runs whose interval left the truth out, and runs that settled the threshold."""
    n, used = 0, np.zeros(runs, np.int64)
    flips, low, high = np.zeros(runs, np.int64), np.zeros(runs), np.ones(runs)
    active = np.arange(runs)
    while len(active) and n < guarantee.most:
        count = min(guarantee.next_batch(n), guarantee.most - n)
        n += count
        flips[active] += rng.binomial(count, 1 - robust, len(active))
        ends = anytime_all(flips[active], np.full(len(active), n), guarantee.confidence, guarantee.half_width)
        low[active], high[active] = np.maximum(low[active], ends[0]), np.minimum(high[active], ends[1])
        used[active] = n
        active = np.array([k for k in active if not guarantee.is_met(low[k], high[k])], np.int64)
    failed = int(((low > 1 - robust) | (high < 1 - robust)).sum())
    settled = sum(guarantee.settled(a, b) != "" for a, b in zip(low, high, strict=True))
    return used, failed, settled


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--half-width", type=float, default=0.025)
    parser.add_argument("--confidence", type=float, default=0.995)
    parser.add_argument("--threshold", type=float)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    guarantee = Guarantee(half_width=options.half_width, confidence=options.confidence, threshold=options.threshold)
    fixed = hoeffding_samples(options.half_width, options.confidence)
    print(f"{options.runs} runs for each PR, seed {options.seed}; Hoeffding: {fixed}, a quarter of it {fixed / 4:.0f}")
    print("| PR | mean | median | 99 % | most | mean / Hoeffding | runs within a quarter | left out | settled |")
    print("|---|---|---|---|---|---|---|---|---|")
    for number, robust in enumerate(SHARES):
        rng = np.random.default_rng([options.seed, number])
        used, failed, settled = simulate(guarantee, robust, options.runs, rng)
        print(
            f"| {robust:g} | {used.mean():.0f} | {np.median(used):.0f} | {np.quantile(used, 0.99):.0f} | {used.max()} "
            f"| {used.mean() / fixed:.2f} | {np.mean(used <= fixed / 4):.3f} | {failed} | {settled} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
