"""What an epoch of each defense costs, in plain epochs: processor time of its steps, in one process.

    python benchmarks/defense_cost.py cnn [bilstm transformer] [--texts 2000] [--only freelb++,ibp] [--threads 1]

Texts are those of mr.  Plain training is timed before and after each defense, and the ratio is to the mean of both.
The time of a step is from the end of one to the end of the next: batch, passes and optimizer.  What a defense does
between epochs (attacks, look-ups of synonyms) is not in it, and is given in seconds beside it.
"""

import argparse
import time

import torch
from accuracy import VECTORS

from lexproof import registry
from lexproof.data import read
from lexproof.defenses import defense_of, harden
from lexproof.training.defense import Defense

OPTIONS = {"transformer": {"max_length": 64}}


class Clock:
    """Processor time at the end of each step."""

    def __init__(self) -> None:
        self.times: list[tuple[int, float]] = []

    def step(self, epoch: int, step: int, steps: int, loss: float) -> None:
        self.times.append((epoch, time.process_time()))

    def epoch(self, epoch: int, loss: float, accuracy: float | None) -> None:
        pass

    @property
    def seconds(self) -> float:
        """Mean of the steps of the last epoch, but for its first."""
        last = [moment for epoch, moment in self.times if epoch == self.times[-1][0]]
        return (last[-1] - last[0]) / (len(last) - 1)


def timed(defense: str, kind: str, texts: int) -> tuple[float, float]:
    """Seconds a step, and seconds outside the steps."""
    data = read("mr", split="train", limit=texts)
    clock, begun = Clock(), time.process_time()
    made = Defense() if defense == "plain" else defense_of(defense)
    epochs = 1 if made.family in ("none", "gradient", "hull", "single word", "smoothing") else 2  # others prepare
    harden(
        made,
        train=(data.texts, data.labels),
        valid=(data.texts[:50], data.labels[:50]),
        kind=kind,
        vectors=None if kind == "transformer" else VECTORS,
        progress=clock,
        epochs=epochs,
        **OPTIONS.get(kind, {}),
    )
    return clock.seconds, time.process_time() - begun - clock.seconds * len(clock.times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="+", choices=("mlp", "cnn", "lstm", "bilstm", "transformer"))
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--only", default=",".join(registry.entries("defenses")))
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for kind in options.kinds:
        print(f"\n| {kind} | ms a step | plain steps | seconds beside the steps |\n|---|---|---|---|", flush=True)
        before, rest = timed("plain", kind, options.texts)
        print(f"| plain | {1e3 * before:.1f} | 1 | {rest:.1f} |", flush=True)
        for name in options.only.split(","):
            if kind not in registry.get("defenses", name.partition("?")[0]).kinds:
                continue
            own, rest = timed(name, kind, options.texts)
            after, _ = timed("plain", kind, options.texts)
            print(f"| {name} | {1e3 * own:.1f} | {2 * own / (before + after):.2f} | {rest:.1f} |", flush=True)
            before = after


if __name__ == "__main__":
    main()
