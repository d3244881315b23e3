"""Cost a text and memory of an audit as the number of texts grows.

usage: scaling.py MODEL_FOLDER --data mr --counts 100 1000 10000 [--split train]
Each count runs in a process of its own, so that its peak memory is its own.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time


def one(model: str, data: str, split: str, count: int) -> None:
    import lexproof as lp

    victim = lp.load(model)
    found = lp.read(data, split=split, labels=victim.labels, limit=count)
    texts = [found.texts[i % len(found)] for i in range(count)]
    labels = [found.labels[i % len(found)] for i in range(count)]
    lp.audit(victim, texts[:20], labels[:20])  # warm up
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        summary = lp.audit(victim, texts, labels, out=f"{folder}/run").summary
        seconds = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures = {"texts": count, "ms_per_text": 1000 * seconds / count, "peak_mib": peak, "aua": summary["aua"]["value"]}
    print(json.dumps(figures))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--data", default="mr")
    parser.add_argument("--split", default="train")
    parser.add_argument("--counts", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        one(given.model, given.data, given.split, given.one)
        return
    for count in given.counts:
        options = ["--data", given.data, "--split", given.split, "--one", str(count)]
        subprocess.run([sys.executable, __file__, given.model, *options], check=True)


if __name__ == "__main__":
    main()
